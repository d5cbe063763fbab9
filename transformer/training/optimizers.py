"""What turns gradients into updates: Adam (§5.3), or Muon with Adam beside it."""

from collections.abc import Sequence

import torch
from torch import nn
from torch.optim import AdamW
from torch.optim import Optimizer as TorchOptimizer

from experiments.muon import Muon
from transformer.config import Optimizer, TrainingConfig
from transformer.support.errors import UserError
from transformer.training.distributed import ALONE, Processes

FACTOR = "rate_factor"  # of a group of parameters: what the schedule's rate is multiplied by


def make_optimizers(
    model: nn.Module, config: TrainingConfig, processes: Processes = ALONE
) -> tuple[TorchOptimizer, ...]:
    """Share a model's parameters out among optimizers.

    Muon (Jordan et al. 2024; not in the paper) turns the momentum of a matrix into the nearest
    orthogonal matrix, so that an update is equally large in every direction. It is made for the
    matrices between hidden layers. Embeddings, the softmax, norms and biases stay with Adam.
    Like the products, its own are in bfloat16 where the training asks for that.

    Args:
        model: On its device.
        config: Which optimizer, and its settings; `set_rate` gives the rate of each step.
        processes: Those that make the same steps.

    Raises:
        UserError: the model has no matrix for Muon.
    """
    hidden = _hidden_matrices(model) if config.optimizer == Optimizer.MUON else []
    apart = {id(matrix) for matrix in hidden}
    adam = AdamW(
        [each for each in model.parameters() if id(each) not in apart],
        lr=0.0,
        betas=(config.beta1, config.beta2),
        eps=config.epsilon,
        weight_decay=config.weight_decay,
        fused=True,
    )
    adam.param_groups[0][FACTOR] = 1.0
    if config.optimizer == Optimizer.ADAM:
        return (adam,)
    if not hidden:
        raise UserError("the model has no matrix between hidden layers: take optimizer=adam")
    precision = torch.bfloat16 if config.bf16 else torch.float32
    muon = Muon(hidden, weight_decay=config.weight_decay, precision=precision, processes=processes)
    muon.param_groups[0][FACTOR] = config.muon_rate_factor
    return adam, muon


def set_rate(optimizers: Sequence[TorchOptimizer], rate: float) -> None:
    """Give every optimizer its rate for the next step.

    Args:
        optimizers: As `make_optimizers` gave them.
        rate: The schedule's.
    """
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = rate * group[FACTOR]


def _hidden_matrices(model: nn.Module) -> list[nn.Parameter]:
    """Give the matrices that map hidden vectors to hidden vectors: not embeddings or softmax."""
    tables = {id(each.weight) for each in model.modules() if isinstance(each, nn.Embedding)}
    output = getattr(model, "output", None)
    if isinstance(output, nn.Linear):
        tables.add(id(output.weight))
    return [each for each in model.parameters() if each.ndim == 2 and id(each) not in tables]
