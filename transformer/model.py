"""The Transformer: encoder, decoder, embeddings and softmax weights (§3, Fig. 1)."""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from transformer.attention import KeyValueCache
from transformer.config import NUM_SPECIAL_TOKENS, ModelConfig
from transformer.embeddings import Embedding
from transformer.layers import DecoderLayer, EncoderLayer
from transformer.masks import causal_mask, padding_mask
from transformer.parts import PAPER_PARTS, Parts
from transformer.positions import LearnedPositions
from transformer.support.checks import (
    MAX_VOCAB_SIZE,
    check_id_tensor,
    check_mask,
    check_sizes,
    check_src_and_tgt,
)
from transformer.support.errors import UserError
from transformer.support.modes import evaluation_mode
from transformer.support.signatures import check_argument_types


class Encoder(nn.Module):
    """A stack of encoder layers (§3.1)."""

    @check_argument_types
    def __init__(self, config: ModelConfig, parts: Parts = PAPER_PARTS) -> None:
        super().__init__()
        layers = (EncoderLayer(config, parts) for _ in range(config.num_layers))
        self.layers = nn.ModuleList(layers)
        self.norm = parts.norm(config) if config.pre_norm else nn.Identity()

    def forward(
        self, hidden: Tensor, mask: Tensor | None, return_weights: bool = False
    ) -> tuple[Tensor, list[Tensor]]:
        """Run (batch, src_len, d_model) through every layer.

        Returns:
            (batch, src_len, d_model), and each layer's attention weights, None unless asked for.
        """
        all_weights: list[Tensor] = []
        for layer in self.layers:
            hidden, weights = layer(hidden, mask, return_weights)
            all_weights.append(weights)
        return self.norm(hidden), all_weights


class DecoderCache:
    """The keys and values of all decoder layers, kept from step to step (not in the paper)."""

    def __init__(self, num_layers: int) -> None:
        # A pair for each layer: the caches of its self-attention and of its cross-attention.
        self.layers = [(KeyValueCache(), KeyValueCache()) for _ in range(num_layers)]

    @property
    def length(self) -> int:
        """Number of target positions so far."""
        return self.layers[0][0].length

    def select(self, rows: Tensor) -> None:
        """Keep, repeat or reorder rows of the batch, (new_batch,)."""
        for self_cache, cross_cache in self.layers:
            self_cache.select(rows)
            cross_cache.select(rows)


class Decoder(nn.Module):
    """A stack of decoder layers (§3.1)."""

    @check_argument_types
    def __init__(self, config: ModelConfig, parts: Parts = PAPER_PARTS) -> None:
        super().__init__()
        layers = (DecoderLayer(config, parts) for _ in range(config.num_layers))
        self.layers = nn.ModuleList(layers)
        self.norm = parts.norm(config) if config.pre_norm else nn.Identity()

    def forward(
        self,
        hidden: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None,
        src_mask: Tensor | None,
        cache: DecoderCache | None = None,
        return_weights: bool = False,
    ) -> tuple[Tensor, list[Tensor], list[Tensor]]:
        """Run (batch, tgt_len, d_model) through every layer.

        The arguments are those of `DecoderLayer.forward`.

        Returns:
            (batch, tgt_len, d_model), and the weights of each layer's self-attention and of its
            cross-attention, None unless asked for.
        """
        all_self_weights: list[Tensor] = []
        all_cross_weights: list[Tensor] = []
        for index, layer in enumerate(self.layers):
            layer_cache = None if cache is None else cache.layers[index]
            hidden, self_weights, cross_weights = layer(
                hidden, memory, tgt_mask, src_mask, layer_cache, return_weights
            )
            all_self_weights.append(self_weights)
            all_cross_weights.append(cross_weights)
        return self.norm(hidden), all_self_weights, all_cross_weights


class AttentionMaps(NamedTuple):
    """The attention weights of every layer; each row sums to 1 over the real keys."""

    encoder: Tensor  # self-attention, (num_layers, batch, num_heads, src_len, src_len)
    decoder: Tensor  # self-attention, (num_layers, batch, num_heads, tgt_len, tgt_len)
    cross: Tensor  # decoder to encoder, (num_layers, batch, num_heads, tgt_len, src_len)


