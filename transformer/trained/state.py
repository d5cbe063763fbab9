"""A run's whole state in one file, to go on from as if it had never stopped.

Not in the paper. The file holds the weights, the optimizer's moments and the random numbers, and
in its metadata whatever the run has to say. What must agree is in one file, so a kill at any
moment leaves a state to go on from.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from transformer.support.errors import UserError
from transformer.trained.checkpoint import (
    holds_state,
    load_tensors,
    load_weights,
    save_tensors,
    weights,
)


def save_state(
    path: Path, model: nn.Module, optimizer: Optimizer, device: torch.device, **about: Any
) -> None:
    """Write all that a run needs to go on.

    Args:
        path: Where to.
        model, optimizer: Of the run.
        device: Where they are; a GPU has random numbers of its own.
        about: Values for the metadata, anything that JSON can hold.

    Raises:
        UserError: the file cannot be written; the one before is unharmed.
    """
    tensors = {f"model/{name}": tensor for name, tensor in weights(model).items()}
    for index, moments in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer/{index}/{key}": value for key, value in moments.items()}
    tensors["random/cpu"] = torch.get_rng_state()
    if device.type == "cuda":
        tensors["random/cuda"] = torch.cuda.get_rng_state(device)
    save_tensors(path, tensors, **about)


def load_state(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what `save_state` wrote.

    Returns:
        The tensors for `restore`, and the metadata.

    Raises:
        UserError: the file is missing or damaged, or holds weights only.
    """
    tensors, about = load_tensors(path)
    if not holds_state(tensors):
        raise UserError(f"{path} holds weights only: put the run's own file back")
    return tensors, about


def restore(
    tensors: Mapping[str, Tensor],
    model: nn.Module,
    optimizer: Optimizer,
    device: torch.device,
    source: Path,
) -> None:
    """Put model, optimizer and random numbers where `save_state` found them.

    Args:
        tensors: As `load_state` gave them.
        model: Built as the one saved.
        optimizer: Of its parameters.
        device: Of the model.
        source: The file that the tensors are from, for the message.

    Raises:
        UserError: the tensors are another model's.
    """
    parts: dict[str, dict[str, Tensor]] = {"model": {}, "optimizer": {}, "random": {}}
    for name, tensor in tensors.items():
        part, _, rest = name.partition("/")
        parts[part][rest] = tensor
    load_weights(model, parts["model"], source)
    moments: dict[int, dict[str, Tensor]] = {}
    for name, tensor in parts["optimizer"].items():
        index, _, key = name.partition("/")
        moments.setdefault(int(index), {})[key] = tensor
    optimizer.load_state_dict(optimizer.state_dict() | {"state": moments})
    torch.set_rng_state(parts["random"]["cpu"])
    if device.type == "cuda" and "cuda" in parts["random"]:
        torch.cuda.set_rng_state(parts["random"]["cuda"], device)
