"""Faults within attention, and in what it is given (§3.2).

Each class stands in place of the sound one that it inherits from: read it beside
`transformer.attention` and `explicit.ExplicitAttention`.
"""

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lessonkit.museum.explicit import ExplicitAttention
from lessonkit.museum.specimen import Specimen, attentions, turn, turned
from transformer.attention import KeyValueCache, MultiHeadAttention
from transformer.layers import DecoderLayer
from transformer.model import Decoder, Encoder, Transformer

Mask = Tensor | None


class OverQueries(ExplicitAttention):
    """Normalises over the queries: each column sums to one, each row to anything."""

    def weigh(self, scores: Tensor, mask: Mask) -> Tensor:
        """Take dim=-2 for dim=-1."""
        hidden = scores if mask is None else scores.masked_fill(~mask, -math.inf)
        return hidden.softmax(dim=-2).nan_to_num(0.0)


class OverHeads(ExplicitAttention):
    """Normalises over the heads: they compete, the keys do not."""

    def weigh(self, scores: Tensor, mask: Mask) -> Tensor:
        """Take dim=1 for dim=-1."""
        hidden = scores if mask is None else scores.masked_fill(~mask, -math.inf)
        return hidden.softmax(dim=1).nan_to_num(0.0)


class OverBatch(ExplicitAttention):
    """Normalises over the sentences of the batch."""

    def weigh(self, scores: Tensor, mask: Mask) -> Tensor:
        """Take dim=0 for dim=-1."""
        hidden = scores if mask is None else scores.masked_fill(~mask, -math.inf)
        return hidden.softmax(dim=0).nan_to_num(0.0)


