"""Scaled dot-product and multi-head attention (§3.2), with a cache for decoding.

The explicit path follows Eq. 1 line by line and returns the weights. Unless they are asked for,
PyTorch's own `scaled_dot_product_attention` computes the same output, usually faster.
"""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.config import MAX_DIMENSION, ModelConfig
from transformer.kernels import is_fused_attention_slow
from transformer.support.checks import (
    check_float_tensor,
    check_hidden_states,
    check_mask,
    check_num_elements,
    check_number,
    check_same_batch_size,
    check_sizes,
)
from transformer.support.signatures import check_argument_types


@check_argument_types
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    dropout: Callable[[Tensor], Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    """Average the values, weighted by the dot product of query and key (§3.2.1, Eq. 1).

    Args:
        query: (batch, num_heads, q_len, d_k)
        key: (batch, num_heads, k_len, d_k)
        value: (batch, num_heads, k_len, d_v)
        mask: Boolean, True = may attend, broadcastable to (batch, num_heads, q_len, k_len).
        dropout: Applied to the weights before they meet the values.

    Returns:
        The output (batch, num_heads, q_len, d_v), and the weights before dropout
        (batch, num_heads, q_len, k_len): each row sums to 1. A query that may attend to nothing
        has weights 0 and output 0.
    """
    check_float_tensor("query", query, (..., None, None))
    *batch, q_len, d_k = query.shape
    check_float_tensor("key", key, (*batch, None, d_k), query)
    check_float_tensor("value", value, (*batch, key.shape[-2], None), query)
    if mask is not None:
        check_mask(mask, (*batch, q_len, key.shape[-2]))
    scores = query @ key.transpose(-2, -1)  # (batch, num_heads, q_len, k_len)
    scores = scores / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = scores.softmax(dim=-1)
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)  # a row of -inf alone gives NaN
    dropped = weights if dropout is None else dropout(weights)
    return dropped @ value, weights  # (batch, num_heads, q_len, d_v)


class TensorCache:
    """Tensors that a module keeps from step to step while decoding (not in the paper)."""

    tensors: tuple[Tensor, ...] = ()  # the first axis of each is the batch

    def select(self, rows: Tensor) -> None:
        """Keep, repeat or reorder rows of the batch, (new_batch,), as beam search does."""
        self.tensors = tuple(tensor[rows] for tensor in self.tensors)


class KeyValueCache(TensorCache):
    """Keys and values that one attention has computed, (batch, num_heads, k_len, d_k or d_v).

    Self-attention grows its cache by a position a step; cross-attention fills it once.
    """

    @property
    def length(self) -> int:
        """Number of positions so far, k_len."""
        return self.tensors[0].shape[2] if self.tensors else 0

    def append(self, keys: Tensor, values: Tensor) -> tuple[Tensor, ...]:
        """Add positions, and return all keys and values so far."""
        if self.tensors:
            check_same_batch_size("cache", self.tensors[0], "query", keys)
            pairs = zip(self.tensors, (keys, values), strict=True)
            keys, values = (torch.cat(pair, dim=2) for pair in pairs)
        self.tensors = keys, values
        return self.tensors


