"""A Transformer of one's own, as lessons 02 to 05 write it: about sixty lines (§3).

Its weights have the names that the package's have, so that a trained model's fit. It is
pre-norm like the course's recipes, and has no cache; its dropout is 0 until lesson 06 sets it.
"""

import math

import torch
from torch import nn

from transformer.attention import scaled_dot_product_attention
from transformer.masks import causal_mask, padding_mask
from transformer.positions import sinusoidal_positions


class MyAttention(nn.Module):
    """Multi-head attention (§3.2.2): lesson 02."""

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.query_projection = nn.Linear(d_model, d_model, bias=False)
        self.key_projection = nn.Linear(d_model, d_model, bias=False)
        self.value_projection = nn.Linear(d_model, d_model, bias=False)
        self.output_projection = nn.Linear(d_model, d_model, bias=False)

    def split(self, joined: torch.Tensor) -> torch.Tensor:
        """(batch, length, d_model) -> (batch, num_heads, length, d_k)."""
        return joined.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)

    def forward(
        self, query: torch.Tensor, memory: torch.Tensor, mask: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the output, (batch, q_len, d_model), and every head's weights."""
        queries = self.split(self.query_projection(query))
        keys = self.split(self.key_projection(memory))
        values = self.split(self.value_projection(memory))
        heads, weights = scaled_dot_product_attention(queries, keys, values, mask)
        return self.output_projection(heads.transpose(1, 2).flatten(2)), weights


class MyEmbedding(nn.Module):
    """Scaled token vectors and the waves of their places (§3.4, §3.5): lesson 05."""

    waves: torch.Tensor

    def __init__(self, vocab_size: int, d_model: int, max_len: int = 256) -> None:
        super().__init__()
        self.scale = math.sqrt(d_model)
        self.token = nn.Embedding(vocab_size, d_model)
        waves = sinusoidal_positions(max_len, d_model)
        self.register_buffer("waves", waves, persistent=False)  # no weight

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """(batch, length) -> (batch, length, d_model)."""
        return self.token(ids) * self.scale + self.waves[: ids.shape[1]]


class MyFeedForward(nn.Module):
    """Two linear maps with a ReLU between (§3.3, Eq. 2): lesson 04."""

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.inner = nn.Linear(d_model, d_ff)
        self.outer = nn.Linear(d_ff, d_model)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(batch, length, d_model) -> the same."""
        return self.outer(self.inner(x).relu())


class MyResidual(nn.Module):
    """The residual connection around a sub-layer, norm first: lesson 04."""

    def __init__(self, d_model: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor, sublayer) -> torch.Tensor:  # type: ignore[no-untyped-def]
        """Add to x what a sub-layer makes of its norm, after dropout."""
        return x + self.dropout(sublayer(self.norm(x)))


class MyEncoderLayer(nn.Module):
    """Self-attention, then feed-forward (§3.1): lesson 04."""

    def __init__(self, d_model: int, d_ff: int, num_heads: int) -> None:
        super().__init__()
        self.self_attention = MyAttention(d_model, num_heads)
        self.feed_forward = MyFeedForward(d_model, d_ff)
        self.self_attention_residual = MyResidual(d_model)
        self.feed_forward_residual = MyResidual(d_model)

    def forward(self, x: torch.Tensor, src_mask: torch.Tensor) -> torch.Tensor:
        """(batch, src_len, d_model) -> the same."""
        x = self.self_attention_residual(x, lambda y: self.self_attention(y, y, src_mask)[0])
        return self.feed_forward_residual(x, self.feed_forward)


class MyDecoderLayer(nn.Module):
    """Self-attention, cross-attention, feed-forward (§3.1): lesson 04."""

    def __init__(self, d_model: int, d_ff: int, num_heads: int) -> None:
        super().__init__()
        self.self_attention = MyAttention(d_model, num_heads)
        self.cross_attention = MyAttention(d_model, num_heads)
        self.feed_forward = MyFeedForward(d_model, d_ff)
        self.self_attention_residual = MyResidual(d_model)
        self.cross_attention_residual = MyResidual(d_model)
        self.feed_forward_residual = MyResidual(d_model)

    def forward(
        self, x: torch.Tensor, memory: torch.Tensor, tgt_mask: torch.Tensor, src_mask: torch.Tensor
    ) -> torch.Tensor:
        """(batch, tgt_len, d_model) -> the same."""
        x = self.self_attention_residual(x, lambda y: self.self_attention(y, y, tgt_mask)[0])
        x = self.cross_attention_residual(x, lambda y: self.cross_attention(y, memory, src_mask)[0])
        return self.feed_forward_residual(x, self.feed_forward)


class MyStack(nn.Module):
    """Layers one above another, and the norm that ends a pre-norm stack: lesson 05."""

    def __init__(self, layers: list[nn.Module], d_model: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.norm = nn.LayerNorm(d_model)

    def forward(self, x: torch.Tensor, *context: torch.Tensor) -> torch.Tensor:
        """(batch, length, d_model) -> the same; every layer is given the context."""
        for layer in self.layers:
            x = layer(x, *context)
        return self.norm(x)


class MyTransformer(nn.Module):
    """The whole (§3, Fig. 1), source, target and softmax sharing one matrix: lesson 05."""

    def __init__(
        self, vocab_size: int, d_model: int, d_ff: int, num_heads: int, num_layers: int
    ) -> None:
        super().__init__()
        sizes = (d_model, d_ff, num_heads)
        self.src_embedding = self.tgt_embedding = MyEmbedding(vocab_size, d_model)
        self.encoder = MyStack([MyEncoderLayer(*sizes) for _ in range(num_layers)], d_model)
        self.decoder = MyStack([MyDecoderLayer(*sizes) for _ in range(num_layers)], d_model)
        self.output = nn.Linear(d_model, vocab_size, bias=False)
        self.output.weight = self.tgt_embedding.token.weight

    def encode(self, src: torch.Tensor, src_mask: torch.Tensor) -> torch.Tensor:
        """(batch, src_len) -> memory, (batch, src_len, d_model)."""
        return self.encoder(self.src_embedding(src), src_mask)

    def decode(
        self, tgt_in: torch.Tensor, memory: torch.Tensor, src_mask: torch.Tensor, cache: None = None
    ) -> torch.Tensor:
        """(batch, tgt_len) -> logits, (batch, tgt_len, vocab_size); it keeps no cache."""
        tgt_mask = causal_mask(tgt_in.shape[1], device=tgt_in.device)
        x = self.tgt_embedding(tgt_in)
        return self.output(self.decoder(x, memory, tgt_mask, src_mask))

    def forward(self, src: torch.Tensor, tgt_in: torch.Tensor) -> torch.Tensor:
        """(batch, src_len), (batch, tgt_len) -> logits, (batch, tgt_len, vocab_size)."""
        src_mask = padding_mask(src)
        return self.decode(tgt_in, self.encode(src, src_mask), src_mask)
