"""The laws of an encoder-decoder on one page, to be printed (not in the paper)."""

from collections.abc import Iterator
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from attention_laws.law import Law
from attention_laws.laws import LAWS, scores, text
from lessonkit.charts.diagrams.diagram import INK, MONO, Point, mix, sheet, words
from lessonkit.charts.style import OURS, PAPER, SOURCE

WIDTH = 595  # points, as wide as a sheet of A4
MARGIN, TOP, ROW, GAP = 26.0, 64.0, 9.6, 15.5
SMALLEST = 8.0  # font size
UNSEEN = (
    "A learning rate that is too high or too low: sweep it over powers of ten.",
    "Too little text, or text of another kind: compare the loss in training and held out.",
    "Pairs that do not translate each other: read fifty of them.",
)


class Section(NamedTuple):
    """Laws that cost about the same.

    Attributes:
        title: What they need.
        laws: Name and sentence of each.
    """

    title: str
    laws: tuple[tuple[str, str], ...]


def sections() -> tuple[Section, ...]:
    """Give the laws in the order in which to try them: the cheapest first."""
    groups: dict[str, tuple[Law, ...]] = {
        "Before anything runs: text and score": (*text.LAWS, *scores.LAWS),
        "A batch and its loss": _of("batches", "loss"),
        "A pass forward, trained or not": _of(
            "modes", "future", "padding", "reach", "weights", "half"
        ),
        "A model just made": _of("start", "tying"),
        "A few steps of training": _of("schedule", "parameters"),
        "Decoding": _of("cache", "search"),
        "A minute of training": _of("learning"),
    }
    found = [
        Section(title, tuple((law.name, law.says) for law in laws))
        for title, laws in groups.items()
        if laws
    ]
    return (*found, Section("What no law sees", tuple(("", each) for each in UNSEEN)))


def _of(*names: str) -> tuple[Law, ...]:
    """Give the laws of these files, in their order."""
    return tuple(law for law in LAWS if law.check.__module__.rpartition(".")[2] in names)


def _height() -> float:
    rows = sum(len(section.laws) for section in sections())
    return TOP + ROW * rows + GAP * len(sections()) + MARGIN


SIZE: Point = (WIDTH, _height())


def draw_checklist(ax: Axes) -> Axes:
    """Draw every law with a box to tick, its sentence, and its name in `diagnose`.

    Args:
        ax: Where to draw; an empty one of the size `SIZE`, in points.
    """
    sheet(ax, SIZE)
    top = SIZE[1]
    heading = {"ha": "left", "weight": "bold", "color": INK}
    words(ax, (MARGIN, top - 28), "When it does not learn", size=16, **heading)
    line = "The laws of an encoder-decoder, the cheapest first, with their names in diagnose(model)"
    under = f"{line} and diagnose_pipeline."
    words(ax, (MARGIN, top - 46), under, size=9, ha="left", color=PAPER)
    for y, title, law in _rows():
        if title:
            words(ax, (MARGIN, y), title, size=9.5, ha="left", weight="bold", color=SOURCE)
            continue
        box = Rectangle(
            (MARGIN, y - 3.4), 6.8, 6.8, facecolor="white", edgecolor=INK, linewidth=0.7
        )
        ax.add_patch(box)
        words(ax, (MARGIN + 12, y), law[1], size=SMALLEST, ha="left")
        right = {"ha": "right", "family": MONO, "color": mix(OURS, 1.4)}
        words(ax, (WIDTH - MARGIN, y), law[0], size=SMALLEST, **right)
    return ax


def _rows() -> Iterator[tuple[float, str, tuple[str, str]]]:
    """Give the height of each row, with its section's title or its law."""
    y = SIZE[1] - TOP
    for section in sections():
        y -= GAP - ROW
        yield y, section.title, ("", "")
        y -= ROW + 2
        for law in section.laws:
            yield y, "", law
            y -= ROW


def describe() -> str:
    """Say in words what the page holds."""
    parts = []
    for section in sections()[:-1]:
        names = ", ".join(name for name, _ in section.laws)
        parts.append(f"{section.title}: {names}.")
    return (
        "A page to be printed, a list with a box to tick before each line. Each line is a law in "
        "one sentence with its name in diagnose at the right, in sections by what they cost, the "
        f"cheapest first. {' '.join(parts)} At the end, what no law sees. {' '.join(UNSEEN)}"
    )
