"""How a notebook shows and stores a chart that moves, and a figure of matplotlib.

Altair's own renderers fetch scripts from the network, or write a version of Vega-Lite that
JupyterLab cannot draw. The one here stores three forms of a chart side by side, and each
place takes the one it knows: JupyterLab the chart that moves, GitHub the picture, a screen
reader the line of text. Figures of matplotlib get a smaller picture and a line of text. None has
a ground of its own: they are read on white and in a dark theme.
"""

import base64
import hashlib
import html
import json
import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from string import Template
from typing import Any

import altair as alt
import matplotlib
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image, ImageOps

from lessonkit.charts.controls import CONTROLS_ABOVE_CHART_METADATA
from lessonkit.charts.fonts import save_figure, warn_of_spec_letters_without_font
from lessonkit.charts.style import MATPLOTLIB_RC_PARAMS, VEGALITE_CONFIG
from lessonkit.colab import is_on_colab
from transformer.support.errors import UserError, require, short_repr
from transformer.support.signatures import check_argument_types

RENDERER_NAME = "course"
VEGALITE_MIME_TYPE = "application/vnd.vegalite.v5+json"
PNG_MIME_TYPE = "image/png"
TEXT_MIME_TYPE = "text/plain"
HTML_MIME_TYPE = "text/html"
VEGALITE_SCHEMA_URL = "https://vega.github.io/schema/vega-lite/v5.json"
PICTURE_VEGALITE_VERSION = "5.20"  # of Vega-Lite; known to every vl-convert from 1.7
PICTURE_SCALE = 1.5  # pixels of the picture for each of the chart's
MAX_REASON_CHARACTERS = 200  # of another library's error, in one of ours
NUM_PNG_PALETTE_COLOURS = 256  # of a stored picture's palette
PICTURE_MARGIN_PIXELS = 9  # around a stored picture, or its outermost letters touch the edge

# The scripts are those of Vega-Lite 5, as the specification is. Colab has a network to fetch them.
COLAB_SCRIPT_URLS = tuple(
    f"https://cdn.jsdelivr.net/npm/{name}"
    for name in ("vega@5.30.0", "vega-lite@5.20.1", "vega-embed@6.26.0")
)
# The picture stays where scripts do not run, as in GitHub's viewer. Colab's pages may know
# RequireJS; a script that finds its `define` would not say what it holds.
COLAB_PAGE_TEMPLATE = Template((Path(__file__).parent / "colab.html").read_text(encoding="utf-8"))

MimeBundle = dict[str, Any]


def enable() -> None:
    """Show and store every chart and figure of this notebook in a form that needs no network.

    Not in the paper. Colab knows no such form: there HTML takes the place of Vega-Lite, and
    fetches its scripts. Outside a notebook figures of matplotlib stay as they are.
    """
    try:
        import vl_convert  # noqa: F401
    except ImportError as error:
        raise UserError("a chart needs vl-convert: pip install vl-convert-python") from error
    alt.renderers.register(RENDERER_NAME, _render_spec_to_bundle)
    alt.renderers.enable(RENDERER_NAME)
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell is None:
        return
    plt.switch_backend(matplotlib.get_backend())  # load it now: loading resets the formatters
    plt.rcParams.update(MATPLOTLIB_RC_PARAMS)
    formatters = shell.display_formatter.formatters
    formatters[PNG_MIME_TYPE].for_type(Figure, _figure_to_png)
    formatters[TEXT_MIME_TYPE].for_type(
        Figure, lambda figure, printer, _: printer.text(describe_figure(figure))
    )


@check_argument_types
def to_mime_bundle(spec: dict[str, Any]) -> tuple[MimeBundle, MimeBundle]:
    """Return a chart (`chart.to_dict()`) in every form that is stored.

    Returns:
        The forms by MIME type: Vega-Lite 5, a PNG picture (base64) and a line of text; and
        their metadata: how a page lays the chart out, and the picture's size there in pixels
        and alt text.
    """
    import vl_convert

    config = spec.get("config", {})
    require(isinstance(config, dict), f"config is {short_repr(config)}: give `chart.to_dict()`")
    spec = spec | {"$schema": VEGALITE_SCHEMA_URL, "config": VEGALITE_CONFIG | config}
    warn_of_spec_letters_without_font(spec)
    try:
        drawn = vl_convert.vegalite_to_png(
            spec, vl_version=PICTURE_VEGALITE_VERSION, scale=PICTURE_SCALE
        )
    except ValueError as error:
        reason = " ".join(str(error).split())[:MAX_REASON_CHARACTERS]
        raise UserError(f"spec is no chart ({reason}): give `chart.to_dict()`") from error
    picture, (width, height) = shrink_png(drawn)
    text = " ".join(str(spec.get("description", "A chart without description.")).split())
    forms = {
        VEGALITE_MIME_TYPE: spec,
        PNG_MIME_TYPE: base64.b64encode(picture).decode("ascii"),
        TEXT_MIME_TYPE: text,
    }
    size = {"width": round(width / PICTURE_SCALE), "height": round(height / PICTURE_SCALE)}
    return forms, {
        VEGALITE_MIME_TYPE: CONTROLS_ABOVE_CHART_METADATA,
        PNG_MIME_TYPE: size | {"alt": text},
    }


