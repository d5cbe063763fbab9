"""An exercise of lesson 02: multi-head attention, from the projections to the output (§3.2.2)."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from lessonkit.exercises.asking import read_words
from lessonkit.exercises.check import Exercise
from lessonkit.exercises.outcome import WithoutFunctions

words = read_words("02")

Weights = tuple[Tensor, Tensor, Tensor, Tensor]  # of queries, keys, values, and the output
OF_PYTORCH = F.scaled_dot_product_attention, F.multi_head_attention_forward


def my_multi_head(
    query: Tensor, memory: Tensor, weights: Weights, num_heads: int, mask: Tensor
) -> Tensor:
    """Attend from (batch, q_len, d_model) to (batch, k_len, d_model)."""
    w_q, w_k, w_v, w_o = weights
    heads = []
    for joined in (query @ w_q, memory @ w_k, memory @ w_v):
        heads.append(joined.unflatten(-1, (num_heads, -1)).transpose(1, 2))
    queries, keys, values = heads
    scores = queries @ keys.mT / math.sqrt(queries.shape[-1])
    shares = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)
    joined = (shares @ values).transpose(1, 2).flatten(start_dim=2)
    return joined @ w_o


def _split(joined: Tensor, num_heads: int) -> Tensor:
    return torch.stack(joined.chunk(num_heads, dim=-1), dim=1)


def _reshaped(joined: Tensor, num_heads: int) -> Tensor:
    return joined.reshape(len(joined), num_heads, joined.shape[1], -1)


def _dealt(joined: Tensor, num_heads: int) -> Tensor:
    return joined.unflatten(-1, (-1, num_heads)).permute(0, 3, 1, 2)


def _attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    return scores.masked_fill(~mask, -math.inf).softmax(dim=-1) @ value


def _mixed(
    split: Callable[[Tensor, int], Tensor],
    query: Tensor,
    memory: Tensor,
    weights: Weights,
    num_heads: int,
    mask: Tensor,
) -> Tensor:
    """Give what each head mixes, (batch, num_heads, q_len, d_v), its parts split so."""
    w_q, w_k, w_v, _ = weights
    queries, keys, values = (
        split(joined, num_heads) for joined in (query @ w_q, memory @ w_k, memory @ w_v)
    )
    return _attend(queries, keys, values, mask)


def split_by_reshape(
    query: Tensor, memory: Tensor, weights: Weights, num_heads: int, mask: Tensor
) -> Tensor:
    """Cut the memory in the order of the new shape."""
    mixed = _mixed(_reshaped, query, memory, weights, num_heads, mask)
    return mixed.transpose(1, 2).flatten(2) @ weights[3]


def dealt_out(
    query: Tensor, memory: Tensor, weights: Weights, num_heads: int, mask: Tensor
) -> Tensor:
    """Deal the components out to the heads like cards."""
    mixed = _mixed(_dealt, query, memory, weights, num_heads, mask)
    return mixed.transpose(1, 2).flatten(2) @ weights[3]


def joined_by_reshape(
    query: Tensor, memory: Tensor, weights: Weights, num_heads: int, mask: Tensor
) -> Tensor:
    """Join the heads without bringing tokens and heads back into order."""
    mixed = _mixed(_split, query, memory, weights, num_heads, mask)
    return mixed.reshape(*query.shape[:2], -1) @ weights[3]


def one_wide_head(
    query: Tensor, memory: Tensor, weights: Weights, num_heads: int, mask: Tensor
) -> Tensor:
    """Split nothing."""
    return my_multi_head(query, memory, weights, 1, mask)


def scaled_by_full_width(
    query: Tensor, memory: Tensor, weights: Weights, num_heads: int, mask: Tensor
) -> Tensor:
    """Divide by the root of all heads' width together."""
    narrower = (weights[0] / math.sqrt(num_heads), *weights[1:])
    return my_multi_head(query, memory, narrower, num_heads, mask)


