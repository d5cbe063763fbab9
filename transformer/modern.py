"""What models of today have in place of the paper's parts, each passed in by `Parts` (after 2017).

Not in the paper. A recipe names them, `parts = "rotary"`; `PARTS_BY_NAME` says which there are:

    part                   in place of         source
    RMSNorm                LayerNorm           Zhang and Sennrich 2019, arXiv 1910.07467
    RotaryAttention        added positions     Su et al. 2021, arXiv 2104.09864
    GatedFeedForward       ReLU between maps   Shazeer 2020, arXiv 2002.05202
    GroupedQueryAttention  a key for a query   Ainslie et al. 2023, arXiv 2305.13245

Pre-norm, with its norm at the end of each stack, is a setting of `ModelConfig`. A model without an
encoder is another network, not a part: see `transformer.decoder_only`. For today's optimizer and
schedule see `transformer.training.modern`.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer.attention import KeyValueCache, MultiHeadAttention
from transformer.config import MAX_DIMENSION, PAPER_PARTS_NAME, ModelConfig
from transformer.parts import PAPER_PARTS, Parts
from transformer.positions import rotate
from transformer.support.checks import (
    MIN_POSITIVE,
    check_hidden_states,
    check_num_elements,
    check_number,
    check_sizes,
)
from transformer.support.errors import require, unknown_name_error
from transformer.support.signatures import check_argument_types

QUERY_HEADS_PER_KEY_HEAD = 2  # of the parts by name; GroupedQueryAttention takes any number

# --- norm -----------------------------------------------------------------------------------


class RMSNorm(nn.Module):
    """Divide by the root mean square, and multiply by a learned weight: no mean, no bias.

    Its output does not change with the scale of its input. It does change if a number is added to
    all components, unlike LayerNorm's.
    """

    def __init__(self, d_model: int, epsilon: float = 1e-5) -> None:
        super().__init__()
        check_sizes(MAX_DIMENSION, d_model=d_model)
        check_number("epsilon", epsilon, MIN_POSITIVE)
        self.d_model, self.epsilon = d_model, epsilon
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, hidden: Tensor) -> Tensor:
        """Normalize each vector of (..., d_model)."""
        check_hidden_states("hidden", hidden, self.d_model, self.weight)
        mean_square = hidden.square().mean(dim=-1, keepdim=True)  # (..., 1)
        return hidden * (mean_square + self.epsilon).rsqrt() * self.weight


@check_argument_types
def make_rms_norm(config: ModelConfig) -> RMSNorm:
    """Make an RMSNorm of the configuration's width."""
    return RMSNorm(config.d_model)


# --- positions ------------------------------------------------------------------------------


class NoPositions(nn.Module):
    """Leave the words as they are: queries and keys are rotated instead."""

    def forward(self, words: Tensor, start: int = 0) -> Tensor:
        """Return the words, (batch, length, d_model)."""
        return words


@check_argument_types
def make_no_positions(config: ModelConfig) -> NoPositions:
    """Make the positions module of a model whose attention knows the positions."""
    return NoPositions()


