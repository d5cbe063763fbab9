"""Muon, an optimizer for matrices between hidden layers (Jordan et al. 2024; not in the paper).

Adam gives every number a step of about the same size. Muon does so for every *direction* of a
matrix: it takes the momentum's singular vectors and leaves its singular values out.
"""

from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.optim import Optimizer

from transformer.config import TrainingConfig
from transformer.support.errors import UserError
from transformer.training import processes
from transformer.training.optimizer import paper_adam
from transformer.training.settings import RATE_FACTOR_KEY

MOMENTUM, ITERATIONS = 0.95, 5
# Of the odd polynomial that each iteration applies to the singular values: steep at 0, so that
# small ones grow fast; it leaves them between about 0.7 and 1.2, which does as well as 1.
LINEAR, CUBIC, QUINTIC = 3.4445, -4.7750, 2.0315
ADAM_UPDATE_RMS = 0.2  # root mean square of Adam's updates, in learning rates


def orthogonalize(matrices: Tensor) -> Tensor:
    """Bring every singular value near 1 by Newton and Schulz's iteration: products alone.

    Matrices (count, rows, columns), U S V^T each, become about U V^T.
    """
    wide = matrices if matrices.shape[1] <= matrices.shape[2] else matrices.mT
    # No singular value is above the root of the sum of all squares.
    wide = wide / wide.norm(dim=(1, 2), keepdim=True).clamp(min=1e-7)
    for _ in range(ITERATIONS):
        gram = wide @ wide.mT
        update = torch.baddbmm(gram, gram, gram, beta=CUBIC, alpha=QUINTIC)
        wide = torch.baddbmm(wide, update, wide, beta=LINEAR)
    return wide if matrices.shape[1] <= matrices.shape[2] else wide.mT


class Muon(Optimizer):
    """Nesterov momentum, made orthogonal, of the size of Adam's updates.

    PyTorch has one from 2.9 on, which always computes in bfloat16: on a processor without
    instructions for that it takes 20 times as long. The precision here is the iteration's; the
    momentum has the parameters' own.
    """

    def __init__(
        self, matrices: Iterable[nn.Parameter], *, precision: torch.dtype = torch.float32
    ) -> None:
        super().__init__(list(matrices), {"lr": 0.0})
        self.precision = precision

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Update every matrix that has a gradient; those of one shape are computed together."""
        assert closure is None
        for group in self.param_groups:
            matrices = [matrix for matrix in group["params"] if matrix.grad is not None]
            for _, same_shape in groupby(
                sorted(matrices, key=_num_rows_and_columns), key=_num_rows_and_columns
            ):
                self._update(list(same_shape), group["lr"])

    def _update(self, matrices: list[nn.Parameter], rate: float) -> None:
        """Update matrices of one shape."""
        momenta = torch.stack([self._update_nesterov_momentum(matrix) for matrix in matrices])
        updates = _apply_across_processes(orthogonalize, momenta.to(self.precision)).to(
            momenta.dtype
        )
        size = ADAM_UPDATE_RMS * max(matrices[0].shape) ** 0.5
        for matrix, update in zip(matrices, updates, strict=True):
            matrix.add_(update, alpha=-rate * size)

    def _update_nesterov_momentum(self, matrix: nn.Parameter) -> Tensor:
        """Add a gradient to the momentum; return it one step ahead (Nesterov)."""
        assert matrix.grad is not None
        state = self.state[matrix]
        if not state:
            state["momentum_buffer"] = torch.zeros_like(matrix)
        momentum: Tensor = state["momentum_buffer"].lerp_(matrix.grad, 1 - MOMENTUM)
        return matrix.grad.lerp(momentum, MOMENTUM)


def _num_rows_and_columns(matrix: Tensor) -> tuple[int, int]:
    rows, columns = matrix.shape
    return rows, columns


def _apply_across_processes(function: Callable[[Tensor], Tensor], parts: Tensor) -> Tensor:
    """Apply a function along a tensor's first dimension, shared by all processes.

    Each process computes part `rank` and every `world_size`-th after it; the sum over processes,
    which have zeros elsewhere, is the whole.
    """
    if processes.world_size() == 1:
        return function(parts)
    results = torch.zeros_like(parts)
    own = slice(processes.rank(), None, processes.world_size())
    results[own] = function(parts[own])
    dist.all_reduce(results)
    return results


class MuonAndAdam(Optimizer):
    """Muon for the matrices between hidden layers; Adam for embeddings, softmax, norms and biases.

    The precision is that of Muon's own products; its learning rate is a multiple of Adam's.
    """

    def __init__(
        self,
        model: nn.Module,
        config: TrainingConfig,
        *,
        rate_factor: float = 1.0,
        precision: torch.dtype = torch.float32,
    ) -> None:
        hidden = _hidden_matrices(model)
        if not hidden:
            raise UserError("the model has no matrix between hidden layers: take optimizer=adam")
        hidden_ids = {id(matrix) for matrix in hidden}
        others = [weight for weight in model.parameters() if id(weight) not in hidden_ids]
        groups: list[dict[str, Any]] = [
            {"params": others},
            {"params": hidden, RATE_FACTOR_KEY: rate_factor},
        ]
        super().__init__(groups, {"lr": 0.0})
        muon = Muon(hidden, precision=precision)
        self.parts: tuple[Optimizer, ...] = (paper_adam(others, config), muon)

    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Make a step of both; their state is in one place, for a checkpoint."""
        assert closure is None
        for part, group in zip(self.parts, self.param_groups, strict=True):
            part.state = self.state
            part.param_groups[0]["lr"] = group["lr"]
            part.step()


def _hidden_matrices(model: nn.Module) -> list[nn.Parameter]:
    """Return the matrices that map hidden vectors to hidden vectors: not embeddings or softmax."""
    tables = {id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)}
    tables |= {
        id(module.weight)
        for name, module in model.named_modules()
        if name.split(".")[-1] == "output" and isinstance(module, nn.Linear)
    }
    return [
        weight for weight in model.parameters() if weight.ndim == 2 and id(weight) not in tables
    ]
