"""What a p-value is, and what becomes of several: a test's differences, Holm's rule.

Not in the paper: Riezler and Maxwell (2005); Holm (1979), "A Simple Sequentially Rejective
Multiple Test Procedure".
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from lessonkit.charts.style import (
    GRID_COLOUR,
    INK_COLOUR,
    OURS_COLOUR,
    PAPER_COLOUR,
    TARGET_COLOUR,
    finish_axes,
)
from transformer.support.checks import (
    MIN_POSITIVE,
    check_has_items,
    check_number,
    check_numbers,
)
from transformer.support.errors import short_repr
from transformer.support.signatures import check_argument_types

MAX_BINS_A_SIDE = 20  # from 0 to what is farthest, about
EDGE_SHIFT = 1e-12  # a share of each edge's distance from 0


@check_argument_types
def draw_p_value(differences: Sequence[float], measured: float, ax: Axes, title: str = "") -> Axes:
    """Draw the differences that chance makes; those at least as far from 0 as `measured` stand out.

    Their share of all is the two-sided p-value. Not in the paper.

    Args:
        differences: Of two systems (BLEU) whose translations were exchanged at random.
        measured: The difference of the systems as they are (BLEU).
    """
    check_has_items("differences", differences)
    check_numbers("differences", differences)
    check_number("measured", measured)
    is_as_far = np.abs(np.asarray(differences, dtype=float)) >= abs(measured)
    bins = _bin_edges(abs(measured), max(map(abs, differences)))
    kinds = [np.asarray(differences)[~is_as_far], np.asarray(differences)[is_as_far]]
    labels = [f"nearer to 0: {len(kinds[0]):,}", f"as far, or farther: {len(kinds[1]):,}"]
    ax.hist(kinds, bins, stacked=True, color=[PAPER_COLOUR, TARGET_COLOUR], label=labels)
    for side in (-measured, measured):
        ax.axvline(side, color=INK_COLOUR, lw=1, ls="-" if side == measured else "--")
    ax.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1, 1))
    return finish_axes(ax, title, "difference (BLEU)", "exchanges")


def _bin_edges(measured: float, farthest: float) -> list[float]:
    """Return edges on both sides of 0, equally far apart, that take in all differences.

    Two of them are next to the measured difference and its negative, a little nearer to 0, so that
    no bar has some of both kinds; unless that is so small that there would be too many bars.
    """
    reach = max(measured, farthest) or 1.0
    bins_inside = round(MAX_BINS_A_SIDE * measured / reach)
    width = measured / bins_inside if bins_inside else reach / MAX_BINS_A_SIDE
    # A bin holds its left edge and not its right one: the negative must not be a left edge.
    width *= 1 - EDGE_SHIFT
    bins_a_side = math.floor(reach / width) + 1
    return [width * place for place in range(-bins_a_side, bins_a_side + 1)]


@check_argument_types
def draw_holm(
    p_values: Mapping[str, float], ax: Axes, level: float = 0.05, title: str = ""
) -> Axes:
    """Draw p-values from the smallest up, each beside what Holm's rule asks of it.

    The k-th of n has to be at most level / (n - k + 1). The first that is above ends it: from there
    on no difference is shown, and the dots are grey. Not in the paper.
    """
    check_has_items("p_values", p_values)
    for name, p_value in p_values.items():
        check_number(f"the p-value of {short_repr(name)}", p_value, MIN_POSITIVE, 1)
    check_number("level", level, MIN_POSITIVE, 1)
    ranked = sorted(p_values.items(), key=lambda pair: pair[1])
    limits = [level / (len(ranked) - place) for place in range(len(ranked))]
    is_above = [p > limit for (_, p), limit in zip(ranked, limits, strict=True)]
    num_shown = is_above.index(True) if True in is_above else len(ranked)
    places = range(len(ranked))
    ax.step(places, limits, where="mid", color=TARGET_COLOUR, label="what Holm's rule asks")
    for color, label, part in (
        (OURS_COLOUR, "a difference", slice(num_shown)),
        (PAPER_COLOUR, "not shown", slice(num_shown, None)),
    ):
        p = [value for _, value in ranked[part]]
        ax.plot(places[part], p, "o", color=color, label=label)
    ax.set(yscale="log", xlim=(-0.6, len(ranked) - 0.4))
    ax.set_xticks(list(places), [name for name, _ in ranked], fontsize=8)
    ax.axhline(level, color=GRID_COLOUR, lw=1)
    ax.legend(frameon=False, fontsize=9)
    return finish_axes(ax, title, "comparison", "p-value")
