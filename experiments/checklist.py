"""The laws of an encoder-decoder on one page, to be printed: figures/checklist.png.

Not in the paper. figures/README.md has it in words, for readers who do not see it.
"""

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

from matplotlib import rc_context, rcdefaults
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from attention_laws.law import Law
from attention_laws.laws import LAWS, scores, text
from lessonkit.charts.renderer import shrink
from lessonkit.charts.style import DARK, OURS, PAPER, SOURCE, mix
from transformer.support.files import write_atomically

WIDTH = 660  # points; printed on A4, nine tenths of that
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
    "A pass forward, trained or not": _of("output", "future", "reach", "weights"),
    "A model just made": _of("start", "positions", "wiring"),
    "A few steps of training": _of("schedule", "parameters"),
    "Decoding": _of("cache", "search"),
    "A minute of training": _of("learning"),
}
SECTIONS = {title: [(law.name, law.says) for law in laws] for title, laws in GROUPS.items()}
SECTIONS["What no law sees"] = [("", each) for each in UNSEEN]
_COUNT = sum(map(len, SECTIONS.values()))
HEIGHT = TOP + ROW * _COUNT + GAP * len(SECTIONS) + MARGIN


def write(file: Path) -> None:
    """Write the page as a PNG."""
    write_atomically(file, render())


def render() -> bytes:
    """Draw the page as a small PNG, white behind, whatever matplotlib's settings are."""
    drawn = BytesIO()
    with rc_context():
        rcdefaults()
        draw().savefig(drawn, format="png", dpi=150)
    return shrink(drawn.getvalue())[0]


def draw() -> Figure:
    """Draw every law with a box to tick, its sentence, and its name in `diagnose`."""
    figure = Figure(figsize=(WIDTH / 72, HEIGHT / 72), facecolor="white")
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set(xlim=(0, WIDTH), ylim=(0, HEIGHT), aspect="equal")
    ax.set_axis_off()

    def write(x: float, y: float, words: str, size: float, **style: str) -> None:
        look = {"ha": "left", "va": "baseline", "color": DARK} | style
        ax.text(x, y - 0.36 * size, words, fontsize=size, **look)  # type: ignore[arg-type]

    write(MARGIN, HEIGHT - 28, "When it does not learn", 16, weight="bold")
    line = "The laws of an encoder-decoder, the cheapest first, with their names in diagnose(model)"
    write(MARGIN, HEIGHT - 46, f"{line} and diagnose_pipeline.", 9, color=PAPER)
    for y, name, said in _rows():
        if name is None:
            write(MARGIN, y, said, 9.5, weight="bold", color=SOURCE)
            continue
        box = Rectangle((MARGIN, y - 3.4), 6.8, 6.8, facecolor="white", edgecolor=DARK)
        ax.add_patch(box).set_linewidth(0.7)
        write(MARGIN + 12, y, said, SMALLEST)
        code = {"family": "DejaVu Sans Mono", "color": mix(OURS, 1.4)}
        write(WIDTH - MARGIN, y, name, SMALLEST, ha="right", **code)
    return figure


def _rows() -> Iterator[tuple[float, str | None, str]]:
    """Give the height of each row, with its law's name and sentence, or its section's title."""
    y = HEIGHT - TOP
    for title, laws in SECTIONS.items():
        y -= GAP - ROW
        yield y, None, title
        y -= ROW + 2
        for name, says in laws:
            yield y, name, says
            y -= ROW
