"""The layers of the two stacks, and the residual connections in them (§3.1)."""

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from transformer.attention import KeyValueCache
from transformer.config import MAX_DIMENSION, ModelConfig
from transformer.parts import PAPER_PARTS, Parts
from transformer.support.checks import (
    check_float_tensor,
    check_hidden_states,
    check_number,
    check_sizes,
)
from transformer.support.signatures import check_argument_types


class Residual(nn.Module):
    """The residual connection around a sub-layer, with its dropout and norm (§3.1, §5.4).

    Post-norm, the paper's: LayerNorm(x + Dropout(sublayer(x))).
    Pre-norm, not in the paper (Xiong et al. 2020): x + Dropout(sublayer(LayerNorm(x))).
    """

    @check_argument_types
    def __init__(
        self, d_model: int, dropout: float, pre_norm: bool, norm: nn.Module | None = None
    ) -> None:
        super().__init__()
        check_sizes(MAX_DIMENSION, d_model=d_model)
        check_number("dropout", dropout, 0, 1)
        self.d_model = d_model
        self.norm = nn.LayerNorm(d_model) if norm is None else norm
        self.dropout = nn.Dropout(dropout)
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
        check_hidden_states("hidden", hidden, self.d_model, getattr(self.norm, "weight", None))
        result = sublayer(self.norm(hidden) if self.pre_norm else hidden)
        output, *others = result if isinstance(result, tuple) else (result,)
        check_float_tensor("output", output, hidden.shape, hidden)
        total = hidden + self.dropout(output)
        if not self.pre_norm:
            total = self.norm(total)
        return (total, *others) if others else total


@check_argument_types
def make_residual(config: ModelConfig, parts: Parts = PAPER_PARTS) -> Residual:
    """Make the residual connection around a sub-layer (§3.1)."""
    return Residual(config.d_model, config.dropout, config.pre_norm, parts.norm(config))


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward (§3.1, left half of Fig. 1)."""

    @check_argument_types
    def __init__(self, config: ModelConfig, parts: Parts = PAPER_PARTS) -> None:
        super().__init__()
        self.self_attention = parts.self_attention(config)
        self.feed_forward = parts.feed_forward(config)
        self.self_attention_residual = make_residual(config, parts)
        self.feed_forward_residual = make_residual(config, parts)

    def forward(
        self, hidden: Tensor, mask: Tensor | None, return_weights: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """Run (batch, src_len, d_model) through the layer; the mask is `padding_mask`'s or None.

        Returns the weights, (batch, num_heads, src_len, src_len), too if they are asked for.
        """
        hidden, weights = self.self_attention_residual(
            hidden,
            lambda x: self.self_attention(x, mask=mask, return_weights=return_weights),
        )
        return self.feed_forward_residual(hidden, self.feed_forward), weights


class DecoderLayer(nn.Module):
    """Self-attention, cross-attention, feed-forward (§3.1, right half of Fig. 1)."""

    @check_argument_types
    def __init__(self, config: ModelConfig, parts: Parts = PAPER_PARTS) -> None:
        super().__init__()
        self.self_attention = parts.self_attention(config)
        self.cross_attention = parts.cross_attention(config)
        self.feed_forward = parts.feed_forward(config)
        self.self_attention_residual = make_residual(config, parts)
        self.cross_attention_residual = make_residual(config, parts)
        self.feed_forward_residual = make_residual(config, parts)

    def forward(
        self,
        hidden: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None,
        src_mask: Tensor | None,
        cache: tuple[KeyValueCache, KeyValueCache] | None = None,
        return_weights: bool = False,
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """Run the layer.

        Args:
            hidden: (batch, tgt_len, d_model)
            memory: The encoder's output, (batch, src_len, d_model).
            tgt_mask, src_mask: The masks of self-attention and of cross-attention; None allows
                all.
            cache: The caches of self-attention and of cross-attention.
            return_weights: Whether to return the attention weights.

        Returns:
            (batch, tgt_len, d_model); the weights of self-attention (batch, num_heads, tgt_len,
            k_len) and of cross-attention (batch, num_heads, tgt_len, src_len), or None for each.
        """
        check_float_tensor("memory", memory, (None, None, None))
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
