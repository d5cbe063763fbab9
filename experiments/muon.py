"""Muon, an optimizer for matrices between hidden layers (Jordan et al. 2024; not in the paper).

Adam gives every number a step of about the same size. Muon does so for every *direction* of a
matrix: it takes the momentum's singular vectors and leaves its singular values out.
"""

from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Any

import torch
from torch import Tensor, nn

from transformer.training.distributed import ALONE, Processes

MOMENTUM, ITERATIONS = 0.95, 5
# Of the odd polynomial that each iteration applies to the singular values: steep at 0, so that
# small ones grow fast; it leaves them between about 0.7 and 1.2, which does as well as 1.
LINEAR, CUBIC, QUINTIC = 3.4445, -4.7750, 2.0315
LIKE_ADAM = 0.2  # root mean square of Adam's updates, in learning rates


def orthogonal(matrices: Tensor) -> Tensor:
    """Bring every singular value near 1 by Newton and Schulz's iteration: products alone.

    Args:
        matrices: (count, rows, columns), of any floating type; it computes in that.

    Returns:
        The same shape: U S V^T becomes about U V^T.
    """
    wide = matrices if matrices.shape[1] <= matrices.shape[2] else matrices.mT
    # No singular value is above the root of the sum of all squares.
    wide = wide / wide.norm(dim=(1, 2), keepdim=True).clamp(min=1e-7)
    for _ in range(ITERATIONS):
        gram = wide @ wide.mT
        update = torch.baddbmm(gram, gram, gram, beta=CUBIC, alpha=QUINTIC)
        wide = torch.baddbmm(wide, update, wide, beta=LINEAR)
    return wide if matrices.shape[1] <= matrices.shape[2] else wide.mT


class Muon(torch.optim.Optimizer):
    """Nesterov momentum, made orthogonal, of the size of Adam's updates.

    PyTorch has one from 2.9 on, which always computes in bfloat16: on a processor without
    instructions for that it takes 20 times as long.

    Args:
        matrices: The parameters, two dimensions each.
        weight_decay: Share of the weights that is taken off in each step, in learning rates.
        precision: Of the iteration; the momentum has the parameters' own.
        processes: Those that make the same step; each computes a share of it.
    """

    def __init__(
        self,
        matrices: Iterable[nn.Parameter],
        *,
        weight_decay: float = 0.0,
        precision: torch.dtype = torch.float32,
        processes: Processes = ALONE,
    ) -> None:
        super().__init__(list(matrices), {"lr": 0.0, "weight_decay": weight_decay})
        self.precision, self.processes = precision, processes

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Move every matrix that has a gradient; those of one shape are computed together."""
        assert closure is None
        for group in self.param_groups:
            moved = [each for each in group["params"] if each.grad is not None]
            for _, alike in groupby(sorted(moved, key=_shape), key=_shape):
                self._move(list(alike), group)

    def _move(self, alike: list[nn.Parameter], group: dict[str, Any]) -> None:
        """Move matrices of one shape."""
        ahead = torch.stack([self._momentum(each) for each in alike])
        updates = self.processes.divide(orthogonal, ahead.to(self.precision)).to(ahead.dtype)
        rate = group["lr"]
        size = LIKE_ADAM * max(alike[0].shape) ** 0.5
        for matrix, update in zip(alike, updates, strict=True):
            matrix.mul_(1 - rate * group["weight_decay"])
            matrix.add_(update, alpha=-rate * size)

    def _momentum(self, matrix: nn.Parameter) -> Tensor:
        """Take up a gradient, and give the momentum as it will be after the next like it."""
        assert matrix.grad is not None
        state = self.state[matrix]
        if not state:
            state["momentum_buffer"] = torch.zeros_like(matrix)
        momentum: Tensor = state["momentum_buffer"].lerp_(matrix.grad, 1 - MOMENTUM)
        return matrix.grad.lerp(momentum, MOMENTUM)


def _shape(matrix: Tensor) -> tuple[int, int]:
    rows, columns = matrix.shape
    return rows, columns
