"""How far variants of a model are from what they are held against (not in the paper)."""

from collections.abc import Mapping

from matplotlib.axes import Axes

from lessonkit.analysis.variant_comparison import Comparison
from lessonkit.charts.style import (
    INK_COLOUR,
    OURS_COLOUR,
    PAPER_COLOUR,
    SOURCE_COLOUR,
    TARGET_COLOUR,
    add_legend,
    finish_axes,
)
from transformer.support.checks import check_has_items
from transformer.support.signatures import check_argument_types

# Of a verdict: the colour, and the shape of the mark, by which it can be told without colours.
LOOK_BY_VERDICT = {
    "better": (OURS_COLOUR, "^"),
    "worse": (TARGET_COLOUR, "v"),
    "no difference": (SOURCE_COLOUR, "s"),
    "not shown": (PAPER_COLOUR, "o"),
}


@check_argument_types
def draw_variant_differences(
    comparisons: Mapping[str, Comparison],
    ax: Axes,
    title: str,
    unit: str,
    *,
    worth: float,
    lower_is_better: bool,
) -> Axes:
    """Draw each variant's difference with its 95% interval, the first one on top.

    Colours and shapes say the verdicts of the family. The band around 0 is `worth` wide to either
    side: the least difference worth having, in `unit`.

    Raises:
        UserError: there is no comparison.
    """
    check_has_items("comparisons", comparisons)
    ax.axvspan(-worth, worth, color=INK_COLOUR, alpha=0.15, linewidth=0)
    ax.axvline(0, color=INK_COLOUR, linewidth=1, linestyle="--")
    labelled = set()
    for row, comparison in enumerate(comparisons.values()):
        verdict = _better_or_worse(comparison.verdict, lower_is_better)
        colour, shape = LOOK_BY_VERDICT[verdict]
        ax.plot(comparison.interval, (row, row), color=colour, linewidth=2)
        label = None if verdict in labelled else verdict
        ax.plot(comparison.difference, row, shape, color=colour, label=label)
        labelled.add(verdict)
    ax.set_yticks(range(len(comparisons)), list(comparisons))
    ax.set_ylim(len(comparisons) - 0.5, -0.5)
    add_legend(ax, frameon=False, fontsize=8)
    return finish_axes(ax, title, f"difference ({unit})", "variant")


def _better_or_worse(verdict: str, lower_is_better: bool) -> str:
    """Return "better" or "worse" for "higher" or "lower", and any other verdict as it is."""
    better = "lower" if lower_is_better else "higher"
    return {better: "better"}.get(verdict, "worse" if verdict in ("higher", "lower") else verdict)
