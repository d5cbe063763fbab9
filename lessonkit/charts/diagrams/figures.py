"""Our own drawings, made by `python -m experiments figures`.

Not in the paper. That draws every figure anew into figures/, and writes figures/README.md, which
shows each one with its alt text, a paragraph for readers who do not see it. A test draws them
again and compares.
"""

from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from matplotlib import rc_context, rcdefaults
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lessonkit.charts.diagrams import architecture, attention, batch, checklist
from lessonkit.charts.diagrams.diagram import Point
from lessonkit.charts.pictures import shrink
from transformer.support.files import write_atomically

DPI = 150
POINTS = 72  # an inch


class Drawing(NamedTuple):
    """A figure to be drawn.

    Attributes:
        title: Its heading.
        size: Width and height, points.
        draw: Draws it into an empty figure of that size.
        describe: Gives the alt text: a paragraph that stands for the picture.
    """

    title: str
    size: Point
    draw: Callable[[Figure], object]
    describe: Callable[[], str]


def _on_one_sheet(draw: Callable[[Axes], Axes]) -> Callable[[Figure], object]:
    """Let a drawing that wants axes fill a whole figure."""
    return lambda figure: draw(figure.add_axes((0, 0, 1, 1)))


DRAWINGS = {
    "architecture": Drawing(
        "The Transformer, after the paper's Figure 1",
        architecture.SIZE,
        _on_one_sheet(architecture.draw_architecture),
        lambda: architecture.ALT,
    ),
    "attention": Drawing(
        "Attention, one head and several, after the paper's Figure 2",
        attention.SIZE,
        _on_one_sheet(attention.draw_attention_figure),
        lambda: attention.ALT,
    ),
    "batch": Drawing(
        "A batch and its masks",
        batch.SIZE,
        batch.draw_batch_figure,
        batch.describe,
    ),
    "checklist": Drawing(
        "The laws of an encoder-decoder, a checklist",
        checklist.SIZE,
        _on_one_sheet(checklist.draw_checklist),
        checklist.describe,
    ),
}


def render(drawing: Drawing) -> bytes:
    """Draw a figure as a small PNG, white behind, whatever matplotlib's settings are."""
    width, height = drawing.size
    drawn = BytesIO()
    with rc_context():
        rcdefaults()
        figure = Figure(figsize=(width / POINTS, height / POINTS), facecolor="white")
        drawing.draw(figure)
        figure.savefig(drawn, format="png", dpi=DPI)
    return shrink(drawn.getvalue())[0]


def page() -> str:
    """Write figures/README.md: every picture, and under it what it shows in words."""
    parts = [
        "# Figures\n\nOur own drawings, made from code: `python -m experiments figures`. "
        "A test draws them again and compares.\n"
    ]
    for name, drawing in DRAWINGS.items():
        text = drawing.describe().replace("<", "&lt;").replace(">", "&gt;")
        parts.append(
            f"\n## {drawing.title}\n\n![{drawing.title}; described below]({name}.png)\n\n{text}\n"
        )
    return "".join(parts)


def write_all(folder: Path) -> None:
    """Draw every figure into a folder, with the page that shows them."""
    folder.mkdir(exist_ok=True)
    for name, drawing in DRAWINGS.items():
        write_atomically(folder / f"{name}.png", render(drawing))
    write_atomically(folder / "README.md", page().encode())
