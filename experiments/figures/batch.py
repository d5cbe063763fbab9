"""A batch as a drawing: its tokens, and the masks of one of its sentences (§3.1, §3.2.3)."""

from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from experiments.figures.shapes import INK, Point
from lessonkit.charts import TokenGrid, draw_mask, draw_tokens
from lessonkit.charts.style import SOURCE, TARGET
from transformer.config import DataConfig, TokenizerKind
from transformer.data import corpora, tokenizers
from transformer.data.batches import collate, encode_pairs
from transformer.data.parallel import ParallelText
from transformer.masks import causal_mask, decoder_mask, padding_mask

SIZE: Point = (660, 624)  # points
PAIRS = (344, 183, 348)  # of the embedded corpus: training, English to French
SHOWN = 2  # the sentence of the batch whose masks are drawn


class Example(NamedTuple):
    """What the drawing shows: three grids of tokens, and masks (tgt_len, tgt_len) by name."""

    grids: tuple[TokenGrid, ...]
    masks: dict[str, Tensor]


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
    sides = (
        ("src: what the encoder reads", english, batch.src, SOURCE),
        ("tgt_in: what the decoder reads", french, batch.tgt_in, TARGET),
        ("tgt_out: the next token, at every place", french, batch.tgt_out, TARGET),
    )
    grids = tuple(
        TokenGrid(title, [tokenizer.pieces(row.tolist()) for row in ids], colour)
        for title, tokenizer, ids, colour in sides
    )
    shown = batch.tgt_in[SHOWN : SHOWN + 1]
    length = shown.shape[1]
    masks = {
        "padding_mask": padding_mask(shown)[0, 0].expand(length, length),
        "causal_mask": causal_mask(length)[0, 0],
        "decoder_mask: both": decoder_mask(shown)[0, 0],
    }
    return Example(grids, masks)


def draw_batch_figure(figure: Figure) -> None:
    """Draw the batch's three tensors, and beneath them three masks of one sentence, of `SIZE`."""

    def add_axes(left: float, bottom: float, width: float, height: float) -> Axes:
        place = (left / SIZE[0], bottom / SIZE[1], width / SIZE[0], height / SIZE[1])
        return figure.add_axes(place)

    grids, masks = example()
    under = f"The masks of sentence {SHOWN + 1} as the decoder reads it"
    for y, text, size in ((598, "A batch and its masks", 16), (290, under, 12)):
        figure.text(14 / SIZE[0], y / SIZE[1], text, fontsize=size, weight="bold", color=INK)
    for row, grid in enumerate(grids):
        draw_tokens(grid, add_axes(84, 510 - 91 * row, 562, 60))
    tokens = grids[1].rows[SHOWN]
    for column, (name, mask) in enumerate(masks.items()):
        ax = add_axes(84 + 196 * column, 86, 170, 170)
        draw_mask(mask, tokens, tokens, ax, name)
        if column:  # the same rows as in the first
            ax.set(ylabel="", yticklabels=[])
    handles = ax.get_legend_handles_labels()
    figure.legend(*handles, loc="lower center", ncols=2, frameon=False, fontsize=9)
