"""Two ways to read a sentence: one word after another, or every word from every word (§4)."""

from collections.abc import Sequence

from matplotlib.axes import Axes

from lessonkit.charts.style import INK, OURS, PAPER, TARGET
from transformer.support.errors import UserError

Point = tuple[float, float]


def draw_recurrent(tokens: Sequence[str], ax: Axes) -> Axes:
    """Draw what a recurrent layer computes from what, and the path from first word to last output.

    Args:
        tokens: The words, two or more.
        ax: Where to draw.

    Raises:
        UserError: there are fewer than two words.
    """
    _nodes(tokens, ax)
    last = len(tokens) - 1
    for place in range(len(tokens)):
        _arrow(ax, (place, 0), (place, 1), TARGET if place == 0 else PAPER)
        if place < last:
            _arrow(ax, (place, 1), (place + 1, 1), TARGET)
    ax.set_title(f"recurrent: {len(tokens)} steps, one after another", fontsize=10)
    return ax


def draw_attentive(tokens: Sequence[str], ax: Axes) -> Axes:
    """Draw what a self-attention layer computes from what, and the same path in it.

    Args:
        tokens: The words, two or more.
        ax: Where to draw.

    Raises:
        UserError: there are fewer than two words.
    """
    _nodes(tokens, ax)
    last = len(tokens) - 1
    pairs = [(src, out) for src in range(len(tokens)) for out in range(len(tokens))]
    for src, out in sorted(pairs, key=lambda pair: pair == (0, last)):  # the path lies on top
        _arrow(ax, (src, 0), (out, 1), OURS if (src, out) == (0, last) else PAPER)
    ax.set_title("self-attention: one step, all outputs at once", fontsize=10)
    return ax


def _nodes(tokens: Sequence[str], ax: Axes) -> None:
    """Draw the words below and a dot for each output above them."""
    if len(tokens) < 2:
        raise UserError(f"{len(tokens)} words have no path between them: give two or more")
    for place, token in enumerate(tokens):
        ax.text(place, -0.04, token, ha="center", va="top", color=INK, fontsize=10)
        ax.plot([place, place], [0, 1], "o", color=INK, markersize=5, zorder=3)
    ax.text(-0.35, 1, "outputs", ha="right", va="center", color=INK, fontsize=9)
    ax.text(-0.35, 0, "words", ha="right", va="center", color=INK, fontsize=9)
    ax.set(xlim=(-1.3, len(tokens) - 0.4), ylim=(-0.22, 1.12))
    ax.set_axis_off()


def _arrow(ax: Axes, start: Point, end: Point, color: str) -> None:
    """Draw an arrow from node to node that leaves both in sight."""
    look = {"arrowstyle": "-|>", "color": color, "shrinkA": 5, "shrinkB": 5}
    look["linewidth"] = 0.7 if color == PAPER else 2.0
    ax.annotate("", end, start, arrowprops=look)
