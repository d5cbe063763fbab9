"""An exercise of lesson 02: a projection split into heads (§3.2.2)."""

import torch
from torch import Tensor

from transformer.exercises.check import Exercise, Wrong


def my_split_heads(joined: Tensor, num_heads: int) -> Tensor:
    """(batch, length, num_heads * d_k) -> (batch, num_heads, length, d_k)."""
    return joined.unflatten(-1, (num_heads, -1)).transpose(1, 2)


def reshaped_at_once(joined: Tensor, num_heads: int) -> Tensor:
    """Cut the memory in the order of the new shape."""
    batch, length, _ = joined.shape
    return joined.reshape(batch, num_heads, length, -1)


def not_transposed(joined: Tensor, num_heads: int) -> Tensor:
    """Split the width, and stop there."""
    return my_split_heads(joined, num_heads).transpose(1, 2)


def every_second_component(joined: Tensor, num_heads: int) -> Tensor:
    """Deal the components out like cards."""
    return joined.unflatten(-1, (-1, num_heads)).permute(0, 3, 1, 2)


def heads_before_batch(joined: Tensor, num_heads: int) -> Tensor:
    """Put the axis of heads first."""
    return my_split_heads(joined, num_heads).transpose(0, 1)


def keys_standing_up(joined: Tensor, num_heads: int) -> Tensor:
    """Swap the length with the width of a head."""
    return my_split_heads(joined, num_heads).mT


def _by_chunks(joined: Tensor, num_heads: int) -> Tensor:
    """Cut the width in pieces, and lay them on one another."""
    return torch.stack(joined.chunk(num_heads, dim=-1), dim=1)


split_heads = Exercise(
    my_split_heads,
    minutes=10,
    difficulty="medium",
    hints=(
        "Look at the picture of the split: each head takes a piece of the *width*, with all "
        "tokens in it.",
        "First make two axes of the last one, (num_heads, d_k): joined.unflatten(-1, ...). "
        "Where does the axis of heads stand now, and where should it?",
        "After unflatten it is (batch, length, num_heads, d_k): transpose axes 1 and 2.",
    ),
    worked=[
        (
            (torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]), 2),
            torch.tensor([[[[1.0], [3.0]], [[2.0], [4.0]]]]),
        )
    ],
    cases=[
        (torch.arange(1.0, 1 + batch * length * num_heads * d_k).reshape(batch, length, -1), heads)
        for batch, length, num_heads, d_k in (
            (1, 1, 2, 2),
            (1, 2, 2, 2),
            (2, 3, 2, 2),
            (2, 3, 5, 7),
        )
        for heads in (num_heads, 1)
    ],
    expected=_by_chunks,
    wrong=[
        Wrong(
            reshaped_at_once,
            "The shape is right and the content is not: `reshape` fills the new shape in the "
            "order of memory, and so mixes tokens with heads. Split the width first.",
        ),
        Wrong(
            not_transposed,
            "You have (batch, length, num_heads, d_k): the heads are split, and each token has "
            "its own. Two axes are still in the wrong order.",
        ),
        Wrong(
            every_second_component,
            "Your first head takes every num_heads-th component. The projection lays the heads "
            "*side by side*: the first d_k components are head 1.",
        ),
        Wrong(
            heads_before_batch,
            "The axis of heads stands before the batch. Masks of shape (batch, 1, ...) would "
            "then meet the wrong axis.",
        ),
        Wrong(
            keys_standing_up,
            "Length and d_k have changed places: that is the transposition of Eq. 1, and it is "
            "for the keys alone, later.",
        ),
    ],
)
