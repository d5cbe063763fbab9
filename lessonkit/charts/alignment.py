"""A sentence and its translation, words of one meaning joined by lines."""

from collections.abc import Collection, Sequence

from matplotlib.axes import Axes

from lessonkit.charts.style import PAPER_COLOUR, SOURCE_COLOUR, TARGET_COLOUR

WORD_GAP_LETTERS = 2.5  # letters between two words


def draw_alignment(
    src_tokens: Sequence[str],
    tgt_tokens: Sequence[str],
    links: Collection[tuple[int, int]],
    ax: Axes,
    title: str = "",
) -> Axes:
    """Draw a sentence above its translation, with a line for each link.

    Not in the paper: gold alignments are the embedded corpus's own. Links are pairs (source word,
    target word), counted from 0.
    """
    places = _word_centres(src_tokens), _word_centres(tgt_tokens)
    for src, tgt in sorted(links):
        ax.plot((places[0][src], places[1][tgt]), (0.82, 0.18), color=PAPER_COLOUR, linewidth=1.2)
    for tokens, across, height, color in (
        (src_tokens, places[0], 0.92, SOURCE_COLOUR),
        (tgt_tokens, places[1], 0.08, TARGET_COLOUR),
    ):
        for place, token in zip(across, tokens, strict=True):
            ax.text(place, height, token, ha="center", va="center", color=color, fontsize=10)
    ax.set(xlim=(0, 1), ylim=(0, 1))
    ax.set_axis_off()
    ax.set_title(title, fontsize=10)
    return ax


def _word_centres(tokens: Sequence[str]) -> list[float]:
    """Return the middle of each word, 0 to 1, in a line that has room for all of them."""
    widths = [len(token) + WORD_GAP_LETTERS for token in tokens]
    ends = [sum(widths[: index + 1]) for index in range(len(widths))]
    return [(end - width / 2) / ends[-1] for end, width in zip(ends, widths, strict=True)]
