"""An exercise of lesson 02: scaled dot-product attention with a mask (§3.2.1, Eq. 1)."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from lessonkit.exercises.asking import read_words
from lessonkit.exercises.check import Exercise

words = read_words("02")


def my_scaled_attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """Average the values, weighted by how well each key fits the query."""
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    scores = scores.masked_fill(~mask, -math.inf)
    return scores.softmax(dim=-1) @ value


def softmax_over_queries(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """Let the queries share out each key."""
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    return scores.masked_fill(~mask, -math.inf).softmax(dim=-2) @ value


def mask_forgotten(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """Let every query attend to everything."""
    return my_scaled_attention(query, key, value, torch.ones_like(mask))


def mask_inverted(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """Take True for "may not"."""
    return my_scaled_attention(query, key, value, ~mask)


def mask_inverted_and_finite(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """Take True for "may not", with a large number in the place of infinity."""
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    return scores.masked_fill(mask, -1e9).softmax(dim=-1) @ value


def mask_after_softmax(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """Strike out weights that have taken their share already."""
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    return (scores.softmax(dim=-1) * mask) @ value


def masked_with_zero(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """Set a forbidden score to 0, which is a score like any other."""
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    return scores.masked_fill(~mask, 0.0).softmax(dim=-1) @ value


def divided_by_d_k(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """Forget the root."""
    return my_scaled_attention(query / math.sqrt(query.shape[-1]), key, value, mask)


def unscaled(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """Leave the dot products as they are."""
    return my_scaled_attention(query * math.sqrt(query.shape[-1]), key, value, mask)


def keys_not_transposed(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """Multiply by the keys as they lie."""
    return my_scaled_attention(query, key.mT, value, mask)


def _by_torch(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(query, key, value, mask)


def _attention_cases() -> list[tuple[Tensor, Tensor, Tensor, Tensor]]:
    """One head and several; in each row of a mask one key is open and, mostly, one is shut."""
    generator = torch.Generator().manual_seed(0)
    cases = []
    for shape, q_len, k_len, d_k, d_v in (
        ((), 1, 2, 2, 1),
        ((), 2, 2, 2, 1),
        ((), 2, 3, 3, 1),
        ((), 3, 2, 5, 3),
        ((2, 3), 5, 7, 4, 2),
    ):
        query, key, value = (
            torch.randn(*shape, *size, generator=generator).round(decimals=1)
            for size in ((q_len, d_k), (k_len, d_k), (k_len, d_v))
        )
        mask = torch.rand(*shape, q_len, k_len, generator=generator) < 0.6
        mask[..., 0], mask[..., -1] = True, False
        cases += [(query, key, value, mask), (query, key, value, ~mask.flip(-1))]
        cases.append((query, key, value, torch.ones_like(mask)))
    low = torch.tensor([[-60.0], [-61.0], [0.0]])  # what is open scores far below what is shut
    query, value = torch.tensor([[1.0]]), torch.tensor([[4.0], [8.0], [2.0]])
    return [*cases, (query, low, value, torch.tensor([[True, True, False]]))]


scaled_attention = Exercise(
    my_scaled_attention,
    words,
    worked=[
        (  # one key is open: its value comes out, whatever the scores
            (
                torch.tensor([[1.0, 0.0]]),
                torch.tensor([[5.0, 1.0], [9.0, 2.0]]),
                torch.tensor([[3.0], [7.0]]),
                torch.tensor([[True, False]]),
            ),
            torch.tensor([[3.0]]),
        ),
        (  # scores 2 ln 3 / 2 = ln 3 and 0, the others shut: weights 3/4 and 1/4
            (
                torch.tensor([[2 * math.log(3), 0.0, 0.0, 0.0]]),
                torch.eye(4),
                torch.tensor([[4.0], [8.0], [5.0], [7.0]]),
                torch.tensor([[True, True, False, False]]),
            ),
            torch.tensor([[5.0]]),
        ),
    ],
    cases=_attention_cases(),
    expected=_by_torch,
    wrong={
        "softmax_over_queries": softmax_over_queries,
        "mask_forgotten": mask_forgotten,
        "mask_inverted": mask_inverted,
        "mask_inverted_and_finite": mask_inverted_and_finite,
        "mask_after_softmax": mask_after_softmax,
        "masked_with_zero": masked_with_zero,
        "divided_by_d_k": divided_by_d_k,
        "unscaled": unscaled,
        "keys_not_transposed": keys_not_transposed,
    },
)
