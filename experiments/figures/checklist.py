"""The laws of an encoder-decoder on one page, to be printed (not in the paper)."""

from collections.abc import Iterator
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from attention_laws.law import Law
from attention_laws.laws import LAWS, scores, text
from experiments.figures.shapes import INK, MONO, Point, sheet, words
from lessonkit.charts.style import OURS, PAPER, SOURCE, mix

WIDTH = 595  # points, as wide as a sheet of A4
MARGIN, TOP, ROW, GAP = 26.0, 64.0, 9.6, 15.5
SMALLEST = 8.0  # font size
UNSEEN = (
    "A learning rate that is too high or too low: sweep it over powers of ten.",
    "Too little text, or text of another kind: compare the loss in training and held out.",
    "Pairs that do not translate each other: read fifty of them.",
)


def _of(*names: str) -> tuple[Law, ...]:
    """Give the laws of these files, in their order."""
    return tuple(law for law in LAWS if law.check.__module__.rpartition(".")[2] in names)


# The laws by what they cost, in the order in which to try them: the cheapest first.
GROUPS: dict[str, tuple[Law, ...]] = {
    "Before anything runs: text and score": (*text.LAWS, *scores.LAWS),
    "A batch and its loss": _of("batches", "loss"),
    "A pass forward, trained or not": _of("modes", "future", "padding", "reach", "weights", "half"),
    "A model just made": _of("start", "tying"),
    "A few steps of training": _of("schedule", "parameters"),
    "Decoding": _of("cache", "search"),
    "A minute of training": _of("learning"),
}
SECTIONS = {title: [(law.name, law.says) for law in laws] for title, laws in GROUPS.items()}
SECTIONS["What no law sees"] = [("", each) for each in UNSEEN]
_COUNT = sum(map(len, SECTIONS.values()))
SIZE: Point = (WIDTH, TOP + ROW * _COUNT + GAP * len(SECTIONS) + MARGIN)


def draw_checklist(ax: Axes) -> Axes:
    """Draw every law with a box to tick, its sentence, and its name in `diagnose`, of `SIZE`."""
    sheet(ax, SIZE)
    top = SIZE[1]
    words(ax, (MARGIN, top - 28), "When it does not learn", size=16, ha="left", weight="bold")
    line = "The laws of an encoder-decoder, the cheapest first, with their names in diagnose(model)"
    under = f"{line} and diagnose_pipeline."
    words(ax, (MARGIN, top - 46), under, size=9, ha="left", color=PAPER)
    right: dict[str, Any] = {"ha": "right", "family": MONO, "color": mix(OURS, 1.4)}
    for y, name, said in _rows():
        if name is None:
            words(ax, (MARGIN, y), said, size=9.5, ha="left", weight="bold", color=SOURCE)
            continue
        box = Rectangle((MARGIN, y - 3.4), 6.8, 6.8, facecolor="white", edgecolor=INK)
        ax.add_patch(box).set_linewidth(0.7)
        words(ax, (MARGIN + 12, y), said, size=SMALLEST, ha="left")
        words(ax, (WIDTH - MARGIN, y), name, size=SMALLEST, **right)
    return ax


def _rows() -> Iterator[tuple[float, str | None, str]]:
    """Give the height of each row, with its law's name and sentence, or its section's title."""
    y = SIZE[1] - TOP
    for title, laws in SECTIONS.items():
        y -= GAP - ROW
        yield y, None, title
        y -= ROW + 2
        for name, says in laws:
            yield y, name, says
            y -= ROW
