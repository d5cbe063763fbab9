"""A trained model's weights as decoding wants them: fewer, larger products.

Not in the paper. What is here computes what `transformer.layers` computes, to rounding, in fewer
calls: at one token a step a call of PyTorch costs more than the multiplications in it.
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

import torch
from torch import Tensor, nn

from engines.arrays import embedding_tables
from transformer.embeddings import Embedding
from transformer.layers import DecoderLayer, EncoderLayer, Residual


class Linear(NamedTuple):
    """A linear map that lies as the product reads it."""

    weight: Tensor  # (inputs, outputs), contiguous
    bias: Tensor | None  # (outputs,)

    @classmethod
    def of(cls, *linears: nn.Linear) -> Self:
        """Put the outputs of several maps of the same input side by side."""
        weights: list[Tensor] = [linear.weight for linear in linears]
        biases: list[Tensor] = [linear.bias for linear in linears if linear.bias is not None]
        return cls(torch.cat(weights).t().contiguous(), torch.cat(biases) if biases else None)

    def __call__(self, inputs: Tensor) -> Tensor:
        """Map (rows, inputs) to (rows, outputs)."""
        if self.bias is None:
            return inputs.mm(self.weight)
        return torch.addmm(self.bias, inputs, self.weight)

    def added_to(self, hidden: Tensor, inputs: Tensor) -> Tensor:
        """Map (rows, inputs) and add it to `hidden`, (rows, outputs), in the same call."""
        added = torch.addmm(hidden, inputs, self.weight)
        return added if self.bias is None else added.add_(self.bias)


class Norm(NamedTuple):
    """A layer normalisation, and where it stands: before its sub-layer or after the sum."""

    shape: tuple[int, ...]
    weight: Tensor
    bias: Tensor
    eps: float
    pre_norm: bool

    @classmethod
    def of(cls, frame: Residual) -> Self:
        """Take the norm of a sub-layer's frame."""
        norm = frame.norm
        return cls(norm.normalized_shape, norm.weight, norm.bias, norm.eps, frame.pre_norm)

    def __call__(self, hidden: Tensor) -> Tensor:
        """Normalise (rows, d_model)."""
        return torch.layer_norm(hidden, self.shape, self.weight, self.bias, self.eps)

    def before(self, hidden: Tensor) -> Tensor:
        """Give the sub-layer's input."""
        return self(hidden) if self.pre_norm else hidden

    def after(self, hidden: Tensor) -> Tensor:
        """Give the sub-layer's output, its input already added."""
        return hidden if self.pre_norm else self(hidden)


class Attention(NamedTuple):
    """An attention's way in and its way out, with its frame.

    Into queries, keys and values of all heads, side by side; in cross-attention into queries
    alone: `keys_and_values` gives the rest.
    """

    norm: Norm
    into: Linear
    out: Linear  # from the heads, joined

    @classmethod
    def to_itself(cls, layer: EncoderLayer | DecoderLayer) -> Self:
        """Take a layer's self-attention: three projections in one product."""
        mine = layer.self_attention
        into = Linear.of(mine.query_projection, mine.key_projection, mine.value_projection)
        return cls(Norm.of(layer.self_attention_residual), into, Linear.of(mine.output_projection))

    @classmethod
    def across(cls, layer: DecoderLayer) -> Self:
        """Take a layer's cross-attention."""
        cross, norm = layer.cross_attention, Norm.of(layer.cross_attention_residual)
        return cls(norm, Linear.of(cross.query_projection), Linear.of(cross.output_projection))


class FeedForward(NamedTuple):
    """Both linear maps of a layer."""

    norm: Norm
    inner: Linear
    outer: Linear

    @classmethod
    def of(cls, layer: EncoderLayer | DecoderLayer) -> Self:
        """Take a layer's."""
        parts = layer.feed_forward
        norm = Norm.of(layer.feed_forward_residual)
        return cls(norm, Linear.of(parts.inner), Linear.of(parts.outer))

    def __call__(self, hidden: Tensor) -> Tensor:
        """Run the sub-layer with its frame, (rows, d_model)."""
        inner = self.inner(self.norm.before(hidden)).relu_()
        return self.norm.after(self.outer.added_to(hidden, inner))


class Words(NamedTuple):
    """An embedding: rows scaled once, and positions of the same width."""

    table: Tensor  # (vocab_size, d_model)
    positions: Tensor  # (max_len, d_model)
    embedding: Embedding

    @classmethod
    def of(cls, embedding: Embedding) -> Self:
        """Take an embedding's tables."""
        table, positions = embedding_tables(embedding)
        return cls(table * embedding.scale, positions, embedding)

    def __call__(self, ids: Tensor) -> Tensor:
        """Embed (batch, length) ids from position 0 on: (batch, length, d_model)."""
        length = ids.shape[1]
        if length > len(self.positions):
            self.embedding(ids)  # says so
        return nn.functional.embedding(ids, self.table) + self.positions[:length]

    def at(self, ids: Tensor, place: int) -> Tensor:
        """Embed (batch,) ids that all stand at one position: (batch, d_model)."""
        if place >= len(self.positions):
            self.embedding(ids[:, None], place)  # says so
        return self.table.index_select(0, ids) + self.positions[place]


class Softmax:
    """The product before the softmax, the largest of all: half of the work of a step."""

    def __init__(self, linear: nn.Linear) -> None:
        self.linear = Linear.of(linear)
        self.bias = linear.bias
        self.packed: Tensor | None = None
        if torch.backends.mkldnn.is_available():  # oneDNN's own order, many rows at a time
            weight = linear.weight.detach().clone()
            self.packed = torch.ops.mkldnn._reorder_linear_weight(weight, None)

    def __call__(self, hidden: Tensor) -> Tensor:
        """Map (rows, d_model) to logits (rows, vocab_size)."""
        if self.packed is None or len(hidden) == 1:
            return self.linear(hidden)
        logits: Tensor = torch.ops.mkldnn._linear_pointwise(
            hidden, self.packed, self.bias, "none", [], ""
        )
        return logits


def keys_and_values(layers: Sequence[DecoderLayer]) -> Linear:
    """Make one map of the memory to the keys, then the values, of every layer's cross-attention."""
    attentions = [layer.cross_attention for layer in layers]
    return Linear.of(*(p for a in attentions for p in (a.key_projection, a.value_projection)))
