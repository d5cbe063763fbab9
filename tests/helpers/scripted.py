"""Models whose every probability is written down, and sources of several lengths."""

from itertools import product
from typing import Any, ClassVar

import torch
from torch import Tensor

from transformer.config import BOS_ID, EOS_ID, PAD_ID

VOCAB = 23


class Scripted:
    """A model whose next-token probabilities depend on the last token only.

    ids: 4 = a, 5 = b. After bos: a .6, b .4. After a: eos .1, a .45, b .45.
    After b: eos .9, a .05, b .05.
    """

    rows: ClassVar = {BOS_ID: (0.0, 0.6, 0.4), 4: (0.1, 0.45, 0.45), 5: (0.9, 0.05, 0.05)}

    def encode(self, src: Tensor, src_mask: Tensor) -> Tensor:
        return torch.zeros(*src.shape, 1)

    def decode(self, tgt_in: Tensor, memory: Tensor, src_mask: Tensor, cache: Any = None) -> Tensor:
        logits = torch.full((*tgt_in.shape, 6), -torch.inf)
        for index in product(range(tgt_in.shape[0]), range(tgt_in.shape[1])):
            end, a, b = self.rows[int(tgt_in[index])]
            logits[index] = torch.tensor([0.0, 0.0, 0.0, end, a, b]).log()
        return logits


class Sparse(Scripted):
    """A model most of whose next-token probabilities are 0; they depend on last token and place.

    Args:
        seed: Of the table.
        dead: Tokens after which only padding and bos have a probability.
    """

    places = 7  # then they repeat

    def __init__(self, seed: int, dead: tuple[int, ...] = ()) -> None:
        generator = torch.Generator().manual_seed(seed)
        shape = (self.places, VOCAB, VOCAB)
        impossible = torch.rand(shape, generator=generator) < 0.9
        impossible[:, list(dead)] = True
        impossible[:, :, [PAD_ID, BOS_ID]] = False
        logits = torch.randn(shape, generator=generator, dtype=torch.float64)
        self.table = logits.masked_fill(impossible, -torch.inf).log_softmax(dim=-1)

    def decode(self, tgt_in: Tensor, *_: Any) -> Tensor:
        return self.table[torch.arange(tgt_in.shape[1]) % self.places, tgt_in]

    def score(self, ids: list[int]) -> float:
        """Sum the log probabilities of ids after bos (nats)."""
        log_probs = self.decode(torch.tensor([[BOS_ID, *ids[:-1]]]))[0]
        return log_probs[range(len(ids)), ids].sum().item()


def padded_sources(vocab_size: int) -> Tensor:
    """Five random sentences, one of nothing but a word and its end: (5, 13)."""
    generator = torch.Generator().manual_seed(11)
    ids = torch.randint(4, vocab_size, (5, 13), generator=generator)
    for row, length in enumerate((13, 2, 7, 5, 11)):
        ids[row, length - 1] = EOS_ID
        ids[row, length:] = PAD_ID
    return ids
