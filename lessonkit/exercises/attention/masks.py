"""Two exercises of lesson 02: a window, and the decoder's mask."""

import itertools

import torch
from torch import Tensor, nn

from lessonkit.exercises.check import Exercise, Wrong
from lessonkit.exercises.rules import without
from transformer.config import BOS_ID, PAD_ID, UNK_ID


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
    minutes=10,
    difficulty="easy",
    hints=(
        "The causal mask is a triangle. Here it is a band along the diagonal, `width` wide.",
        "With place = torch.arange(length), place[:, None] - place tells for each query (row) "
        "how far back each key (column) stands. 0 is itself.",
        "Open are the keys that stand 0, 1, ... width - 1 back: two comparisons, joined by &.",
    ),
    worked=[
        (
            (3, 2),
            torch.tensor([[True, False, False], [True, True, False], [False, True, True]]),
        )
    ],
    cases=[(length, width) for length in range(1, 7) for width in range(1, 5)],
    expected=_by_triangles,
    wrong=[
        Wrong(
            both_sides,
            "Your tokens look ahead as well. In the decoder that is forbidden: the window "
            "reaches backwards only.",
        ),
        Wrong(
            looks_ahead,
            "This window looks ahead: rows are queries, columns are keys, and a key *before* "
            "its query stands to the left of the diagonal.",
        ),
        Wrong(
            one_too_many,
            "One key too many: the token itself is one of the `width`.",
        ),
        Wrong(
            not_itself,
            "A token does not see itself, and the first one sees nothing at all. The window "
            "begins at the diagonal.",
        ),
        Wrong(
            without_end,
            "This is the whole causal mask. Where does `width` come in?",
        ),
        Wrong(
            window_inverted,
            "True means *may attend*. You have marked what may not be seen.",
        ),
    ],
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
    minutes=10,
    difficulty="medium",
    hints=(
        "Make the two masks one by one: which keys are real, and which are not ahead? A key is "
        "open where both say so.",
        "`tgt_in != 0` is (batch, tgt_len), a verdict on each *key*. Give it the shape "
        "(batch, 1, 1, tgt_len), with [:, None, None, :].",
        "The other is torch.ones(tgt_len, tgt_len, dtype=torch.bool).tril(). & stretches both "
        "to (batch, 1, tgt_len, tgt_len).",
    ),
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
    wrong=[
        Wrong(
            or_for_and,
            "A key is open where *either* mask allows it; so padding may be seen from behind, "
            "and the future where it is real. Both must allow it.",
        ),
        Wrong(
            causal_alone,
            "Nothing keeps a token from attending to <pad> (id 0) before it.",
        ),
        Wrong(
            padding_alone,
            "Every real token may see the whole sentence, the word it has to predict too.",
        ),
        Wrong(
            shuts_rows,
            "You shut the rows of <pad>, its queries. They do no harm, and a query that may look "
            "at nothing has no softmax. Shut <pad> as a *key*, on the last axis, and only there.",
        ),
        Wrong(
            sees_the_future,
            "Your triangle lies above the diagonal: each token sees what comes after it. Rows "
            "are queries.",
        ),
        Wrong(
            inverted,
            "The mask is inverted: True means *may attend*.",
        ),
        Wrong(
            padding_inverted,
            "The half that looks at padding is inverted: you open the keys that *are* <pad>.",
        ),
        Wrong(
            no_axis_for_heads,
            "The values are right; the axis for the heads is missing. It has length 1, second.",
        ),
    ],
)