@check_argument_types
def to_colab_bundle(forms: MimeBundle, metadata: MimeBundle) -> MimeBundle:
    """Return a chart's forms, those of `to_mime_bundle`, with HTML in the place of Vega-Lite.

    The page shows the picture with its description, and a script puts the chart in its place.
    """
    try:
        spec = json.dumps(forms[VEGALITE_MIME_TYPE], sort_keys=True)
        spec = spec.replace("</", "<\\/")  # or a text in it could end the script
        page = COLAB_PAGE_TEMPLATE.substitute(
            name="chart-" + hashlib.sha256(spec.encode()).hexdigest()[:12],
            picture=forms[PNG_MIME_TYPE],
            width=metadata[PNG_MIME_TYPE]["width"],
            height=metadata[PNG_MIME_TYPE]["height"],
            text=html.escape(forms[TEXT_MIME_TYPE]),
            scripts=json.dumps(COLAB_SCRIPT_URLS),
            spec=spec,
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise UserError(
            f"forms or metadata have another form ({reason}): give those of `to_mime_bundle`"
        ) from error
    return {
        HTML_MIME_TYPE: page,
        PNG_MIME_TYPE: forms[PNG_MIME_TYPE],
        TEXT_MIME_TYPE: forms[TEXT_MIME_TYPE],
    }


@check_argument_types
def describe_figure(figure: Figure) -> str:
    """Return one line that says what a figure shows: its title, and the axes of each panel."""
    shared = ", ".join(_describe_axes(figure.get_supxlabel(), figure.get_supylabel()))
    panels = (_describe_panel(ax) for ax in figure.axes)
    parts = dict.fromkeys(part for part in (figure.get_suptitle(), shared, *panels) if part)
    return " ".join(f"Picture: {'; '.join(parts)}.".split())


@check_argument_types
def shrink_png(picture: bytes) -> tuple[bytes, tuple[int, int]]:
    """Return a PNG with a palette, much smaller, with narrow margins; and its size in pixels."""
    image = Image.open(BytesIO(picture)).convert("RGBA")
    # Without transparency the palette is better.
    if image.getchannel("A").getextrema() == (255, 255):
        image = image.convert("RGB")
    else:
        drawn = image.crop(image.getbbox())  # to what is not transparent
        image = ImageOps.expand(drawn, PICTURE_MARGIN_PIXELS, fill=(0, 0, 0, 0))
    image = image.quantize(NUM_PNG_PALETTE_COLOURS)
    small = BytesIO()
    image.save(small, format="png", optimize=True)
    return small.getvalue(), image.size


def _render_spec_to_bundle(spec: dict[str, Any], **_: object) -> tuple[MimeBundle, MimeBundle]:
    forms, metadata = to_mime_bundle(spec)
    return (to_colab_bundle(forms, metadata) if is_on_colab() else forms), metadata


def _figure_to_png(figure: Figure) -> tuple[bytes, dict[str, Any]] | None:
    """Return a figure's picture, and the metadata in which nbconvert looks for alt text.

    The figure keeps its colour: of one that has none JupyterLab says it needs a white ground.
    """
    if not figure.axes:
        return None
    drawn = BytesIO()
    save_figure(figure, drawn, format="png", bbox_inches="tight", facecolor="none")
    return shrink_png(drawn.getvalue())[0], {"alt": describe_figure(figure)}


def _describe_panel(ax: Axes) -> str:
    """Return a panel's title and what its axes measure; nothing if it names nothing."""
    title = ax.get_title() or ax.get_title("left")
    names = ""
    if ax.get_label() == "<colorbar>":
        names = f"colour: {ax.get_ylabel() or ax.get_xlabel()}"
    elif ax.axison:
        names = ", ".join(_describe_axes(ax.get_xlabel(), ax.get_ylabel()))
    return f"{title} ({names})" if names and title else names or title


def _describe_axes(horizontal: str, vertical: str) -> Iterator[str]:
    if horizontal:
        yield f"horizontal: {horizontal}"
    if vertical:
        yield f"vertical: {vertical}"
