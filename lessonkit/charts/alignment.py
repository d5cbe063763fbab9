"""A sentence and its translation, words of one meaning joined by lines."""

from collections.abc import Collection, Sequence

from matplotlib.axes import Axes

from lessonkit.charts.controls import text_width_letters
from lessonkit.charts.labels import (
    axes_points,
    how_many_labelled_text,
    places_of_labels_that_fit,
    shorten_label,
)
from lessonkit.charts.style import PAPER_COLOUR, SOURCE_COLOUR, TARGET_COLOUR
from transformer.support.checks import check_has_items, check_number
from transformer.support.signatures import check_argument_types

FONT_POINTS = 10
WORD_GAP_LETTERS = 2.5  # letters between two words


@check_argument_types
def draw_alignment(
    src_tokens: Sequence[str],
    tgt_tokens: Sequence[str],
    links: Collection[tuple[int, int]],
    ax: Axes,
    title: str = "",
) -> Axes:
    """Draw a sentence above its translation, with a line for each link.

    Not in the paper: gold alignments are the embedded corpus's own. Links are pairs (source word,
    target word), counted from 0. Words that have no room are left out, which the title says.
    """
    for name, tokens in (("src_tokens", src_tokens), ("tgt_tokens", tgt_tokens)):
        check_has_items(name, tokens)
    for src, tgt in links:
        check_number("a link's source word", src, 0, len(src_tokens) - 1, integer=True)
        check_number("a link's target word", tgt, 0, len(tgt_tokens) - 1, integer=True)
    places = _word_centres(src_tokens), _word_centres(tgt_tokens)
    for src, tgt in sorted(links):
        ax.plot((places[0][src], places[1][tgt]), (0.82, 0.18), color=PAPER_COLOUR, linewidth=1.2)
    num_labelled = 0
    for tokens, across, height, color in (
        (src_tokens, places[0], 0.92, SOURCE_COLOUR),
        (tgt_tokens, places[1], 0.08, TARGET_COLOUR),
    ):
        labels = [shorten_label(token) for token in tokens]
        centres = [place * axes_points(ax)[0] for place in across]
        shown = places_of_labels_that_fit(centres, labels, FONT_POINTS)
        for place in shown:
            text = ax.text(across[place], height, labels[place], color=color, fontsize=FONT_POINTS)
            text.set(horizontalalignment="center", verticalalignment="center", parse_math=False)
        num_labelled += len(shown)
    ax.set(xlim=(0, 1), ylim=(0, 1))
    ax.set_axis_off()
    num_words = len(src_tokens) + len(tgt_tokens)
    title = (title + how_many_labelled_text(num_labelled, num_words)).strip()
    ax.set_title(title, fontsize=10, parse_math=False)
    return ax


def _word_centres(tokens: Sequence[str]) -> list[float]:
    """Return the middle of each word, 0 to 1, in a line that has room for all of them."""
    labels = [shorten_label(token) for token in tokens]
    widths = [text_width_letters(label) + WORD_GAP_LETTERS for label in labels]
    ends = [sum(widths[: index + 1]) for index in range(len(widths))]
    return [(end - width / 2) / ends[-1] for end, width in zip(ends, widths, strict=True)]
