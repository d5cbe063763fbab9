"""Every n-gram of an output under its words: which of them a reference has too (§6.1)."""

from collections import Counter
from collections.abc import Sequence

from matplotlib.axes import Axes

from lessonkit.charts.style import GRID_COLOUR, INK_COLOUR, OURS_COLOUR
from transformer.support.checks import check_has_items
from transformer.support.signatures import check_argument_types

MAX_NGRAM_ORDER = 4  # as in BLEU
CELL_COLOUR_BY_MATCH = {True: OURS_COLOUR, False: GRID_COLOUR}


@check_argument_types
def draw_ngram_matches(
    output: Sequence[str], reference: Sequence[str], ax: Axes, title: str = ""
) -> Axes:
    """Draw the words of an output, and below them a square for each n-gram, n = 1 to 4.

    Not in the paper, which scores by BLEU. A square stands below the middle of its n-gram. It is
    green if the n-gram counts: if the reference has it, and has it as often as it has come so far
    (Papineni et al. 2002).
    """
    check_has_items("output", output)
    for n in range(1, MAX_NGRAM_ORDER + 1):
        matches = _ngram_matches(output, reference, n)
        for start, is_match in enumerate(matches):
            ax.plot(
                start + (n - 1) / 2, -n, "s", markersize=15, color=CELL_COLOUR_BY_MATCH[is_match]
            )
        ax.text(len(output), -n, f"{sum(matches)} of {len(matches)}", va="center")
        ax.text(-1, -n, f"n = {n}", va="center", ha="right")
    for place, word in enumerate(output):
        text = ax.text(place, -0.25, word, ha="center", color=INK_COLOUR)
        text.set_parse_math(False)
    ax.set(xlim=(-2.2, len(output) + 1.5), ylim=(-MAX_NGRAM_ORDER - 0.6, 0.4))
    ax.set_axis_off()
    ax.set_title(title, fontsize=10, parse_math=False)
    return ax


def _ngram_matches(output: Sequence[str], reference: Sequence[str], n: int) -> list[bool]:
    """Return of each n-gram of the output, in its order, whether it counts."""
    left = Counter(_ngrams(reference, n))
    matches = []
    for ngram in _ngrams(output, n):
        matches.append(left[ngram] > 0)
        left[ngram] -= 1
    return matches


def _ngrams(words: Sequence[str], n: int) -> list[tuple[str, ...]]:
    return [tuple(words[start : start + n]) for start in range(len(words) - n + 1)]
