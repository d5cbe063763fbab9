"""Our own drawings, made by `python -m experiments figures` into figures/.

Not in the paper. figures/README.md shows each one with a paragraph in words, for readers who do
not see it: who changes a drawing changes that too. A test draws them again and compares.
"""

from collections.abc import Callable
from io import BytesIO
from pathlib import Path

from matplotlib import rc_context, rcdefaults
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.figures import architecture, attention, batch, checklist
from experiments.figures.shapes import Point
from lessonkit.charts.renderer import shrink
from transformer.support.files import write_atomically

DPI = 150
POINTS = 72  # an inch


def _on_one_sheet(draw: Callable[[Axes], Axes]) -> Callable[[Figure], object]:
    """Let a drawing that wants axes fill a whole figure."""
    return lambda figure: draw(figure.add_axes((0, 0, 1, 1)))


# Each with its width and height in points, and what draws it into an empty figure of that size.
DRAWINGS: dict[str, tuple[Point, Callable[[Figure], object]]] = {
    "architecture": (architecture.SIZE, _on_one_sheet(architecture.draw_architecture)),
    "attention": (attention.SIZE, _on_one_sheet(attention.draw_attention_figure)),
    "batch": (batch.SIZE, batch.draw_batch_figure),
    "checklist": (checklist.SIZE, _on_one_sheet(checklist.draw_checklist)),
}


def render(name: str) -> bytes:
    """Draw a figure as a small PNG, white behind, whatever matplotlib's settings are."""
    (width, height), draw = DRAWINGS[name]
    drawn = BytesIO()
    with rc_context():
        rcdefaults()
        figure = Figure(figsize=(width / POINTS, height / POINTS), facecolor="white")
        draw(figure)
        figure.savefig(drawn, format="png", dpi=DPI)
    return shrink(drawn.getvalue())[0]


def write_all(folder: Path) -> None:
    """Draw every figure into a folder."""
    for name in DRAWINGS:
        write_atomically(folder / f"{name}.png", render(name))
