"""A Transformer made for decoding: the same function, fewer calls and less copying.

Not in the paper. What makes it faster, most of it measured in
data/results/bench/decoding_steps.json:

- queries, keys and values in one product; keys and values of the source, for all layers, too;
- keys and values are written where they stay, in blocks of positions, not put together anew;
- the prefixes of one source are query positions of one cross-attention: they share its keys;
- a prefix that goes on in its own place is not copied;
- no mask where no source of the batch is padded; the embedding scaled once; residual sums within
  the product; the softmax's weights in the order that oneDNN wants.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engines.fast import packed
from transformer.attention import MultiHeadAttention
from transformer.embeddings import Embedding
from transformer.layers import DecoderLayer, EncoderLayer, FeedForward, Residual
from transformer.model import Decoder, Encoder, Transformer

BLOCK = 16  # positions for which room is made at once
_KNOWN = (
    *(Transformer, Encoder, Decoder, EncoderLayer, DecoderLayer, MultiHeadAttention, FeedForward),
    *(Residual, Embedding, nn.ModuleList, nn.Linear, nn.LayerNorm, nn.Embedding, nn.Identity),
)


def state_of(model: object) -> list[tuple[int, int]] | None:
    """Say of each parameter where it lies and how often it was written to, but through `.data`.

    None where the model is not just what the package's modules make it: an LSTM, hooked, changed
    in part, in training, made in inference mode, on another device or in another type.
    """
    if type(model) is not Transformer or {"encode", "decode", "new_cache"} & vars(model).keys():
        return None
    parameters: list[Tensor] = []
    parts: list[nn.Module | None] = [model]
    while parts:
        part = parts.pop()
        if part is None:
            continue
        known = type(part) in _KNOWN or isinstance(part, nn.Dropout)
        if not known or part.training or part._forward_hooks or part._forward_pre_hooks:
            return None
        if "forward" in vars(part):
            return None
        parts += part._modules.values()
        parameters += [each for each in part._parameters.values() if each is not None]
    for each in parameters:  # nobody counts the writes to one made in inference mode
        if each.dtype is not torch.float32 or not each.is_cpu or each.is_inference():
            return None
    return [(each.data_ptr(), each._version) for each in parameters]


class Widths(NamedTuple):
    """How the queries of all heads, their keys and their values lie side by side."""

    num_heads: int
    d_k: int
    d_v: int

    def split(self, projected: Tensor) -> tuple[Tensor, Tensor]:
        """Give the queries (..., num_heads * d_k) of (..., width), and the rest."""
        queries = self.num_heads * self.d_k
        return projected[..., :queries], projected[..., queries:]

    def keys_and_values(self, both: Tensor) -> tuple[Tensor, Tensor]:
        """Split (..., length, width) by head: (..., num_heads, length, d_k) and (..., d_v)."""
        keys, values = self.split(both)
        return self.by_head(keys), self.by_head(values)

    def by_head(self, joined: Tensor) -> Tensor:
        """(..., length, num_heads * d) -> (..., num_heads, length, d)."""
        return joined.unflatten(-1, (self.num_heads, -1)).transpose(-2, -3)


class FastCache:
    """Keys and values of all layers, for some prefixes of each source, side by side in the batch.

    Args:
        source: The sources' keys and values, (num_layers, sources, src_len, width).
        src_mask: True = may attend, (sources, 1, 1, src_len).
    """

    def __init__(self, widths: Widths, source: Tensor, src_mask: Tensor, prefixes: int) -> None:
        self.widths, self.source, self.prefixes = widths, source, prefixes
        self.length = 0  # target positions already seen
        self.mask: Tensor | None = None  # added to the scores
        if not src_mask.all():
            self.mask = torch.zeros(src_mask.shape).masked_fill_(~src_mask, -torch.inf)
        num_layers, sources, _, width = source.shape
        self.own = torch.empty(num_layers, sources * prefixes, BLOCK, width)
        self._view_heads()

    def select(self, rows: Tensor) -> None:
        """Keep rows of the batch, (new_batch,): all the prefixes of a source, or none."""
        place_rows(self.own[:, :, : self.length], rows)
        if len(rows) < self.own.shape[1]:
            sources = rows[:: self.prefixes] // self.prefixes
            self.own = self.own.narrow(1, 0, len(rows))
            self.source = place_rows(self.source, sources)
            self.mask = None if self.mask is None else self.mask[sources]
            self._view_heads()

    def next_place(self) -> int:
        """Give the next position, for which there is room."""
        if self.length == self.own.shape[2]:
            self.own = F.pad(self.own, (0, 0, 0, BLOCK))
            self._view_heads()
        self.length += 1
        return self.length - 1

    def _view_heads(self) -> None:
        """View what is kept by head: of each layer (batch, num_heads, room, d_k or d_v)."""
        self.keys, self.values = self.widths.keys_and_values(self.own)
        src_keys, src_values = self.widths.keys_and_values(self.source)
        self.src_keys, self.src_values = src_keys.unbind(), src_values.unbind()


class FastTransformer:
    """A Transformer that `state_of` knows, ready to decode; to be made anew when it learns."""

    def __init__(self, model: Transformer) -> None:
        config = model.config
        self.widths = Widths(config.num_heads, config.key_size, config.value_size)
        self.num_layers = config.num_layers
        with torch.no_grad():
            self.src_words = packed.Words.of(model.src_embedding)
            self.tgt_words = packed.Words.of(model.tgt_embedding)
            readers = [each for each in model.encoder.layers if isinstance(each, EncoderLayer)]
            layers = [each for each in model.decoder.layers if isinstance(each, DecoderLayer)]
            of_itself, of_source = packed.Attention.to_itself, packed.Attention.across
            self.encoder = [(of_itself(each), packed.FeedForward.of(each)) for each in readers]
            self.decoder = [
                (of_itself(each), of_source(each), packed.FeedForward.of(each)) for each in layers
            ]
            self.keys_and_values = packed.keys_and_values(layers)
            self.softmax = packed.Softmax(model.output)
        self.encoder_norm, self.decoder_norm = model.encoder.norm, model.decoder.norm

    def encode(self, src: Tensor, src_mask: Tensor) -> Tensor:
        """Read the source: see `Transformer.encode`."""
        batch, src_len = src.shape
        mask = None if src_mask.all() else src_mask
        hidden = self.src_words(src).flatten(end_dim=1)  # (batch * src_len, d_model)
        for attention, feed_forward in self.encoder:
            projected = attention.into(attention.norm.before(hidden)).view(batch, src_len, -1)
            queries, both = self.widths.split(projected)
            keys, values = self.widths.keys_and_values(both)
            queries = self.widths.by_head(queries)  # (batch, num_heads, src_len, d_k)
            heads = F.scaled_dot_product_attention(queries, keys, values, mask)
            joined = heads.transpose(1, 2).reshape(batch * src_len, -1)
            hidden = attention.norm.after(attention.out.added_to(hidden, joined))
            hidden = feed_forward(hidden)
        return self.encoder_norm(hidden).view(batch, src_len, -1)

    def new_cache(self, memory: Tensor, src_mask: Tensor, prefixes: int) -> FastCache:
        """Begin to decode, so many prefixes of each source of a memory that `encode` gave."""
        sources, src_len, _ = memory.shape
        found = self.keys_and_values(memory.flatten(end_dim=1))
        found = found.view(sources, src_len, self.num_layers, -1).permute(2, 0, 1, 3)
        return FastCache(self.widths, found.contiguous(), src_mask, prefixes)

    def step(self, ids: Tensor, cache: FastCache) -> Tensor:
        """Score the token after one new position: ids (batch,) -> logits (batch, vocab_size)."""
        place = cache.next_place()
        hidden = self.tgt_words.at(ids, place)  # (batch, d_model)
        batch = len(ids)
        apart = (-1, cache.prefixes, self.widths.num_heads, self.widths.d_k)
        spots = cache.own.select(2, place).unbind()  # (batch, width) each, as what follows
        keys = cache.keys.narrow(3, 0, place + 1).unbind()
        values = cache.values.narrow(3, 0, place + 1).unbind()
        attend = F.scaled_dot_product_attention
        for i, (attention, cross, feed_forward) in enumerate(self.decoder):
            projected = attention.into(attention.norm.before(hidden))
            queries, both = self.widths.split(projected)
            spots[i].copy_(both)
            queries = self.widths.by_head(queries[:, None])  # (batch, num_heads, 1, d_k)
            heads = attend(queries, keys[i], values[i])  # (batch, num_heads, 1, d_v)
            hidden = attention.out.added_to(hidden, heads.reshape(batch, -1))
            hidden = attention.norm.after(hidden)
            # The prefixes of a source are query positions: (sources, num_heads, prefixes, d_k).
            crossing = cross.into(cross.norm.before(hidden)).view(apart).transpose(1, 2)
            heads = attend(crossing, cache.src_keys[i], cache.src_values[i], cache.mask)
            hidden = cross.out.added_to(hidden, heads.transpose(1, 2).reshape(batch, -1))
            hidden = feed_forward(cross.norm.after(hidden))
        return self.softmax(self.decoder_norm(hidden))


def place_rows(kept: Tensor, rows: Tensor) -> Tensor:
    """Put rows (new_batch,) at the beginning of (num_layers, batch, ...), in place; give that part.

    Who is there already stays.
    """
    changed = (rows != torch.arange(len(rows))).nonzero().flatten()
    if len(changed):
        kept[:, changed] = kept[:, rows[changed]]
    return kept.narrow(1, 0, len(rows))