class Transformer(nn.Module):
    """An encoder-decoder made of attention alone (§3, Fig. 1).

    `parts` makes its sub-layers, norms and positions: the paper's, or others (see `Parts`).
    """

    @check_argument_types
    def __init__(
        self,
        config: ModelConfig,
        *,
        src_vocab_size: int,
        tgt_vocab_size: int,
        parts: Parts = PAPER_PARTS,
    ) -> None:
        super().__init__()
        vocab_sizes = {"src_vocab_size": src_vocab_size, "tgt_vocab_size": tgt_vocab_size}
        check_sizes(MAX_VOCAB_SIZE, NUM_SPECIAL_TOKENS, **vocab_sizes)
        self.config, self.parts = config, parts
        self.src_embedding = Embedding(config, src_vocab_size, parts)
        if config.tie_source_target:
            if src_vocab_size != tgt_vocab_size:
                raise UserError(
                    f"tie_source_target needs one vocabulary, and the sides have {src_vocab_size} "
                    f"and {tgt_vocab_size} types: train a joint one, or set tie_source_target=false"
                )
            self.tgt_embedding = self.src_embedding
        else:
            self.tgt_embedding = Embedding(config, tgt_vocab_size, parts)
        self.encoder = Encoder(config, parts)
        self.decoder = Decoder(config, parts)
        self.output = nn.Linear(config.d_model, tgt_vocab_size, bias=config.output_bias)
        initialise_weights(self, config)
        if config.tie_softmax:
            self.output.weight = self.tgt_embedding.token.weight

    def forward(self, src: Tensor, tgt_in: Tensor, return_hidden: bool = False) -> Tensor:
        """Score every next token of every target prefix at once (training, §5).

        Args:
            src: Source ids, (batch, src_len).
            tgt_in: Target ids that begin with bos, (batch, tgt_len).
            return_hidden: Whether to return what `output` makes the logits of, in their place.

        Returns:
            Logits, before the softmax, (batch, tgt_len, tgt_vocab_size). Those at position t score
            the token after `tgt_in[:, t]`. Or the hidden states, (batch, tgt_len, d_model).
        """
        check_src_and_tgt(src, tgt_in)
        src_mask = padding_mask(src)
        memory = self.encode(src, src_mask)
        decode = self.decode_hidden if return_hidden else self.decode
        return decode(tgt_in, memory, src_mask)

    def encode(self, src: Tensor, src_mask: Tensor) -> Tensor:
        """Encode ids (batch, src_len) as a memory, (batch, src_len, d_model).

        `src_mask` is `padding_mask`'s, (batch, 1, 1, src_len).
        """
        check_id_tensor("src", src)
        check_mask(src_mask, (len(src), self.config.num_heads, src.shape[1], src.shape[1]))
        embedded = self.src_embedding(src)  # (batch, src_len, d_model)
        return self.encoder(embedded, src_mask)[0]

    def decode(
        self,
        tgt_in: Tensor,
        memory: Tensor,
        src_mask: Tensor | None,
        cache: DecoderCache | None = None,
    ) -> Tensor:
        """Score the token after each of `tgt_in`.

        Padding is at a target's end, where the causal mask hides it from every real token.

        Args:
            tgt_in: Target ids, (batch, tgt_len); with a cache only the new ones of each target.
            memory: From `encode`, (batch, src_len, d_model).
            src_mask: From `padding_mask`, (batch, 1, 1, src_len); None hides nothing.
            cache: From `new_cache`; the new positions are appended to it.

        Returns:
            Logits, (batch, tgt_len, tgt_vocab_size).
        """
        hidden = self.decode_hidden(tgt_in, memory, src_mask, cache)
        return self.output(hidden)  # (batch, tgt_len, tgt_vocab_size)

    def decode_hidden(
        self,
        tgt_in: Tensor,
        memory: Tensor,
        src_mask: Tensor | None,
        cache: DecoderCache | None = None,
    ) -> Tensor:
        """Return what `decode` makes logits of, (batch, tgt_len, d_model), for its arguments."""
        check_id_tensor("tgt_in", tgt_in)
        start = 0 if cache is None else cache.length
        length = tgt_in.shape[1]
        hidden = self.tgt_embedding(tgt_in, start)  # (batch, tgt_len, d_model)
        tgt_mask = causal_mask(length, start + length, tgt_in.device) if length > 1 else None
        hidden = self.decoder(hidden, memory, tgt_mask, src_mask, cache)[0]
        return hidden  # (batch, tgt_len, d_model)

    def new_cache(self) -> DecoderCache:
        """Return an empty cache for `decode`."""
        return DecoderCache(self.config.num_layers)

    @torch.no_grad()
    def attention_maps(self, src: Tensor, tgt_in: Tensor) -> AttentionMaps:
        """Return every attention weight, without dropout (the paper's appendix figures)."""
        check_src_and_tgt(src, tgt_in)
        src_mask = padding_mask(src)
        tgt_mask = causal_mask(tgt_in.shape[1], device=tgt_in.device)
        with evaluation_mode(self):
            memory, weights = self.encoder(self.src_embedding(src), src_mask, return_weights=True)
            encoder = stack_layers(weights)
            hidden = self.tgt_embedding(tgt_in)
            _, self_weights, cross_weights = self.decoder(
                hidden, memory, tgt_mask, src_mask, return_weights=True
            )
        return AttentionMaps(encoder, stack_layers(self_weights), stack_layers(cross_weights))


def stack_layers(tensors: list[Tensor]) -> Tensor:
    """Stack a tensor of each layer along a new first axis, and empty the list on the way.

    So memory holds the tensors once, and not the stack beside them.
    """
    stacked = tensors[0].new_empty(len(tensors), *tensors[0].shape)
    for layer in stacked.unbind():
        layer.copy_(tensors.pop(0))
    return stacked


@check_argument_types
def initialise_weights(network: nn.Module, config: ModelConfig) -> None:
    """Draw a network's weights: Xavier uniform for matrices, biases 0 (not in the paper's text).

    Words and concatenated positions are drawn with standard deviation width^-0.5, as in the
    authors' code, so that words start at 1 once scaled by sqrt(width). Learned positions are
    added unscaled: they start at sqrt(1/2), the sinusoids' root mean square.
    """
    for module in network.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            if config.xavier_embeddings:
                nn.init.xavier_uniform_(module.weight)
            elif isinstance(module, LearnedPositions):
                nn.init.normal_(module.weight, std=math.sqrt(1 / 2))
            else:
                nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)


@check_argument_types
def count_parameters(model: nn.Module) -> int:
    """Count the weights that training changes, a tied matrix once."""
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
