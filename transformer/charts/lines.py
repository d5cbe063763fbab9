"""A few named lines over a quantity that doubles: vocabulary sizes, budgets, tokens read."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes

from transformer.charts.style import CROSS, OURS, PAPER, SOURCE, TARGET
from transformer.support.errors import UserError

LOOKS = ((SOURCE, "o-"), (TARGET, "s-"), (OURS, "^-"), (CROSS, "D-"), (PAPER, "v-"))
MOST_TICKS = 8  # points that each get a label of their own
Line = Sequence[tuple[float, float]]  # (x, y) from left to right


def draw_lines(lines: Mapping[str, Line], ax: Axes, title: str = "") -> Axes:
    """Draw lines over a logarithmic x, each with its own colour and mark.

    Where the lines have few points, these are what the x axis names.

    Args:
        lines: The points of each line, by name, at most five.
        ax: Where to draw.
        title: Above the picture.

    Raises:
        UserError: there are no lines, a line has no points, or there are too many lines.
    """
    if not lines or not all(lines.values()) or len(lines) > len(LOOKS):
        raise UserError(
            f"{len(lines)} lines, with {[len(line) for line in lines.values()]} points: give 1 to "
            f"{len(LOOKS)} lines of at least one point"
        )
    for (name, points), (colour, style) in zip(lines.items(), LOOKS, strict=False):
        x, y = zip(*points, strict=True)
        ax.plot(x, y, style, color=colour, label=name, markersize=4)
    ax.set_xscale("log")
    ticks = sorted({x for points in lines.values() for x, _ in points})
    if len(ticks) <= MOST_TICKS:
        ax.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
        ax.minorticks_off()
    ax.set_title(title, fontsize=10)
    ax.legend(frameon=False, fontsize=9)
    ax.spines[["top", "right"]].set_visible(False)
    return ax
