"""Several runs of each variant side by side: how much is the change, and how much is chance."""

from collections.abc import Mapping, Sequence
from statistics import mean

from matplotlib.axes import Axes

from lessonkit.charts.style import OURS, PAPER


def draw_seeds(
    scores: Mapping[str, Sequence[float]],
    ax: Axes,
    xlabel: str,
    title: str = "",
    margin: float = 0.0,
) -> Axes:
    """Draw a dot for each run and a bar at the mean, a row for each variant.

    A dashed line marks the first variant's mean, which the others are held against.

    Args:
        scores: The figures of each variant's runs, as `lessonkit.records.scores` gives.
        ax: Where to draw.
        xlabel: What the figures are, with the unit.
        title: Above the picture.
        margin: Shade so much to both sides of the line: means in there may be equal to the
            first (see `transformer.evaluation.compare.margin`).
    """
    for row, runs in enumerate(scores.values()):
        ax.plot(runs, [row] * len(runs), "o", color=OURS, markersize=6, alpha=0.8)
        ax.plot([mean(runs)] * 2, [row - 0.3, row + 0.3], color=OURS, linewidth=2)
        ax.annotate(
            f"{mean(runs):.1f}",
            (max(runs), row),
            xytext=(8, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
        )
    first = next(iter(scores.values()))
    ax.axvline(mean(first), color=PAPER, linestyle="--", linewidth=1, zorder=0)
    if margin:
        ax.axvspan(mean(first) - margin, mean(first) + margin, color=PAPER, alpha=0.15, zorder=0)
    ax.set_yticks(range(len(scores)), list(scores))
    ax.invert_yaxis()
    ax.margins(x=0.15)
    ax.set(xlabel=xlabel, ylabel="variant")
    ax.set_title(title, fontsize=10)
    ax.spines[["top", "right"]].set_visible(False)
    return ax
