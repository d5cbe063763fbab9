"""A word alignment as a picture: two sentences, and lines between words of one meaning."""

from collections.abc import Collection, Sequence

from matplotlib.axes import Axes

from lessonkit.charts.style import PAPER, SOURCE, TARGET

GAP = 2.5  # letters between two words


def draw_alignment(
    src_tokens: Sequence[str],
    tgt_tokens: Sequence[str],
    links: Collection[tuple[int, int]],
    ax: Axes,
    title: str = "",
) -> Axes:
    """Draw a sentence above its translation, with a line for each link.

    Not in the paper: gold alignments are the embedded corpus's own.

    Args:
        src_tokens: Words of the source, written on top.
        tgt_tokens: Words of the translation, written below.
        links: Pairs (source word, target word), counted from 0.
        ax: Where to draw.
        title: Above the sentences.
    """
    places = _places(src_tokens), _places(tgt_tokens)
    for src, tgt in sorted(links):
        ax.plot((places[0][src], places[1][tgt]), (0.82, 0.18), color=PAPER, linewidth=1.2)
    for row, (tokens, height, color) in enumerate(
        ((src_tokens, 0.92, SOURCE), (tgt_tokens, 0.08, TARGET))
    ):
        for place, token in zip(places[row], tokens, strict=True):
            ax.text(place, height, token, ha="center", va="center", color=color, fontsize=10)
    ax.set(xlim=(0, 1), ylim=(0, 1))
    ax.set_axis_off()
    ax.set_title(title, fontsize=10)
    return ax


def _places(tokens: Sequence[str]) -> list[float]:
    """Give the middle of each word, 0 to 1, in a line that has room for all of them."""
    widths = [len(token) + GAP for token in tokens]
    ends = [sum(widths[: index + 1]) for index in range(len(widths))]
    return [(end - width / 2) / ends[-1] for end, width in zip(ends, widths, strict=True)]
