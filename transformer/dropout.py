"""Dropout (§5.4), and running a model without it."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.support.checks import check_number

LEVELS = 2**16  # of a random number of 16 bits


def dropout(hidden: Tensor, p: float, training: bool = True) -> Tensor:
    """Zero each number with probability p while training, and scale up the rest (§5.4).

    On a CPU, PyTorch spends a random number of 64 bits on each decision; here four share one, which
    saves a tenth of a step. p is rounded to a multiple of 2^-16 and the scale is the rounded p's,
    so the mean is kept exactly. Without training the tensor itself is returned.
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

    def __init__(self, p: float = 0.5) -> None:
        check_number("dropout", p, 0, 1)
        super().__init__(p)

    def forward(self, hidden: Tensor) -> Tensor:
        """Drop numbers of a tensor of any shape; in evaluation give the tensor itself."""
        return dropout(hidden, self.p, self.training)


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Run a model without dropout; afterwards every part of it is in the mode it was in."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode
