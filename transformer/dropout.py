"""Dropout (§5.4), and running a model without it."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import Tensor, nn

LEVELS = 2**16  # of a random number of 16 bits


def dropout(hidden: Tensor, p: float, training: bool = True) -> Tensor:
    """Zero each number with probability p while training, and scale up the rest (§5.4).

    On a CPU, PyTorch's spends a random number of 64 bits on each decision, and a step that trains
    on captions takes a tenth longer with it. Here four decisions share one: p is rounded to a
    multiple of 2^-16, and the scale is that of the rounded p, so the mean is kept exactly.

    Args:
        hidden: Of any shape and floating type.
        p: From 0 to 1.
        training: Whether to drop at all.

    Returns:
        The same shape; without training the tensor itself.
    """
    if not training or p in (0, 1) or hidden.device.type != "cpu":
        return F.dropout(hidden, p, training)
    kept = max(1, round((1 - p) * LEVELS))  # of LEVELS
    longs = torch.empty((hidden.numel() + 3) // 4, dtype=torch.int64)
    bits = longs.random_(-(2**63), None).view(torch.int16)[: hidden.numel()]
    mask = (bits <= kept - 1 - LEVELS // 2).view(hidden.shape)  # which has 16 bits at p = 0 too
    return hidden * (mask.to(hidden.dtype) * (LEVELS / kept))


class Dropout(nn.Dropout):
    """`nn.Dropout` that calls `dropout`."""

    def forward(self, hidden: Tensor) -> Tensor:
        """Give a tensor of the same shape, any; in evaluation the tensor itself."""
        return dropout(hidden, self.p, self.training)


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Run a model without dropout; afterwards every part of it is in the mode it was in.

    Not in the paper.
    """
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode
