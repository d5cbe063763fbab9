"""A decoder-only Transformer: it translates as a language model, without an encoder.

Not in the paper. It is a network and no part of one, so that it has a file beside `modern.py`. A
pair is one sequence: the source with its eos, then the target with its bos. The source may attend
to all of itself (a prefix language model: Raffel et al. 2020, arXiv 1910.10683, §3.2.1), and the
loss is on the target alone, since `forward` returns its logits alone.
"""

from dataclasses import replace

import torch
from torch import Tensor, nn

from transformer.attention import KeyValueCache
from transformer.config import NUM_SPECIAL_TOKENS, DecoderOnlyConfig, ModelConfig
from transformer.embeddings import Embedding, look_up
from transformer.layers import make_residual
from transformer.masks import causal_mask, padding_mask
from transformer.model import initialise_weights
from transformer.parts import PAPER_PARTS, Parts
from transformer.support.checks import (
    MAX_VOCAB_SIZE,
    check_float_tensor,
    check_id_tensor,
    check_mask,
    check_sizes,
    check_src_and_tgt,
)
from transformer.support.errors import require
from transformer.support.signatures import check_argument_types


@check_argument_types
def prefix_mask(src_mask: Tensor, tgt_len: int) -> Tensor:
    """Return the mask of source and target in one sequence: a causal one with a prefix block.

    A source token may attend to the whole source; a target token to the source, to itself and to
    the target before it. Padding is hidden from all.

    Args:
        src_mask: True at the source's real tokens, (batch, 1, 1, src_len).
        tgt_len: Number of target tokens.

    Returns:
        (batch, 1, length, length), where length is src_len + tgt_len.
    """
    src_len = src_mask.shape[-1]
    check_mask(src_mask, (len(src_mask), 1, 1, src_len))
    mask = causal_mask(src_len + tgt_len, device=src_mask.device)  # (1, 1, length, length)
    mask = mask.repeat(len(src_mask), 1, 1, 1)
    mask[..., :src_len] |= torch.arange(src_len + tgt_len, device=mask.device)[:, None] < src_len
    mask[..., :src_len] &= src_mask
    return mask


class DecoderOnlyLayer(nn.Module):
    """Self-attention, then feed-forward, with a cache: a decoder layer without cross-attention."""

    @check_argument_types
    def __init__(self, config: ModelConfig, parts: Parts = PAPER_PARTS) -> None:
        super().__init__()
        self.self_attention = parts.self_attention(config)
        self.feed_forward = parts.feed_forward(config)
        self.self_attention_residual = make_residual(config, parts)
        self.feed_forward_residual = make_residual(config, parts)

    def forward(
        self, hidden: Tensor, mask: Tensor | None, cache: KeyValueCache | None = None
    ) -> Tensor:
        """Run (batch, length, d_model) through the layer; the cache has the positions before."""
        hidden, _ = self.self_attention_residual(
            hidden, lambda x: self.self_attention(x, mask=mask, cache=cache)
        )
        return self.feed_forward_residual(hidden, self.feed_forward)


class DecoderOnlyCache:
    """The keys and values of all layers, for the source and the target so far."""

    def __init__(self, num_layers: int) -> None:
        self.layers = [KeyValueCache() for _ in range(num_layers)]

    @property
    def length(self) -> int:
        """Number of positions so far, those of the source included."""
        return self.layers[0].length

    def select(self, rows: Tensor) -> None:
        """Keep, repeat or reorder rows of the batch, (new_batch,)."""
        for cache in self.layers:
            cache.select(rows)