class MultiHeadAttention(nn.Module):
    """Several attentions side by side, each in its own projection (§3.2.2).

    Args:
        d_model: Width of the input and of the output.
        num_heads: h in the paper.
        d_k, d_v: Width of a head's queries and keys, and of its values.
        dropout: Probability of dropping an attention weight.
        bias: Whether the four projections have biases; the paper's have none.
    """

    @check_argument_types
    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_k: int,
        d_v: int,
        dropout: float = 0.0,
        bias: bool = False,
    ) -> None:
        super().__init__()
        check_sizes(MAX_DIMENSION, d_model=d_model, num_heads=num_heads, d_k=d_k, d_v=d_v)
        check_num_elements(d_model=d_model, num_heads=num_heads, d_k_or_d_v=max(d_k, d_v))
        check_number("dropout", dropout, 0, 1)
        self.d_model, self.num_heads = d_model, num_heads
        self.query_projection = nn.Linear(d_model, num_heads * d_k, bias)
        self.key_projection = nn.Linear(d_model, num_heads * d_k, bias)
        self.value_projection = nn.Linear(d_model, num_heads * d_v, bias)
        self.output_projection = nn.Linear(num_heads * d_v, d_model, bias)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        query: Tensor,
        memory: Tensor | None = None,
        mask: Tensor | None = None,
        cache: KeyValueCache | None = None,
        return_weights: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend from each position of `query` to the positions of `memory`.

        Args:
            query: (batch, q_len, d_model)
            memory: What keys and values are projected from, (batch, k_len, d_model): the encoder's
                output in cross-attention; None, in self-attention, means `query`.
            mask: Boolean, True = may attend, broadcastable to (batch, num_heads, q_len, k_len).
            cache: Self-attention appends the new positions to it; cross-attention fills it once
                and then reads it.
            return_weights: Whether to compute and return the weights (Eq. 1, line by line).

        Returns:
            The output (batch, q_len, d_model), and the weights (batch, num_heads, q_len, k_len), or
            None unless asked for.
        """
        queries, keys, values = self.project(query, memory, cache)
        check_same_batch_size("query", query, "memory", keys)
        if mask is not None:
            check_mask(mask, (*queries.shape[:3], keys.shape[2]))
        heads, weights = self.attend(queries, keys, values, mask, return_weights)
        joined = heads.transpose(1, 2).flatten(start_dim=2)  # (batch, q_len, num_heads * d_v)
        return self.output_projection(joined), weights

    def project(
        self, query: Tensor, memory: Tensor | None = None, cache: KeyValueCache | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Project to queries, keys and values; the arguments are those of `forward`.

        They are (batch, num_heads, q_len or k_len, d_k or d_v). Keys and values of earlier steps
        come from the cache, and the new ones are added to it.
        """
        check_hidden_states("query", query, self.d_model, self.query_projection.weight, axes=3)
        queries = self._split_heads(self.query_projection(query))  # (batch, num_heads, q_len, d_k)
        if memory is not None and cache is not None and cache.tensors:
            keys, values = cache.tensors
            return queries, keys, values
        if memory is not None:
            check_hidden_states("memory", memory, self.d_model, self.key_projection.weight, axes=3)
        source = query if memory is None else memory  # (batch, k_len, d_model)
        keys = self._split_heads(self.key_projection(source))  # (batch, num_heads, k_len, d_k)
        values = self._split_heads(self.value_projection(source))  # (batch, num_heads, k_len, d_v)
        if cache is not None:
            keys, values = cache.append(keys, values)
        return queries, keys, values

    def attend(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        mask: Tensor | None,
        return_weights: bool,
    ) -> tuple[Tensor, Tensor | None]:
        """Average the values of what `project` returned, each head by itself (Eq. 1).

        An attention with other scores, say with a bias added to them, overrides this. In
        self-attention the last query stands at the last key's position: query i of q_len is at
        k_len - q_len + i, also where a cache has earlier keys. The average of a query that may
        attend to no key is 0, not nan.

        Returns:
            The heads (batch, num_heads, q_len, d_v), and the weights or None, as of `forward`.
        """
        if return_weights or is_fused_attention_slow(queries):
            heads, weights = scaled_dot_product_attention(queries, keys, values, mask, self.dropout)
            return heads, weights if return_weights else None
        rate = self.dropout.p if self.training else 0.0
        return F.scaled_dot_product_attention(queries, keys, values, mask, rate), None

    def _split_heads(self, joined: Tensor) -> Tensor:
        """(batch, length, num_heads * d) -> (batch, num_heads, length, d)."""
        return joined.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)


@check_argument_types
def make_attention(config: ModelConfig) -> MultiHeadAttention:
    """Make an attention of the configuration's widths (§3.2.2)."""
    return MultiHeadAttention(
        config.d_model,
        config.num_heads,
        config.key_size,
        config.value_size,
        config.attention_dropout,
        config.attention_bias,
    )
