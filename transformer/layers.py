"""What the two stacks are built of (§3.1, §3.3)."""

from torch import Tensor, nn

from transformer.attention import KeyValueCache, MultiHeadAttention
from transformer.config import MAX_DIMENSION, ModelConfig
from transformer.dropout import Dropout
from transformer.support.checks import check_float_tensor, check_hidden, check_sizes


class FeedForward(nn.Module):
    """Two linear maps with a ReLU between, the same at every position (§3.3, Eq. 2).

    `dropout` falls on the inner activations, (batch, length, d_ff); the paper has none.
    """

    def __init__(self, d_model: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        check_sizes(MAX_DIMENSION, d_model=d_model, d_ff=d_ff)
        self.d_model = d_model
        self.inner = nn.Linear(d_model, d_ff)
        self.outer = nn.Linear(d_ff, d_model)
        self.dropout = Dropout(dropout)

    def forward(self, hidden: Tensor) -> Tensor:
        """Map (batch, length, d_model) to the same shape, each position for itself."""
        check_hidden("hidden", hidden, self)
        inner = self.inner(hidden).relu()  # (batch, length, d_ff)
        return self.outer(self.dropout(inner))  # (batch, length, d_model)


class Residual(nn.Module):
    """The frame around a sub-layer: residual sum, dropout, layer normalisation (§3.1, §5.4).

    Post-norm, the paper's: LayerNorm(x + Dropout(sublayer(x))).
    Pre-norm, not in the paper (Xiong et al. 2020): x + Dropout(sublayer(LayerNorm(x))).
    A sub-layer stands between two calls: `output = sublayer(frame.before(hidden))`, then
    `hidden = frame.after(hidden, output)`.
    """

    def __init__(self, d_model: int, dropout: float, pre_norm: bool) -> None:
        super().__init__()
        check_sizes(MAX_DIMENSION, d_model=d_model)
        self.d_model = d_model
        self.norm = nn.LayerNorm(d_model)
        self.dropout = Dropout(dropout)
        self.pre_norm = pre_norm

    def before(self, hidden: Tensor) -> Tensor:
        """Give the sub-layer's input, (batch, length, d_model)."""
        if not self.pre_norm:
            return hidden
        check_hidden("hidden", hidden, self)
        return self.norm(hidden)

    def after(self, hidden: Tensor, output: Tensor) -> Tensor:
        """Add the sub-layer's output to what went in, both (batch, length, d_model)."""
        check_hidden("hidden", hidden, self)
        check_float_tensor("output", output, hidden.shape, hidden)
        hidden = hidden + self.dropout(output)
        return hidden if self.pre_norm else self.norm(hidden)


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


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward (§3.1, left half of Fig. 1)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention = make_attention(config)
        self.feed_forward = FeedForward(config.d_model, config.d_ff, config.feed_forward_dropout)
        self.self_attention_residual = Residual(config.d_model, config.dropout, config.pre_norm)
        self.feed_forward_residual = Residual(config.d_model, config.dropout, config.pre_norm)

    def forward(
        self, hidden: Tensor, mask: Tensor, return_weights: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """Run (batch, src_len, d_model) through the layer; the mask as of `padding_mask`.

        Gives the weights, (batch, num_heads, src_len, src_len), too where they are asked for.
        """
        frame = self.self_attention_residual
        inputs = frame.before(hidden)
        output, weights = self.self_attention(inputs, mask=mask, return_weights=return_weights)
        hidden = frame.after(hidden, output)
        frame = self.feed_forward_residual
        return frame.after(hidden, self.feed_forward(frame.before(hidden))), weights


class DecoderLayer(nn.Module):
    """Self-attention, cross-attention, feed-forward (§3.1, right half of Fig. 1)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention = make_attention(config)
        self.cross_attention = make_attention(config)
        self.feed_forward = FeedForward(config.d_model, config.d_ff, config.feed_forward_dropout)
        self.self_attention_residual = Residual(config.d_model, config.dropout, config.pre_norm)
        self.cross_attention_residual = Residual(config.d_model, config.dropout, config.pre_norm)
        self.feed_forward_residual = Residual(config.d_model, config.dropout, config.pre_norm)

    def forward(
        self,
        hidden: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None,
        src_mask: Tensor,
        cache: tuple[KeyValueCache, KeyValueCache] | None = None,
        return_weights: bool = False,
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """Run the layer.

        Args:
            hidden: (batch, tgt_len, d_model)
            memory: The encoder's output, (batch, src_len, d_model).
            tgt_mask, src_mask: Of self-attention (None allows all) and of cross-attention.
            cache: Likewise.
            return_weights: Whether to return the attention weights.

        Returns:
            (batch, tgt_len, d_model); the weights of self-attention (batch, num_heads, tgt_len,
            k_len) and of cross-attention (batch, num_heads, tgt_len, src_len), or None for each.
        """
        own, source = (None, None) if cache is None else cache
        frame = self.self_attention_residual
        output, self_weights = self.self_attention(
            frame.before(hidden), None, tgt_mask, own, return_weights
        )
        hidden = frame.after(hidden, output)
        frame = self.cross_attention_residual
        output, cross_weights = self.cross_attention(
            frame.before(hidden), memory, src_mask, source, return_weights
        )
        hidden = frame.after(hidden, output)
        frame = self.feed_forward_residual
        hidden = frame.after(hidden, self.feed_forward(frame.before(hidden)))
        return hidden, self_weights, cross_weights
