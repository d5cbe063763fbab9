"""What the two stacks are built of (§3.1, §3.3)."""

from collections.abc import Callable
from typing import Any

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
    """The residual connection around a sub-layer, with its dropout and norm (§3.1, §5.4).

    Post-norm, the paper's: LayerNorm(x + Dropout(sublayer(x))).
    Pre-norm, not in the paper (Xiong et al. 2020): x + Dropout(sublayer(LayerNorm(x))).
    """

    def __init__(self, d_model: int, dropout: float, pre_norm: bool) -> None:
        super().__init__()
        check_sizes(MAX_DIMENSION, d_model=d_model)
        self.d_model = d_model
        self.norm = nn.LayerNorm(d_model)
        self.dropout = Dropout(dropout)
        self.pre_norm = pre_norm

    def forward(self, hidden: Tensor, sublayer: Callable[[Tensor], Any]) -> Any:
        """Add what a sub-layer makes of the hidden states to them.

        Args:
            hidden: (batch, length, d_model)
            sublayer: Called with the hidden states, or with their norm in a pre-norm model. It
                returns its output, (batch, length, d_model), or a tuple that begins with it.

        Returns:
            (batch, length, d_model), followed by what else the sub-layer returned.
        """
        check_hidden("hidden", hidden, self)
        result = sublayer(self.norm(hidden) if self.pre_norm else hidden)
        output, *others = result if isinstance(result, tuple) else (result,)
        check_float_tensor("output", output, hidden.shape, hidden)
        total = hidden + self.dropout(output)
        if not self.pre_norm:
            total = self.norm(total)
        return (total, *others) if others else total


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
        """Run (batch, src_len, d_model) through the layer; the mask is `padding_mask`'s.

        Returns the weights, (batch, num_heads, src_len, src_len), too if they are asked for.
        """
        hidden, weights = self.self_attention_residual(
            hidden,
            lambda x: self.self_attention(x, mask=mask, return_weights=return_weights),
        )
        return self.feed_forward_residual(hidden, self.feed_forward), weights


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
        self_cache, cross_cache = (None, None) if cache is None else cache
        hidden, self_weights = self.self_attention_residual(
            hidden,
            lambda x: self.self_attention(x, None, tgt_mask, self_cache, return_weights),
        )
        hidden, cross_weights = self.cross_attention_residual(
            hidden,
            lambda x: self.cross_attention(x, memory, src_mask, cross_cache, return_weights),
        )
        hidden = self.feed_forward_residual(hidden, self.feed_forward)
        return hidden, self_weights, cross_weights
