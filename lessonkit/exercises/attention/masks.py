"""Two exercises of lesson 02: a window, and the decoder's mask."""

import itertools
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lessonkit.exercises.asking import read_words
from lessonkit.exercises.check import Exercise
from lessonkit.exercises.outcome import without
from transformer.config import BOS_ID, PAD_ID, UNK_ID

words = read_words("02")

Weights = tuple[Tensor, Tensor, Tensor, Tensor]  # of queries, keys, values, and the output
Pairs = Sequence[tuple[Tensor, Tensor]]
OF_PYTORCH = F.scaled_dot_product_attention, F.multi_head_attention_forward
# In `Blocks(32, 32)` a block has 128 scores of the 4 queries, and all blocks have 4,096.
LARGEST, TOGETHER = 256, 2048


def my_window_mask(length: int, width: int) -> Tensor:
    """Let each token see `width` tokens: itself and those before it."""
    place = torch.arange(length)
    back = place[:, None] - place  # (query, key): how far back
    return (back >= 0) & (back < width)


def _by_triangles(length: int, width: int) -> Tensor:
    """Cut a smaller triangle out of a larger one."""
    everything = torch.ones(length, length)
    return (everything.tril() - everything.tril(-width)).bool()


window_mask = Exercise(
    my_window_mask,
    words,
    worked=[
        (
            (3, 2),
            torch.tensor([[True, False, False], [True, True, False], [False, True, True]]),
        )
    ],
    cases=[(length, width) for length in range(1, 7) for width in range(1, 5)],
    expected=_by_triangles,
    wrong={
        "both_sides": ("(back >= 0) & (back < width)", "back.abs() < width"),
        "looks_ahead": ("place[:, None] - place", "place - place[:, None]"),
        "one_too_many": ("< width", "<= width"),
        "not_itself": (">= 0", "> 0", "< width", "<= width"),
        "without_end": (" & (back < width)", ""),
        "window_inverted": ("(back >= 0) & (back < width)", "(back < 0) | (back >= width)"),
    },
)


def my_decoder_mask(tgt_in: Tensor) -> Tensor:
    """Open real keys that are not ahead, (batch, 1, tgt_len, tgt_len)."""
    pad_id, tgt_len = 0, tgt_in.shape[1]
    real = (tgt_in != pad_id)[:, None, None, :]
    past = torch.ones(tgt_len, tgt_len, dtype=torch.bool).tril()
    return real & past


def _by_scores(tgt_in: Tensor) -> Tensor:
    """Take PyTorch's causal mask, 0 where open, and add minus infinity at padding."""
    scores = nn.Transformer.generate_square_subsequent_mask(tgt_in.shape[1])
    scores = scores.repeat(len(tgt_in), 1, 1, 1)
    for row, ids in enumerate(tgt_in):
        scores[row, 0, :, ids == PAD_ID] = -torch.inf
    return scores == 0


decoder_mask = Exercise(
    my_decoder_mask,
    words,
    worked=[
        (
            (torch.tensor([[2, 7, 0]]),),
            torch.tensor([[[[True, False, False], [True, True, False], [True, True, False]]]]),
        )
    ],
    cases=[
        (torch.tensor([[2, *[7] * (real - 1), *[0] * (length - real)] for real in reals]),)
        for length in (1, 2, 3, 5)
        for reals in itertools.chain(
            ([real] for real in range(1, length + 1)), ([length, 1], [1, length, length])
        )
    ]
    + [(torch.tensor([[BOS_ID, UNK_ID]]),), (torch.tensor([[BOS_ID, UNK_ID, 5], [BOS_ID, 4, 0]]),)],
    rules=(lambda: without("transformer.masks"),),
    expected=_by_scores,
    wrong={
        "or_for_and": ("real & past", "real | past"),
        "causal_alone": ("real & past", "(real | True) & past"),
        "padding_alone": ("real & past", "real & (past | True)"),
        "shuts_rows": ("[:, None, None, :]", "[:, None, :, None]"),
        "sees_the_future": ("tril", "triu"),
        "inverted": ("real & past", "~(real & past)"),
        "padding_inverted": ("!=", "=="),
        "no_axis_for_heads": ("real & past", "(real & past)[:, 0]"),
    },
)
