"""A batch as a drawing: its tokens, and the masks of one of its sentences (§3.1, §3.2.3)."""

from functools import cache
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from lessonkit.charts.diagrams.diagram import INK, SMALL, Point, mix
from lessonkit.charts.plots.masks import draw_mask
from lessonkit.charts.style import PAPER, SOURCE, TARGET
from transformer.config import PAD_ID, SPECIAL_TOKENS, DataConfig, TokenizerKind
from transformer.data import corpora, tokenizers
from transformer.data.batches import collate, encode_pairs
from transformer.data.parallel import ParallelText
from transformer.masks import causal_mask, decoder_mask, padding_mask

SIZE: Point = (660, 624)  # points
PAIRS = (344, 183, 348)  # of the embedded corpus: training, English to French
SHOWN = 2  # the sentence of the batch whose masks are drawn
PAD = SPECIAL_TOKENS[PAD_ID]


class TokenGrid(NamedTuple):
    """One tensor of a batch as tokens, a row for each sentence, with its title and colour."""

    title: str
    rows: list[list[str]]
    colour: str


class Example(NamedTuple):
    """What the drawing shows: three grids of tokens, and masks (tgt_len, tgt_len) by name."""

    grids: tuple[TokenGrid, ...]
    masks: dict[str, Tensor]


@cache
def example() -> Example:
    """Make the batch of the drawing from three pairs of the embedded corpus.

    Not in the paper: its batches hold about 25,000 tokens of each side (§5.1).
    """
    text = corpora.load("embedded", "train", "en", "fr")
    src, tgt = [text.src[i] for i in PAIRS], [text.tgt[i] for i in PAIRS]
    config = DataConfig(
        corpus="embedded",
        src_lang="en",
        tgt_lang="fr",
        tokenizer=TokenizerKind.WORDS,
        joint_vocabulary=False,
        min_frequency=1,
    )
    english, french = tokenizers.train(config, src, tgt)
    pairs = ParallelText(src_lang="en", tgt_lang="fr", src=src, tgt=tgt)
    batch = collate(encode_pairs(english, french, pairs))
    grids = (
        ("src: what the encoder reads", english, batch.src, SOURCE),
        ("tgt_in: what the decoder reads", french, batch.tgt_in, TARGET),
        (
            "tgt_out: the next token, at every place",
            french,
            batch.tgt_out,
            TARGET,
        ),
    )
    shown = batch.tgt_in[SHOWN : SHOWN + 1]
    length = shown.shape[1]
    return Example(
        tuple(
            TokenGrid(title, [tokenizer.pieces(row.tolist()) for row in ids], colour)
            for title, tokenizer, ids, colour in grids
        ),
        {
            "padding_mask": padding_mask(shown)[0, 0].expand(length, length),
            "causal_mask": causal_mask(length)[0, 0],
            "decoder_mask: both": decoder_mask(shown)[0, 0],
        },
    )


def describe() -> str:
    """Say in words what the drawing shows, token by token."""
    grids, masks = example()
    shown = "; ".join(
        f"{grid.title}: {', '.join(' '.join(row) for row in grid.rows)}" for grid in grids
    )
    counts = "; ".join(
        f"{name}, {int(mask.sum())} of {mask.numel()} cells open" for name, mask in masks.items()
    )
    return (
        "Above, three grids of tokens, one under the other: a row for each of three sentence "
        f"pairs, a column for each position, shorter sentences filled up with {PAD}. {shown}. "
        "Below, three square grids, the masks of the third French sentence: a row for each token "
        "that attends, a column for each token attended to, yellow where it may and dark where it "
        f"may not. {counts}. The padding mask shuts the columns of {PAD}, from top to bottom. The "
        "causal mask is open on the diagonal and below it: each token sees itself and those "
        "before it. The decoder's mask is open where both are."
    )


def draw_batch_figure(figure: Figure) -> None:
    """Draw the batch's three tensors, and beneath them three masks of one sentence.

    Args:
        figure: Where to draw: an empty one of the size `SIZE`, in points.
    """
    grids, masks = example()
    _write(figure, 598, "A batch and its masks", 16)
    for row, grid in enumerate(grids):
        draw_tokens(grid, _axes(figure, (84, 510 - 91 * row, 562, 60)))
    tokens = grids[1].rows[SHOWN]
    _write(figure, 290, f"The masks of sentence {SHOWN + 1} as the decoder reads it", 12)
    for column, (name, mask) in enumerate(masks.items()):
        ax = _axes(figure, (84 + 196 * column, 86, 170, 170))
        draw_mask(mask, tokens, tokens, ax, name)
        if column:  # the same rows as in the first
            ax.set(ylabel="", yticklabels=[])
    handles = ax.get_legend_handles_labels()
    figure.legend(*handles, loc="lower center", ncols=2, frameon=False, fontsize=9)


def _axes(figure: Figure, place: tuple[float, float, float, float]) -> Axes:
    """Add axes at a place: left, bottom, width, height in points."""
    left, bottom, width, height = place
    return figure.add_axes((left / SIZE[0], bottom / SIZE[1], width / SIZE[0], height / SIZE[1]))


def _write(figure: Figure, y: float, text: str, size: float) -> None:
    """Write a heading at the left, y points from below."""
    figure.text(14 / SIZE[0], y / SIZE[1], text, fontsize=size, weight="bold", color=INK)


def draw_tokens(grid: TokenGrid, ax: Axes) -> Axes:
    """Draw one tensor of a batch as a grid of tokens; padding is dark and marks are grey.

    Args:
        grid: Its tokens, title and colour.
        ax: Where to draw.
    """
    for y, row in enumerate(grid.rows):
        for x, token in enumerate(row):
            face, ink = _colours(token, grid.colour)
            cell = Rectangle((x, y), 1, 1, facecolor=face, edgecolor="white", linewidth=1.5)
            ax.add_patch(cell)
            ax.text(x + 0.5, y + 0.53, token, color=ink, fontsize=9, ha="center", va="center")
    length = len(grid.rows[0])
    ax.set(xlim=(0, length), ylim=(len(grid.rows), 0))
    names = [f"sentence {number}" for number in range(1, len(grid.rows) + 1)]
    ax.set_yticks([y + 0.5 for y in range(len(grid.rows))], names)
    ax.set_xticks([])
    ax.tick_params(length=0, labelsize=SMALL)
    ax.spines[:].set_visible(False)
    ax.set_title(grid.title, fontsize=10, loc="left", weight="bold", pad=5)
    return ax


def _colours(token: str, colour: str) -> tuple[str, str]:
    """Give the colours of a cell and of its text."""
    if token == PAD:
        return mix(INK, 0.85), "white"
    if token in SPECIAL_TOKENS:
        return mix(PAPER, 0.3), INK
    return mix(colour, 0.25), INK