def unscaled(
    query: Tensor, memory: Tensor, weights: Weights, num_heads: int, mask: Tensor
) -> Tensor:
    """Leave the dot products as they are."""
    wider = (weights[0] * math.sqrt(weights[0].shape[1] // num_heads), *weights[1:])
    return my_multi_head(query, memory, wider, num_heads, mask)


def attends_to_itself(
    query: Tensor, memory: Tensor, weights: Weights, num_heads: int, mask: Tensor
) -> Tensor:
    """Make keys and values of the query as well."""
    return my_multi_head(query, query, weights, num_heads, mask)


def mask_inverted(
    query: Tensor, memory: Tensor, weights: Weights, num_heads: int, mask: Tensor
) -> Tensor:
    """Take True for "may not"."""
    return my_multi_head(query, memory, weights, num_heads, ~mask)


def never_projected_back(
    query: Tensor, memory: Tensor, weights: Weights, num_heads: int, mask: Tensor
) -> Tensor:
    """Stop at the concatenation."""
    as_it_is = (*weights[:3], torch.eye(len(weights[3])))
    return my_multi_head(query, memory, as_it_is, num_heads, mask)


def _head_by_head(
    query: Tensor, memory: Tensor, weights: Weights, num_heads: int, mask: Tensor
) -> Tensor:
    """Let PyTorch attend with each head alone; add up what each gives through its rows of W^O."""
    to_query, to_key, to_value = (each.chunk(num_heads, dim=1) for each in weights[:3])
    given = [
        F.scaled_dot_product_attention(query @ q, memory @ k, memory @ v, mask[:, 0]) @ o
        for q, k, v, o in zip(to_query, to_key, to_value, weights[3].chunk(num_heads), strict=True)
    ]
    return torch.stack(given).sum(dim=0)


Case = tuple[Tensor, Tensor, Weights, int, Tensor]


def _heads_cases() -> list[Case]:
    """One head and more, self-attention and not; masks of padding and of each query's own."""
    generator = torch.Generator().manual_seed(0)

    def draw(*size: int) -> Tensor:
        return torch.randn(size, generator=generator).round(decimals=1)

    cases: list[Case] = []
    for batch, q_len, k_len, d_model, num_heads, d_k, d_v in (
        (1, 1, 2, 2, 1, 2, 2),
        (1, 1, 1, 2, 2, 1, 1),
        (1, 2, 2, 2, 2, 2, 2),
        (1, 3, 2, 4, 2, 2, 2),
        (2, 3, 5, 7, 3, 2, 5),
    ):
        w_q, w_k, w_v = (draw(d_model, num_heads * size) for size in (d_k, d_k, d_v))
        weights = (w_q, w_k, w_v, draw(num_heads * d_v, d_model))
        query, memory = draw(batch, q_len, d_model), draw(batch, k_len, d_model)
        padding = torch.ones(batch, 1, 1, k_len, dtype=torch.bool)
        padding[-1, ..., 1:] = False
        own = torch.rand(batch, 1, q_len, k_len, generator=generator) < 0.5
        own[..., 0] |= ~own.any(dim=-1)
        for mask in (padding, own):
            cases.append((query, memory, weights, num_heads, mask))
    return cases


_EYE = torch.eye(2)
_ASKS, _TOLD = torch.tensor([[[math.log(3), 0.0]]]), torch.tensor([[[1.0, 5.0], [0.0, 7.0]]])
_BOTH, _FIRST = torch.tensor([[[[True, True]]]]), torch.tensor([[[[True, False]]]])

multi_head = Exercise(
    my_multi_head,
    words,
    worked=[
        # head 1 has scores ln 3 and 0, so weights 3/4 and 1/4 of 1 and 0; head 2 the mean of 5, 7
        (
            (_ASKS, _TOLD, (_EYE, _EYE, _EYE, _EYE), 2, _BOTH),
            torch.tensor([[[0.75, 6.0]]]),
        ),
        # only the first may be seen; w_o exchanges the two heads
        (
            (_ASKS, _TOLD, (_EYE, _EYE, _EYE, _EYE.flip(0)), 2, _FIRST),
            torch.tensor([[[5.0, 1.0]]]),
        ),
    ],
    cases=_heads_cases(),
    expected=_head_by_head,
    rules=(lambda: WithoutFunctions(*OF_PYTORCH),),
    wrong={
        "split_by_reshape": split_by_reshape,
        "dealt_out": dealt_out,
        "joined_by_reshape": joined_by_reshape,
        "one_wide_head": one_wide_head,
        "scaled_by_full_width": scaled_by_full_width,
        "unscaled": unscaled,
        "attends_to_itself": attends_to_itself,
        "mask_inverted": mask_inverted,
        "never_projected_back": never_projected_back,
    },
)
