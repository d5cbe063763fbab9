"""The cache of `transformer.fast_decoder`: keys and values that are written where they stay.

Not in the paper. Its plain form is `DecoderCache` in `transformer.model`. The prefixes of a
sentence share the source's keys and values, and are queries of one cross-attention
(docs/decisions/fast-decoding.md).
"""

import torch
import torch.nn.functional as F
from torch import Tensor

INITIAL_ROOM = 32  # target positions that a cache has room for; it doubles when they are full


class FastDecoderCache:
    """Keys and values of the sentences of a search, `beam_size` prefixes each.

    A row is a prefix, and those of a sentence stand together.
    """

    ids: Tensor  # of the prefixes, (rows, room); from `length` on they mean nothing, as below
    # Self-attention's keys, then values: (num_layers, rows, room, 2, num_heads, d_k).
    own: Tensor
    # Cross-attention's keys and values of each layer: (sentences, num_heads, src_len, d_k).
    source: list[tuple[Tensor, Tensor]]
    # What is added to the scores, 0 or -inf: (sentences, 1, 1, src_len); None hides nothing.
    src_bias: Tensor | None

    def __init__(self, beam_size: int) -> None:
        self.beam_size = beam_size
        self.length = 0  # target positions so far

    def start(self, source: Tensor, src_mask: Tensor) -> None:
        """Take the source's keys and values, and make room for the target's.

        Args:
            source: (num_layers, 2, sentences, num_heads, src_len, d_k)
            src_mask: (sentences, 1, 1, src_len)
        """
        num_layers, _, sentences, num_heads, _, d_k = source.shape
        self.source = [(keys, values) for keys, values in source]
        self.src_bias = None
        if not src_mask.all():
            self.src_bias = source.new_zeros(src_mask.shape).masked_fill(~src_mask, -torch.inf)
        rows = sentences * self.beam_size
        self.own = source.new_empty(num_layers, rows, INITIAL_ROOM, 2, num_heads, d_k)
        self.ids = torch.empty(rows, INITIAL_ROOM, dtype=torch.long, device=source.device)

    def begin_position(self, ids: Tensor) -> None:
        """Add a position to each prefix, with its id, (rows,); keys and values come later."""
        if self.length == self.ids.shape[1]:
            self.own = torch.cat((self.own, torch.empty_like(self.own)), dim=2)
            self.ids = torch.cat((self.ids, torch.empty_like(self.ids)), dim=1)
        self.ids[:, self.length] = ids
        self.length += 1

    def attend_to_prefix(self, index: int, projected: Tensor) -> Tensor:
        """Attend from each prefix's last position to all of them, in the layer of this index.

        Args:
            index: Of the layer.
            projected: Queries, keys and values of the last position, (rows, 3 * num_heads * d_k).

        Returns:
            The heads side by side, (rows, num_heads * d_k).
        """
        own = self.own[index, :, : self.length]  # (rows, length, 2, num_heads, d_k)
        split = projected.view(len(projected), 3, *own.shape[3:])
        own[:, -1] = split[:, 1:]
        queries = split[:, 0, :, None]  # (rows, num_heads, 1, d_k)
        keys, values = own.permute(2, 0, 3, 1, 4)  # (rows, num_heads, length, d_k)
        return F.scaled_dot_product_attention(queries, keys, values).flatten(start_dim=1)

    def attend_to_source(self, index: int, queries: Tensor) -> Tensor:
        """Attend from each prefix's query, (rows, num_heads * d_k), to its source.

        Returns the heads side by side, (rows, num_heads * d_k).
        """
        keys, values = self.source[index]
        sentences, num_heads, _, d_k = keys.shape
        heads = F.scaled_dot_product_attention(
            queries.view(sentences, self.beam_size, num_heads, d_k).transpose(1, 2),
            keys,
            values,
            self.src_bias,
        )  # (sentences, num_heads, beam_size, d_k)
        return heads.transpose(1, 2).reshape(len(queries), -1)

    def select(self, rows: Tensor) -> None:
        """Keep or reorder rows, (new_rows,): sentences may leave, and others keep their order.

        A prefix whose place is taken by another one is overwritten, from the first position on at
        which any two of these differ. The others are not touched.
        """
        count, first = len(rows), 0
        ids = self.ids[:, : self.length]
        if count < len(ids):
            self._select_sentences(rows[:: self.beam_size] // self.beam_size)
        places = torch.tensor(
            [place for place, source in enumerate(rows.tolist()) if place != source],
            dtype=torch.long,
            device=rows.device,
        )
        if len(places):
            sources = rows[places]
            if count == len(ids):
                first = int((ids[places] != ids[sources]).any(dim=0).int().argmax())
            ids[places] = ids[sources]
            own = self.own[:, :, first : self.length]
            own[:, places] = own[:, sources]
        self.ids, self.own = self.ids[:count], self.own[:, :count]

    def _select_sentences(self, sentences: Tensor) -> None:
        self.source = [(keys[sentences], values[sentences]) for keys, values in self.source]
        self.src_bias = None if self.src_bias is None else self.src_bias[sentences]
