"""Dropout whose random numbers are cheap in mixed precision on a CPU (§5.4)."""

import torch
from torch import Tensor, nn

LEVELS = 2**16  # of a random number of 16 bits


class Dropout(nn.Dropout):
    """Zero each number with probability p while training, and scale up the rest (§5.4).

    On a CPU, `nn.Dropout` spends a random number of 64 bits on each decision: a tenth of a small
    model's step. In mixed precision (autocast), which asks for speed, four decisions share one:
    p is rounded to a multiple of 2^-16, and the scale is that of the rounded p, so the mean is
    kept exactly. Everywhere else this is `nn.Dropout`, and drops the same.
    """

    def forward(self, hidden: Tensor) -> Tensor:
        """Give a tensor of the same shape, any; in evaluation the tensor itself."""
        mixed = hidden.device.type == "cpu" and torch.is_autocast_enabled("cpu")
        if not self.training or self.p == 0 or not mixed:
            return super().forward(hidden)
        kept = max(1, round((1 - self.p) * LEVELS))  # of LEVELS
        longs = torch.empty((hidden.numel() + 3) // 4, dtype=torch.int64)
        bits = longs.random_(-(2**63), None).view(torch.int16)[: hidden.numel()]
        mask = (bits <= kept - 1 - LEVELS // 2).view(hidden.shape)  # which has 16 bits at p = 0 too
        return hidden * (mask.to(hidden.dtype) * (LEVELS / kept))
