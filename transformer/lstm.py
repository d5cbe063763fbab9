"""LSTM encoder-decoders, which the Transformer replaced (§1, §2), behind the same interface.

Not in the paper. Without attention: Sutskever et al. 2014 (arXiv 1409.3215). With it: the
bidirectional encoder and the step-by-step context of Bahdanau et al. 2015 (arXiv 1409.0473), the
query compared by dot product.
"""

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from transformer.attention import Cache, scaled_dot_product_attention
from transformer.config import RecurrentConfig
from transformer.embeddings import look_up
from transformer.masks import padding_mask
from transformer.model import AttentionMaps
from transformer.support.checks import check_pair
from transformer.support.modes import evaluating


class Recurrent(nn.Module):
    """An LSTM that reads the source and an LSTM that writes the target.

    With attention the encoder reads in both directions, its memory has a vector for each source
    token, and before each step the decoder's state is compared with all of them; their average
    enters the step beside the token. Without it the memory is the encoder's last state.
    """

    def __init__(
        self, config: RecurrentConfig, *, src_vocab_size: int, tgt_vocab_size: int
    ) -> None:
        super().__init__()
        self.config = config
        width, size = config.embedding_size, config.hidden_size
        memory_size = 2 * size if config.attention else 0
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
        """Score every next token of every target prefix, as `Transformer.forward`."""
        check_pair(src, tgt_in)
        src_mask = padding_mask(src)
        return self.decode(tgt_in, self.encode(src, src_mask), src_mask)

    def encode(self, src: Tensor, src_mask: Tensor) -> Tensor:
        """Read (batch, src_len) into both directions' hidden states, 0 at padding.

        They are (batch, src_len, 2 * hidden_size); without attention it gives the last hidden and
        cell state, (batch, 2, hidden_size).
        """
        embedded = self.dropout(look_up(self.src_embedding, src))
        lengths = src_mask.flatten(start_dim=1).sum(dim=1).cpu()
        packed = pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
        outputs, (hidden, cell) = self.encoder(packed)
        if not self.config.attention:
            return torch.stack((hidden[0], cell[0]), dim=1)
        return pad_packed_sequence(outputs, batch_first=True, total_length=src.shape[1])[0]

    def decode(
        self, tgt_in: Tensor, memory: Tensor, src_mask: Tensor, cache: Cache | None = None
    ) -> Tensor:
        """Score the token after each of `tgt_in`; arguments as of `Transformer.decode`."""
        return self.output(self._steps(tgt_in, memory, src_mask, cache or self.new_cache())[0])

    def _steps(
        self, tgt_in: Tensor, memory: Tensor, src_mask: Tensor, cache: Cache
    ) -> tuple[Tensor, list[Tensor]]:
        """Run the decoder token by token.

        Gives its hidden states (batch, tgt_len, hidden_size), and each step's attention weights
        (batch, 1, 1, src_len), none without attention.
        """
        hidden, cell, keys = cache.tensors or self._begin(memory)
        said, collected = [], []
        for token in self.dropout(look_up(self.tgt_embedding, tgt_in)).unbind(dim=1):
            step_input = token
            if self.config.attention:
                context, weights = scaled_dot_product_attention(
                    hidden[:, None, None], keys[:, None], memory[:, None], src_mask
                )
                step_input = torch.cat((token, context[:, 0, 0]), dim=-1)
                collected.append(weights)
            hidden, cell = self.decoder(step_input, (hidden, cell))
            said.append(hidden)
        cache.tensors = hidden, cell, keys
        return torch.stack(said, dim=1), collected

    def _begin(self, memory: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Give hidden and cell state where the encoder ended (or has read backwards), and keys."""
        if not self.config.attention:
            return memory[:, 0], memory[:, 1], memory  # never compared with
        hidden = torch.tanh(self.first_state(memory[:, 0, self.config.hidden_size :]))
        return hidden, torch.zeros_like(hidden), self.key_projection(memory)

    def new_cache(self) -> Cache:
        """Make an empty cache for `decode`: of hidden and cell state, and the source's keys."""
        return Cache()

    @torch.no_grad()
    def attention_maps(self, src: Tensor, tgt_in: Tensor) -> AttentionMaps:
        """Give every attention weight: `cross`, with attention, has one layer of one head."""
        mask = padding_mask(src)
        with evaluating(self):
            weights = self._steps(tgt_in, self.encode(src, mask), mask, self.new_cache())[1]
        (batch, src_len), tgt_len = src.shape, tgt_in.shape[1]

        def no_layer(q_len: int, k_len: int) -> Tensor:
            return torch.empty(0, batch, 1, q_len, k_len, device=src.device)

        cross = torch.cat(weights, dim=2)[None] if weights else no_layer(tgt_len, src_len)
        return AttentionMaps(no_layer(src_len, src_len), no_layer(tgt_len, tgt_len), cross)
