"""Source sentences of several lengths, padded."""

import torch
from torch import Tensor

from transformer.config import EOS_ID, PAD_ID


def padded_sources(vocab_size: int) -> Tensor:
    """Five random sentences, one of nothing but a word and its end: (5, 13)."""
    generator = torch.Generator().manual_seed(11)
    ids = torch.randint(4, vocab_size, (5, 13), generator=generator)
    for row, length in enumerate((13, 2, 7, 5, 11)):
        ids[row, length - 1] = EOS_ID
        ids[row, length:] = PAD_ID
    return ids
