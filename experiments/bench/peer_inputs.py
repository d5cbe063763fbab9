"""What the toolkits that we are measured beside read of a batch, and our models do not.

Not in the paper.
"""

import torch
from torch import Tensor

from transformer.config import PAD_ID
from transformer.data.batches import Batch


def whole_targets(batch: Batch) -> Tensor:
    """Return bos, words, eos and padding of each target, (batch, tgt_len + 1)."""
    return torch.cat([batch.tgt_in[:, :1], batch.tgt_out], dim=1)


def real_lengths(ids: Tensor) -> Tensor:
    """Return how many tokens of each row are no padding, (batch,)."""
    return (ids != PAD_ID).sum(dim=1)
