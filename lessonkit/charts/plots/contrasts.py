"""Shares that were counted, as bars with their intervals: what a model keeps of each contrast."""

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes

from lessonkit.charts.style import CROSS, OURS, PAPER, SOURCE, TARGET
from transformer.support.errors import UserError

COLOURS = (OURS, SOURCE, TARGET, CROSS, PAPER)
GROUP_HEIGHT = 0.8  # of the distance between two phenomena


def draw_contrasts(
    series: Mapping[str, Mapping[str, Mapping[str, Any]]], ax: Axes, title: str = ""
) -> Axes:
    """Draw the pairs of which both sides came out right: a group of bars for each phenomenon.

    Not in the paper.

    Args:
        series: For each name in the legend the phenomena, each with `share` and `interval`
            (0 to 1), as one way of `experiments.contrasts.measure_contrasts` has them.
        ax: Where to draw.
        title: Above the picture.

    Raises:
        UserError: there are no series, more than five, or they differ in their phenomena.
    """
    names = [list(phenomena) for phenomena in series.values()]
    if not 0 < len(series) <= len(COLOURS) or any(each != names[0] for each in names):
        raise UserError(
            f"{len(series)} series with phenomena {names}: give 1 to {len(COLOURS)} with the same"
        )
    height = GROUP_HEIGHT / len(series)
    for row, (label, phenomena) in enumerate(series.items()):
        places = [place + (row + 0.5) * height for place in range(len(phenomena))]
        shares = [100 * figures["share"] for figures in phenomena.values()]
        ends = [[100 * end for end in figures["interval"]] for figures in phenomena.values()]
        ax.barh(places, shares, 0.9 * height, color=COLOURS[row], alpha=0.75, label=label)
        lows, highs = zip(*ends, strict=True)
        ax.hlines(places, lows, highs, color="black", linewidth=1.2)
    ax.set_yticks([place + GROUP_HEIGHT / 2 for place in range(len(names[0]))], names[0])
    ax.tick_params(axis="y", length=0)
    ax.invert_yaxis()
    ax.set(xlim=(0, 100), ylabel="what differs")
    ax.set_xlabel("pairs with both sides right (%), 95% interval")
    ax.set_title(title, fontsize=10)
    ax.spines[["top", "right"]].set_visible(False)
    return ax