class Unscaled(ExplicitAttention):
    """Leaves out the root of d_k."""

    def score(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Multiply, and do not divide."""
        return queries @ keys.transpose(-2, -1)


class ScaledTwice(ExplicitAttention):
    """Divides by the root of d_k twice."""

    def score(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Divide by d_k."""
        return queries @ keys.transpose(-2, -1) / queries.shape[-1]


class ScaledByWidth(ExplicitAttention):
    """Divides by the root of d_model, which is the heads' widths together."""

    def score(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Take d_model for d_k."""
        d_model = self.num_heads * queries.shape[-1]
        return queries @ keys.transpose(-2, -1) / math.sqrt(d_model)


class HeadsMerged(MultiHeadAttention):
    """Joins heads by a reshape alone: positions and heads change places."""

    @staticmethod
    def _join_heads(heads: Tensor) -> Tensor:
        """Forget to transpose (batch, num_heads, length, d) before flattening it."""
        batch, num_heads, length, width = heads.shape
        return heads.reshape(batch, length, num_heads * width)


class HeadsSplit(MultiHeadAttention):
    """Splits heads by a view alone: a head is some of the positions, not some of the width."""

    def _split_heads(self, joined: Tensor) -> Tensor:
        """View (batch, length, num_heads * d) as (batch, num_heads, length, d)."""
        return joined.reshape(len(joined), self.num_heads, joined.shape[1], -1)


class OwnValue(MultiHeadAttention):
    """Returns each position's own value, projected: the weights sum to one, and are lost.

    Where the values carry the queries' index, the sum over the keys is of the weights alone.
    """

    def forward(
        self, query: Tensor, memory: Mask = None, mask: Mask = None, *rest: Any, **named: Any
    ) -> Any:
        """Project what came in, twice."""
        weights = super().forward(query, memory, mask, *rest, **named)[1]
        return self.output_projection(self.value_projection(query)), weights


class Lost(MultiHeadAttention):
    """Computes the attention, and gives nothing of it."""

    def forward(
        self, query: Tensor, memory: Mask = None, mask: Mask = None, *rest: Any, **named: Any
    ) -> Any:
        """Give zeros: the residual connection hands on what the layer began with."""
        output, weights = super().forward(query, memory, mask, *rest, **named)
        return torch.zeros_like(output), weights


class Itself(MultiHeadAttention):
    """Is called with the target where the memory should be."""

    def forward(
        self,
        query: Tensor,
        memory: Mask = None,
        mask: Mask = None,
        cache: KeyValueCache | None = None,
        return_weights: bool = False,
    ) -> tuple[Tensor, Mask]:
        """Take keys and values from the queries' side, each position its own."""
        alone = torch.eye(query.shape[1], dtype=torch.bool, device=query.device)
        return super().forward(query, query, alone, None, return_weights)


class WithoutCross(DecoderLayer):
    """Has no cross-attention to train."""

    def forward(self, hidden: Tensor, memory: Tensor, tgt_mask: Mask, *rest: Any) -> Any:
        """Run the layer as one of a language model."""
        _, cache, return_weights = (*rest, None, None)[:3]
        past = None if cache is None else cache[0]
        frame = self.self_attention_residual
        output, weights = self.self_attention(
            frame.before(hidden), None, tgt_mask, past, bool(return_weights)
        )
        hidden = frame.after(hidden, output)
        frame = self.feed_forward_residual
        hidden = frame.after(hidden, self.feed_forward(frame.before(hidden)))
        return hidden, weights, None


class LowestMemory(Encoder):
    """Hands the first layer's output to the decoder; those above run for nothing."""

    def forward(self, hidden: Tensor, mask: Tensor, return_weights: bool = False) -> Any:
        """Keep the first output, and the weights of all."""
        first = self.norm(self.layers[0](hidden, mask)[0])
        return first, super().forward(hidden, mask, return_weights)[1]


class Detached(Decoder):
    """Cuts the gradient between the decoder and the encoder."""

    def forward(self, hidden: Tensor, memory: Tensor, *rest: Any, **named: Any) -> Any:
        """Read the memory as if it were data."""
        return super().forward(hidden, memory.detach(), *rest, **named)


class AlwaysDropped(ExplicitAttention):
    """Drops attention weights in evaluation too."""

    def weigh(self, scores: Tensor, mask: Mask) -> Tensor:
        """Call F.dropout, which takes training=True for granted."""
        return F.dropout(super().weigh(scores, mask), 0.1)


def return_own_value(model: Transformer) -> None:
    """Let each position of every self-attention return its own value, projected."""
    turn(model.encoder, MultiHeadAttention, OwnValue)
    for attention in attentions(model, "self_attention"):
        turn(attention, MultiHeadAttention, OwnValue)


def lose_self_attention(model: Transformer) -> None:
    """Give the decoder's cross-attention what the layer began with, not self-attention's output."""
    for attention in attentions(model, "self_attention"):
        turn(attention, MultiHeadAttention, Lost)


def share_projection(model: Transformer) -> None:
    """Make one projection of queries, keys and values, in every attention."""
    for module in model.modules():
        if isinstance(module, MultiHeadAttention):
            module.key_projection = module.value_projection = module.query_projection


def attend_to_the_target(model: Transformer) -> None:
    """Give cross-attention the target in place of the memory."""
    for attention in attentions(model, "cross_attention"):
        turn(attention, MultiHeadAttention, Itself)


def leave_cross_attention_empty(model: Transformer) -> None:
    """Set every matrix of cross-attention to zero, as memory that nobody drew may be."""
    for attention in attentions(model, "cross_attention"):
        for parameter in attention.parameters():
            nn.init.zeros_(parameter)


def _specimen(name: str, about: str, **rest: Any) -> Specimen:
    return Specimen(name=name, about=about, group="attention", **rest)


SPECIMENS = (
    _specimen(
        "softmax_over_queries",
        "the softmax is over the queries, not the keys",
        alter=turned(MultiHeadAttention, OverQueries),
        source="homework",
        trains=True,
    ),
    _specimen(
        "softmax_over_heads",
        "the softmax is over the heads",
        alter=turned(MultiHeadAttention, OverHeads),
    ),
    _specimen(
        "softmax_over_the_batch",
        "the softmax is over the sentences of the batch",
        alter=turned(MultiHeadAttention, OverBatch),
        source="https://github.com/jadore801120/attention-is-all-you-need-pytorch/issues/19 "
        "(named there as easy to do)",
    ),
    _specimen(
        "scale_missing",
        "scores are not divided by the root of d_k",
        alter=turned(MultiHeadAttention, Unscaled),
        trains=True,
    ),
    _specimen(
        "scale_doubled",
        "scores are divided by the root of d_k twice",
        alter=turned(MultiHeadAttention, ScaledTwice),
    ),
    _specimen(
        "scale_of_d_model",
        "scores are divided by the root of d_model, not of d_k",
        alter=turned(MultiHeadAttention, ScaledByWidth),
    ),
    _specimen(
        "heads_merged_without_transpose",
        "heads are joined by a reshape alone, which mixes positions",
        alter=turned(MultiHeadAttention, HeadsMerged),
    ),
    _specimen(
        "heads_split_by_a_view",
        "heads are split by a view alone: each gets some of the positions",
        alter=turned(MultiHeadAttention, HeadsSplit),
    ),
    _specimen(
        "own_value",
        "self-attention returns its own input, projected: the weights are lost in the sum",
        alter=return_own_value,
        source="homework",
    ),
    _specimen(
        "self_attention_lost",
        "the decoder's self-attention is computed, and the layer goes on with its input",
        alter=lose_self_attention,
        source="homework",
    ),
    _specimen(
        "one_projection",
        "queries, keys and values share one projection",
        alter=share_projection,
        source="homework",
    ),
    _specimen(
        "cross_attention_on_the_target",
        "cross-attention is given the target in place of the memory",
        alter=attend_to_the_target,
    ),
    _specimen(
        "cross_attention_left_out",
        "the decoder's layers have no cross-attention that is called",
        alter=turned(DecoderLayer, WithoutCross),
        source="https://github.com/huggingface/transformers/pull/4680",
        trains=True,
    ),
    _specimen(
        "cross_attention_zero",
        "cross-attention's matrices were never drawn: all zero, they get no gradient either",
        alter=leave_cross_attention_empty,
    ),
    _specimen(
        "memory_of_the_first_layer",
        "the decoder reads the encoder's first layer, and the others run for nothing",
        alter=turned(Encoder, LowestMemory),
    ),
    _specimen(
        "memory_detached",
        "the memory is detached, so that the encoder learns nothing",
        alter=turned(Decoder, Detached),
        trains=True,
    ),
    _specimen(
        "attention_dropout_always_on",
        "attention weights are dropped by a bare F.dropout, in evaluation too",
        alter=turned(MultiHeadAttention, AlwaysDropped),
        source="annotated",
        trains=True,
    ),
)
