"""Two exercises of lesson 02: a window, and the decoder's mask."""

import itertools

import torch
from torch import Tensor, nn

from lessonkit.exercises.asking import read_words
from lessonkit.exercises.check import Exercise
from lessonkit.exercises.outcome import without
from transformer.config import BOS_ID, PAD_ID, UNK_ID

words = read_words("02")


def my_window_mask(length: int, width: int) -> Tensor:
    """Let each token see `width` tokens: itself and those before it."""
    place = torch.arange(length)
    back = place[:, None] - place  # (query, key): how far back
    return (back >= 0) & (back < width)


def _back(length: int) -> Tensor:
    return torch.arange(length)[:, None] - torch.arange(length)


def both_sides(length: int, width: int) -> Tensor:
    """Look as far ahead as back."""
    return _back(length).abs() < width


def looks_ahead(length: int, width: int) -> Tensor:
    """Swap rows and columns."""
    return my_window_mask(length, width).T


def one_too_many(length: int, width: int) -> Tensor:
    """Count the tokens before, and itself on top."""
    return my_window_mask(length, width + 1)


def not_itself(length: int, width: int) -> Tensor:
    """Leave out the diagonal."""
    return (_back(length) > 0) & (_back(length) <= width)


def without_end(length: int, width: int) -> Tensor:
    """Be causal, and no more."""
    return _back(length) >= 0


def window_inverted(length: int, width: int) -> Tensor:
    """Mark what is forbidden."""
    return ~my_window_mask(length, width)


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
        "both_sides": both_sides,
        "looks_ahead": looks_ahead,
        "one_too_many": one_too_many,
        "not_itself": not_itself,
        "without_end": without_end,
        "window_inverted": window_inverted,
    },
)


def my_decoder_mask(tgt_in: Tensor) -> Tensor:
    """Open real keys that are not ahead, (batch, 1, tgt_len, tgt_len)."""
    pad_id, tgt_len = 0, tgt_in.shape[1]
    real = (tgt_in != pad_id)[:, None, None, :]
    past = torch.ones(tgt_len, tgt_len, dtype=torch.bool).tril()
    return real & past


def _parts(tgt_in: Tensor) -> tuple[Tensor, Tensor]:
    """Give both masks: real keys, and keys that are not ahead."""
    real = (tgt_in != PAD_ID)[:, None, None, :]
    return real, _back(tgt_in.shape[1]) >= 0


def or_for_and(tgt_in: Tensor) -> Tensor:
    """Allow what either mask allows."""
    real, past = _parts(tgt_in)
    return real | past


def causal_alone(tgt_in: Tensor) -> Tensor:
    """Trust that padding does no harm."""
    real, past = _parts(tgt_in)
    return (real | True) & past


def padding_alone(tgt_in: Tensor) -> Tensor:
    """Forget the future."""
    real, past = _parts(tgt_in)
    return real & (past | True)


def shuts_rows(tgt_in: Tensor) -> Tensor:
    """Shut the queries that are padding, not the keys."""
    real, past = _parts(tgt_in)
    return real.mT & past


def sees_the_future(tgt_in: Tensor) -> Tensor:
    """Take the triangle above the diagonal."""
    real, past = _parts(tgt_in)
    return real & past.T


def inverted(tgt_in: Tensor) -> Tensor:
    """Mark what is forbidden."""
    return ~my_decoder_mask(tgt_in)


def padding_inverted(tgt_in: Tensor) -> Tensor:
    """Mark the padding where real tokens are to be marked."""
    real, past = _parts(tgt_in)
    return ~real & past


def no_axis_for_heads(tgt_in: Tensor) -> Tensor:
    """Leave out the axis of length 1."""
    return my_decoder_mask(tgt_in)[:, 0]


def _by_torch(tgt_in: Tensor) -> Tensor:
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
    expected=_by_torch,
    wrong={
        "or_for_and": or_for_and,
        "causal_alone": causal_alone,
        "padding_alone": padding_alone,
        "shuts_rows": shuts_rows,
        "sees_the_future": sees_the_future,
        "inverted": inverted,
        "padding_inverted": padding_inverted,
        "no_axis_for_heads": no_axis_for_heads,
    },
)