class RotaryAttention(MultiHeadAttention):
    """Self-attention whose queries and keys are rotated by their positions (`positions.rotate`).

    The cache holds rotated keys: a key's position is its own, whichever query comes later.
    """

    def project(
        self, query: Tensor, memory: Tensor | None = None, cache: KeyValueCache | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Project as `MultiHeadAttention.project`, with queries and keys rotated."""
        require(
            memory is None,
            "memory is given, and rotary positions are those of one sequence: make the part "
            "`self_attention` of this class, and not `cross_attention`",
        )
        start = 0 if cache is None else cache.length
        queries, keys, values = super().project(query)
        queries, keys = rotate(queries, start), rotate(keys, start)
        if cache is not None:
            keys, values = cache.append(keys, values)
        return queries, keys, values


@check_argument_types
def make_rotary_attention(config: ModelConfig) -> RotaryAttention:
    """Make a self-attention with rotary positions; a UserError unless d_k is even."""
    _check_even_d_k(config)
    return RotaryAttention(
        config.d_model,
        config.num_heads,
        config.key_size,
        config.value_size,
        config.attention_dropout,
        config.attention_bias,
    )


def _check_even_d_k(config: ModelConfig) -> None:
    require(
        config.key_size % 2 == 0,
        f"d_k is {config.key_size}, and rotary positions rotate pairs of components: give an even "
        "d_k",
    )


# --- feed-forward ---------------------------------------------------------------------------


class GatedFeedForward(nn.Module):
    """Three linear maps without biases: outer(silu(gate(x)) * inner(x)), which is called SwiGLU.

    `dropout` falls on the inner activations, (batch, length, d_ff).
    """

    def __init__(self, d_model: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        check_sizes(MAX_DIMENSION, d_model=d_model, d_ff=d_ff)
        check_num_elements(d_model=d_model, d_ff=d_ff)
        check_number("dropout", dropout, 0, 1)
        self.d_model = d_model
        self.gate = nn.Linear(d_model, d_ff, bias=False)
        self.inner = nn.Linear(d_model, d_ff, bias=False)
        self.outer = nn.Linear(d_ff, d_model, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, hidden: Tensor) -> Tensor:
        """Map (batch, length, d_model) to the same shape, each position for itself."""
        check_hidden_states("hidden", hidden, self.d_model, self.inner.weight)
        inner = F.silu(self.gate(hidden)) * self.inner(hidden)  # (batch, length, d_ff)
        return self.outer(self.dropout(inner))  # (batch, length, d_model)


@check_argument_types
def make_gated_feed_forward(config: ModelConfig) -> GatedFeedForward:
    """Make a gated network with as many parameters as the paper's feed-forward network of d_ff.

    The paper's has two matrices and two biases, this one three matrices. Its inner width is the
    whole number that comes nearest, about two thirds of d_ff.
    """
    d_model, d_ff = config.d_model, config.d_ff
    paper_parameters = 2 * d_model * d_ff + d_ff + d_model
    d_ff = max(1, round(paper_parameters / (3 * d_model)))
    return GatedFeedForward(d_model, d_ff, config.feed_forward_dropout)


# --- grouped queries ------------------------------------------------------------------------


class GroupedQueryAttention(MultiHeadAttention):
    """Attention in which several query heads share one head of keys and values.

    The cache is smaller by that factor. With one key head this is multi-query attention (Shazeer
    2019, arXiv 1911.02150), with as many as there are query heads it is the paper's.

    Args:
        num_key_heads: Heads of keys and of values; query heads i * n to i * n + n - 1 share head
            i, where n is num_heads / num_key_heads. The other arguments are those of
            `MultiHeadAttention`.

    Raises:
        UserError: num_key_heads does not divide num_heads.
    """

    @check_argument_types
    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_k: int,
        d_v: int,
        num_key_heads: int,
        dropout: float = 0.0,
        bias: bool = False,
    ) -> None:
        super().__init__(d_model, num_heads, d_k, d_v, dropout, bias)
        check_number("num_key_heads", num_key_heads, 1, num_heads, integer=True)
        require(
            num_heads % num_key_heads == 0,
            f"{num_heads} query heads cannot share {num_key_heads} key heads evenly: give a "
            f"divisor of {num_heads}",
        )
        self.num_key_heads = num_key_heads
        self.key_projection = nn.Linear(d_model, num_key_heads * d_k, bias)
        self.value_projection = nn.Linear(d_model, num_key_heads * d_v, bias)

    def project(
        self, query: Tensor, memory: Tensor | None = None, cache: KeyValueCache | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Project as `MultiHeadAttention.project`, to fewer keys and values.

        They are (batch, num_key_heads, k_len, d_k or d_v), in the cache too.
        """
        check_hidden_states("query", query, self.d_model, self.query_projection.weight, axes=3)
        queries = self._split_heads(self.query_projection(query))  # (batch, num_heads, q_len, d_k)
        if memory is not None and cache is not None and cache.tensors:
            keys, values = cache.tensors
            return queries, keys, values
        if memory is not None:
            check_hidden_states("memory", memory, self.d_model, self.key_projection.weight, axes=3)
        source = query if memory is None else memory  # (batch, k_len, d_model)
        keys = self._split_key_heads(self.key_projection(source))
        values = self._split_key_heads(self.value_projection(source))
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
        """Attend as `MultiHeadAttention.attend`, each group of query heads to its key head."""
        group_size = self.num_heads // self.num_key_heads
        keys = keys.repeat_interleave(group_size, dim=1)  # (batch, num_heads, k_len, d_k)
        values = values.repeat_interleave(group_size, dim=1)  # (batch, num_heads, k_len, d_v)
        return super().attend(queries, keys, values, mask, return_weights)

    def _split_key_heads(self, joined: Tensor) -> Tensor:
        """(batch, length, num_key_heads * d) -> (batch, num_key_heads, length, d)."""
        return joined.unflatten(-1, (self.num_key_heads, -1)).transpose(1, 2)


class RotaryGroupedQueryAttention(RotaryAttention, GroupedQueryAttention):
    """Self-attention with rotary positions whose query heads share key heads."""


@check_argument_types
def make_grouped_query_attention(config: ModelConfig) -> GroupedQueryAttention:
    """Make an attention in which `QUERY_HEADS_PER_KEY_HEAD` query heads share a key head.

    A UserError unless that divides num_heads.
    """
    return GroupedQueryAttention(*_grouped_query_sizes(config))


@check_argument_types
def make_rotary_grouped_query_attention(config: ModelConfig) -> RotaryGroupedQueryAttention:
    """Make the grouped-query attention with rotary positions, for self-attention.

    A UserError unless d_k is even, and as of `make_grouped_query_attention`.
    """
    _check_even_d_k(config)
    return RotaryGroupedQueryAttention(*_grouped_query_sizes(config))


def _grouped_query_sizes(
    config: ModelConfig,
) -> tuple[int, int, int, int, int, float, bool]:
    """Return the arguments of `GroupedQueryAttention` for a configuration."""
    require(
        config.num_heads % QUERY_HEADS_PER_KEY_HEAD == 0,
        f"num_heads is {config.num_heads}, and {QUERY_HEADS_PER_KEY_HEAD} query heads share a key "
        f"head: give a multiple of {QUERY_HEADS_PER_KEY_HEAD}",
    )
    return (
        config.d_model,
        config.num_heads,
        config.key_size,
        config.value_size,
        config.num_heads // QUERY_HEADS_PER_KEY_HEAD,
        config.attention_dropout,
        config.attention_bias,
    )


# --- parts by name --------------------------------------------------------------------------

# What a recipe may name as its `parts`.
PARTS_BY_NAME = {
    PAPER_PARTS_NAME: PAPER_PARTS,
    "rms_norm": Parts(norm=make_rms_norm),
    "rotary": Parts(self_attention=make_rotary_attention, positions=make_no_positions),
    "swiglu": Parts(feed_forward=make_gated_feed_forward),
    "grouped_query": Parts(
        self_attention=make_grouped_query_attention, cross_attention=make_grouped_query_attention
    ),
    "modern": Parts(
        self_attention=make_rotary_grouped_query_attention,
        cross_attention=make_grouped_query_attention,
        feed_forward=make_gated_feed_forward,
        norm=make_rms_norm,
        positions=make_no_positions,
    ),
}


@check_argument_types
def find_parts(name: str) -> Parts:
    """Return the parts of this name; a UserError names the nearest one."""
    if name not in PARTS_BY_NAME:
        raise unknown_name_error("parts", name, PARTS_BY_NAME)
    return PARTS_BY_NAME[name]
