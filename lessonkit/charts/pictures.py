"""How a notebook shows and stores a matplotlib figure: a small picture and a line of text."""

import sys
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import matplotlib
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

COLORS = 256  # of a stored picture's palette


def enable() -> None:
    """Show every matplotlib figure of this notebook with a description beside the picture.

    The text takes the place of `<Figure size ...>`, and stands as alt text in the metadata of
    the picture, where nbconvert looks for it. Outside a notebook nothing changes.
    """
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell is None:
        return
    plt.switch_backend(matplotlib.get_backend())  # load it now: loading resets the formatters
    formatters = shell.display_formatter.formatters
    formatters["image/png"].for_type(Figure, _picture)
    formatters["text/plain"].for_type(Figure, _text)


def describe(figure: Figure) -> str:
    """Say on one line what a figure shows: its title, and the axes of each panel."""
    shared = ", ".join(_axes(figure.get_supxlabel(), figure.get_supylabel()))
    panels = (_describe_panel(ax) for ax in figure.axes)
    parts = dict.fromkeys(part for part in (figure.get_suptitle(), shared, *panels) if part)
    return " ".join(f"Picture: {'; '.join(parts)}.".split())


def shrink(picture: bytes) -> tuple[bytes, tuple[int, int]]:
    """Write a PNG anew with a palette, much smaller; give its width and height (pixels) too."""
    image = Image.open(BytesIO(picture)).convert("RGB").quantize(COLORS)
    small = BytesIO()
    image.save(small, format="png", optimize=True)
    return small.getvalue(), image.size


def _describe_panel(ax: Axes) -> str:
    """Give a panel's title and what its axes measure; nothing where it names nothing."""
    title = ax.get_title() or ax.get_title("left")
    names = ", ".join(_names(ax)) if ax.axison else ""
    return f"{title} ({names})" if names and title else names or title


def _names(ax: Axes) -> Iterator[str]:
    if ax.get_label() == "<colorbar>":
        yield f"colour: {ax.get_ylabel() or ax.get_xlabel()}"
        return
    yield from _axes(ax.get_xlabel(), ax.get_ylabel())


def _axes(horizontal: str, vertical: str) -> Iterator[str]:
    if horizontal:
        yield f"horizontal: {horizontal}"
    if vertical:
        yield f"vertical: {vertical}"


def _picture(figure: Figure) -> tuple[bytes, dict[str, Any]] | None:
    if not figure.axes:
        return None
    drawn = BytesIO()
    figure.savefig(drawn, format="png", bbox_inches="tight")
    return shrink(drawn.getvalue())[0], {"alt": describe(figure)}


def _text(figure: Figure, printer: Any, cycle: bool) -> None:
    printer.text(describe(figure))