class DecoderOnly(nn.Module):
    """A stack of decoder layers without cross-attention, and one embedding for both languages.

    A source's keys and values in every layer take the place of an encoder's memory: `encode`
    computes them once, and `decode` goes on from there.
    There is no `attention_maps`: what `AttentionMaps` holds apart is one self-attention here.
    """

    @check_argument_types
    def __init__(
        self, config: DecoderOnlyConfig, *, vocab_size: int, parts: Parts = PAPER_PARTS
    ) -> None:
        super().__init__()
        check_sizes(MAX_VOCAB_SIZE, NUM_SPECIAL_TOKENS, vocab_size=vocab_size)
        self.config, self.parts = config, parts
        # The target's positions come after the source's.
        longer = replace(config, max_len=2 * config.max_len)
        self.embedding = Embedding(longer, vocab_size, parts)
        layers = (DecoderOnlyLayer(config, parts) for _ in range(config.num_layers))
        self.layers = nn.ModuleList(layers)
        self.norm = parts.norm(config) if config.pre_norm else nn.Identity()
        self.output = nn.Linear(config.d_model, vocab_size, bias=config.output_bias)
        initialise_weights(self, config)
        if config.tie_softmax:
            self.output.weight = self.embedding.token.weight

    def forward(self, src: Tensor, tgt_in: Tensor, return_hidden: bool = False) -> Tensor:
        """Score every next token of every target prefix, as `Transformer.forward` does.

        Source and target are read at once, as one sequence. Returns (batch, tgt_len, vocab_size);
        or what `output` makes that of, (batch, tgt_len, d_model), if `return_hidden`. A UserError
        where either is longer than max_len.
        """
        check_src_and_tgt(src, tgt_in)
        src_mask = padding_mask(src)
        order = _padding_first(src_mask)
        src_mask = _reorder_mask(src_mask, order)
        embedded = (self._embed_source(src, order), self._embed_target(tgt_in, src_mask))
        hidden = torch.cat(embedded, dim=1)  # (batch, src_len + tgt_len, d_model)
        mask = prefix_mask(src_mask, tgt_in.shape[1])
        for layer in self.layers:
            hidden = layer(hidden, mask)
        hidden = self.norm(hidden[:, src.shape[1] :])  # (batch, tgt_len, d_model)
        return hidden if return_hidden else self.output(hidden)

    def encode(self, src: Tensor, src_mask: Tensor) -> Tensor:
        """Compute the keys and values of ids (batch, src_len) in every layer.

        `src_mask` is `padding_mask`'s, (batch, 1, 1, src_len). Returns (batch, num_layers, 2,
        num_heads, src_len, d_k), padding first; with grouped queries there are num_key_heads.
        """
        check_id_tensor("src", src)
        check_mask(src_mask, (len(src), 1, 1, src.shape[1]))
        order = _padding_first(src_mask)
        hidden, cache = self._embed_source(src, order), self.new_cache()
        src_mask = _reorder_mask(src_mask, order)
        for layer, layer_cache in zip(self.layers, cache.layers, strict=True):
            hidden = layer(hidden, src_mask, layer_cache)
        keys_and_values = [torch.stack(layer_cache.tensors, dim=1) for layer_cache in cache.layers]
        return torch.stack(keys_and_values, dim=1)

    def decode(
        self,
        tgt_in: Tensor,
        memory: Tensor,
        src_mask: Tensor,
        cache: DecoderOnlyCache | None = None,
    ) -> Tensor:
        """Score the token after each of `tgt_in`, as `Transformer.decode` does.

        `memory` is `encode`'s; an empty cache is filled with it first. Returns (batch, tgt_len,
        vocab_size).
        """
        check_id_tensor("tgt_in", tgt_in)
        src_len = src_mask.shape[-1]
        check_mask(src_mask, (len(tgt_in), 1, 1, src_len))
        memory_shape = (len(tgt_in), len(self.layers), 2, None, src_len, None)
        check_float_tensor("memory", memory, memory_shape)
        cache = self.new_cache() if cache is None else cache
        if cache.length == 0:
            for layer_cache, layer_memory in zip(cache.layers, memory.unbind(dim=1), strict=True):
                layer_cache.append(*layer_memory.unbind(dim=1))
        src_mask = _reorder_mask(src_mask, _padding_first(src_mask))
        tgt_len = tgt_in.shape[1]
        hidden = self._embed_target(tgt_in, src_mask, start=cache.length - src_len)
        # `prefix_mask`'s newest rows: a target token sees all before it, and no padding.
        mask = causal_mask(tgt_len, cache.length + tgt_len, tgt_in.device)
        mask = mask.repeat(len(tgt_in), 1, 1, 1)  # (batch, 1, tgt_len, cache.length + tgt_len)
        mask[..., :src_len] &= src_mask
        for layer, layer_cache in zip(self.layers, cache.layers, strict=True):
            hidden = layer(hidden, mask, layer_cache)
        return self.output(self.norm(hidden))  # (batch, tgt_len, vocab_size)

    def new_cache(self) -> DecoderOnlyCache:
        """Return an empty cache for `decode`."""
        return DecoderOnlyCache(self.config.num_layers)

    def _embed_source(self, src: Tensor, order: Tensor) -> Tensor:
        """Embed ids (batch, src_len), then put padding first, so that the target comes next."""
        self._check_length(src.shape[1])
        embedded = self.embedding(src)  # (batch, src_len, d_model)
        return embedded.gather(1, order[:, :, None].expand_as(embedded))

    def _embed_target(self, tgt_in: Tensor, src_mask: Tensor, start: int = 0) -> Tensor:
        """Embed ids (batch, tgt_len), whose positions go on from each source's own length."""
        self._check_length(start + tgt_in.shape[1])
        words = look_up(self.embedding.token, tgt_in) * self.embedding.scale
        num_tokens = src_mask[:, 0, 0].sum(dim=1, keepdim=True)  # (batch, 1): the source's
        steps = torch.arange(start, start + tgt_in.shape[1], device=tgt_in.device)
        # What the positions module adds at each position, (2 * max_len, d_model).
        table = self.embedding.positions(words.new_zeros(1, self.embedding.max_len, words.shape[2]))
        return self.embedding.dropout(words + table[0, num_tokens + steps])

    def _check_length(self, length: int) -> None:
        require(
            length <= self.config.max_len,
            f"{length} tokens are more than max_len {self.config.max_len}: shorten the sentence, "
            "or train with a larger max_len",
        )


def _padding_first(src_mask: Tensor) -> Tensor:
    """Return the positions of each source, padding first and the rest in order, (batch, src_len).

    So the target directly follows the source, and the distance between two tokens, on which rotary
    positions depend, is the same in every batch.
    """
    return src_mask[:, 0, 0].long().argsort(dim=1, stable=True)


def _reorder_mask(src_mask: Tensor, order: Tensor) -> Tensor:
    """Return a mask, (batch, 1, 1, src_len), with its positions in another order."""
    return src_mask.gather(3, order[:, None, None])
