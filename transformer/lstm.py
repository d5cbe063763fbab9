"""LSTM encoder-decoders, which the Transformer replaced (§1, §2), behind the same interface.

Not in the paper. Without attention: Sutskever et al. 2014 (arXiv 1409.3215). With it: the
bidirectional encoder and the step-by-step context of Bahdanau et al. 2015 (arXiv 1409.0473), the
query compared by dot product.
"""

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from transformer.attention import TensorCache, scaled_dot_product_attention
from transformer.config import NUM_SPECIAL_TOKENS, RecurrentConfig
from transformer.embeddings import look_up
from transformer.masks import padding_mask
from transformer.model import AttentionMaps
from transformer.support.checks import (
    MAX_VOCAB_SIZE,
    check_float_tensor,
    check_id_tensor,
    check_mask,
    check_not_empty,
    check_sizes,
    check_src_and_tgt,
)
from transformer.support.modes import evaluation_mode
from transformer.support.signatures import check_argument_types


class Recurrent(nn.Module):
    """An LSTM that encodes the source and an LSTM that decodes the target.

    With attention the encoder reads in both directions, and its memory has a vector for each source
    token. Before each step the decoder's state is compared with all of them, and their weighted
    average enters the step beside the token. Without attention the memory is the encoder's last
    state.
    """

    @check_argument_types
    def __init__(
        self, config: RecurrentConfig, *, src_vocab_size: int, tgt_vocab_size: int
    ) -> None:
        super().__init__()
        vocab_sizes = {"src_vocab_size": src_vocab_size, "tgt_vocab_size": tgt_vocab_size}
        check_sizes(MAX_VOCAB_SIZE, NUM_SPECIAL_TOKENS, **vocab_sizes)
        self.config = config
        width, size = config.embedding_size, config.hidden_size
        memory_size = 2 * size if config.attention else 0
        self.memory_width = memory_size or size
        self.src_embedding = nn.Embedding(src_vocab_size, width)
        self.tgt_embedding = nn.Embedding(tgt_vocab_size, width)
        self.dropout = nn.Dropout(config.dropout)
        self.encoder = nn.LSTM(width, size, batch_first=True, bidirectional=config.attention)
        self.decoder = nn.LSTMCell(width + memory_size, size)
        if config.attention:
            self.first_state = nn.Linear(size, size)
            self.key_projection = nn.Linear(memory_size, size, bias=False)
        self.output = nn.Linear(size, tgt_vocab_size)

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """Score every next token of every target prefix, as `Transformer.forward` does."""
        check_src_and_tgt(src, tgt_in)
        src_mask = padding_mask(src)
        return self.decode(tgt_in, self.encode(src, src_mask), src_mask)

    @check_argument_types
    def encode(self, src: Tensor, src_mask: Tensor) -> Tensor:
        """Encode ids (batch, src_len) as both directions' hidden states, 0 at padding.

        They are (batch, src_len, 2 * hidden_size). Without attention the last hidden and cell state
        are returned, (batch, 2, hidden_size).
        """
        check_id_tensor("src", src)
        check_not_empty("src", src)
        check_mask(src_mask, (len(src), 1, 1, src.shape[1]))
        src_mask = src_mask.expand(len(src), 1, 1, src.shape[1])
        embedded = self.dropout(look_up(self.src_embedding, src))
        # An LSTM reads one token at least. That of a source without any is hidden by the mask.
        lengths = src_mask.flatten(start_dim=1).sum(dim=1).clamp(min=1).cpu()
        packed = pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
        outputs, (hidden, cell) = self.encoder(packed)
        if not self.config.attention:
            return torch.stack((hidden[0], cell[0]), dim=1)
        return pad_packed_sequence(outputs, batch_first=True, total_length=src.shape[1])[0]

    @check_argument_types
    def decode(
        self, tgt_in: Tensor, memory: Tensor, src_mask: Tensor, cache: TensorCache | None = None
    ) -> Tensor:
        """Score the token after each of `tgt_in`, with the arguments of `Transformer.decode`."""
        check_id_tensor("tgt_in", tgt_in)
        check_not_empty("tgt_in", tgt_in)
        check_float_tensor(
            "memory", memory, (len(tgt_in), None, self.memory_width), self.output.weight
        )
        if self.config.attention:
            check_mask(src_mask, (len(tgt_in), 1, 1, memory.shape[1]))
        hidden, _ = self._decode_step_by_step(tgt_in, memory, src_mask, cache or self.new_cache())
        return self.output(hidden)  # (batch, tgt_len, tgt_vocab_size)

    def _decode_step_by_step(
        self, tgt_in: Tensor, memory: Tensor, src_mask: Tensor, cache: TensorCache
    ) -> tuple[Tensor, list[Tensor]]:
        """Run the decoder token by token.

        Returns:
            Its hidden states, (batch, tgt_len, hidden_size), and each step's attention weights,
            (batch, 1, 1, src_len), or none without attention.
        """
        hidden, cell, keys = cache.tensors or self._first_state_and_keys(memory)
        hidden_states, all_weights = [], []
        for token in self.dropout(look_up(self.tgt_embedding, tgt_in)).unbind(dim=1):
            step_input = token
            if self.config.attention:
                context, weights = scaled_dot_product_attention(
                    hidden[:, None, None], keys[:, None], memory[:, None], src_mask
                )
                step_input = torch.cat((token, context[:, 0, 0]), dim=-1)
                all_weights.append(weights)
            hidden, cell = self.decoder(step_input, (hidden, cell))
            hidden_states.append(hidden)
        cache.tensors = hidden, cell, keys
        return torch.stack(hidden_states, dim=1), all_weights

    def _first_state_and_keys(self, memory: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the decoder's first hidden and cell state, and the keys of the source.

        The state is the encoder's last one; with attention it is made of the backward direction's.
        """
        if not self.config.attention:
            keys = memory  # never compared with
            return memory[:, 0], memory[:, 1], keys
        hidden = torch.tanh(self.first_state(memory[:, 0, self.config.hidden_size :]))
        return hidden, torch.zeros_like(hidden), self.key_projection(memory)

    def new_cache(self) -> TensorCache:
        """Return an empty cache for `decode`: of hidden and cell state, and the source's keys."""
        return TensorCache()

    @check_argument_types
    @torch.no_grad()
    def attention_maps(self, src: Tensor, tgt_in: Tensor) -> AttentionMaps:
        """Return every attention weight: `cross`, with attention, has one layer of one head."""
        check_src_and_tgt(src, tgt_in)
        check_not_empty("tgt_in", tgt_in)
        src_mask = padding_mask(src)
        with evaluation_mode(self):
            memory = self.encode(src, src_mask)
            _, weights = self._decode_step_by_step(tgt_in, memory, src_mask, self.new_cache())
        (batch, src_len), tgt_len = src.shape, tgt_in.shape[1]

        def no_layer(q_len: int, k_len: int) -> Tensor:
            return torch.empty(0, batch, 1, q_len, k_len, device=src.device)

        cross = torch.cat(weights, dim=2)[None] if weights else no_layer(tgt_len, src_len)
        return AttentionMaps(no_layer(src_len, src_len), no_layer(tgt_len, tgt_len), cross)
