"""A run's whole state in one file, to go on from as if it had never stopped.

Not in the paper. The file holds the weights, the optimizer's moments and the random numbers, and
in its metadata whatever the run has to say. What must agree is in one file, so a kill at any
moment leaves a state to go on from.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import AdamW, Optimizer

from transformer.models.checkpoint import (
    holds_state,
    load_tensors,
    load_weights,
    misfit,
    require_finite,
    save_tensors,
    weights,
)
from transformer.support.errors import UserError


def save_state(
    path: Path,
    model: nn.Module,
    optimizers: Sequence[Optimizer],
    device: torch.device,
    **about: Any,
) -> None:
    """Write all that a run needs to go on.

    Args:
        path: Where to.
        model, optimizers: Of the run.
        device: Where they are; a GPU has random numbers of its own.
        about: Values for the metadata, anything that JSON can hold.

    Raises:
        UserError: the file cannot be written; the one before is unharmed.
    """
    tensors = {f"model/{name}": tensor for name, tensor in weights(model).items()}
    moments_of = _moments(optimizers)
    for index, moments in moments_of.items():
        tensors |= {f"optimizer/{index}/{key}": value for key, value in moments.items()}
    tensors["random/cpu"] = torch.get_rng_state()
    if device.type == "cuda":
        tensors["random/cuda"] = torch.cuda.get_rng_state(device)
    save_tensors(path, tensors, moments_of=sorted(moments_of), **about)


def load_state(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what `save_state` wrote.

    Returns:
        The tensors for `restore`, and the metadata.

    Raises:
        UserError: the file is missing or damaged, or holds weights only, or not every moment
            of the optimizers that it was written with.
    """
    tensors, about = load_tensors(path)
    if not holds_state(tensors):
        raise UserError(f"{path} holds weights only: put the run's own file back")
    parts = [name.split("/") for name in tensors]
    here = {part[1] for part in parts if part[0] == "optimizer" and len(part) == 3}
    wanted = about.pop("moments_of", None)  # of an earlier version: without
    if wanted is not None and here != {str(index) for index in wanted}:
        raise UserError(f"{path} has lost a part of its optimizer: put the run's own file back")
    return tensors, about


def restore(
    tensors: Mapping[str, Tensor],
    model: nn.Module,
    optimizers: Sequence[Optimizer],
    device: torch.device,
    source: Path,
    *,
    steps: int,
) -> None:
    """Put model, optimizers and random numbers where `save_state` found them.

    All is checked before anything is restored: Adam's kernel trusts its moments to have the
    sizes of the parameters, and writes past the end of one that is smaller.

    Args:
        tensors: As `load_state` gave them.
        model: Built as the one saved.
        optimizers: As `training.optimizers` makes them of its parameters.
        device: Of the model.
        source: The file that the tensors are from, for the message.
        steps: Updates that the model had had; after the first there are moments.

    Raises:
        UserError: the tensors are another model's, of other kinds or not finite, or there are
            no moments; model, optimizers and random numbers are as they were.
    """
    own = {name.removeprefix("model/"): t for name, t in tensors.items() if name[:6] == "model/"}
    rest = {name: tensor for name, tensor in tensors.items() if name[:6] != "model/"}
    _require_fit(own, weights(model), source)
    _require_fit(rest, _wanted(rest, optimizers, device), source)
    moments: dict[int, dict[str, Tensor]] = {}
    for name, tensor in rest.items():
        part, *inner = name.split("/")
        if part == "optimizer":
            moments.setdefault(int(inner[0]), {})[inner[1]] = tensor
    if steps > 0 and not moments:
        raise UserError(f"{source} has no moments of the optimizer: put the run's own file back")
    _require_random(rest, device, source)
    load_weights(model, own, source)
    for optimizer, numbers in _numbered(optimizers):
        own_moments = {i: moments[n] for i, n in enumerate(numbers) if n in moments}
        optimizer.load_state_dict(optimizer.state_dict() | {"state": own_moments})
    torch.set_rng_state(rest["random/cpu"])
    if device.type == "cuda" and "random/cuda" in rest:
        torch.cuda.set_rng_state(rest["random/cuda"], device)


def _numbered(optimizers: Sequence[Optimizer]) -> Iterator[tuple[Optimizer, range]]:
    """Give each optimizer with the numbers of its parameters, which go on from one to the next."""
    first = 0
    for optimizer in optimizers:
        count = sum(len(group["params"]) for group in optimizer.param_groups)
        yield optimizer, range(first, first + count)
        first += count


def _moments(optimizers: Sequence[Optimizer]) -> dict[int, dict[str, Tensor]]:
    """Give what the optimizers remember of each parameter, by its number."""
    return {
        numbers[index]: moments
        for optimizer, numbers in _numbered(optimizers)
        for index, moments in optimizer.state_dict()["state"].items()
    }


def _wanted(
    tensors: Mapping[str, Tensor], optimizers: Sequence[Optimizer], device: torch.device
) -> dict[str, Tensor]:
    """Give tensors of the sizes and kinds that a state must have, the model's left out.

    A parameter that no loss depends on has no moments.
    """
    wanted = {"random/cpu": torch.get_rng_state()}
    if "random/cuda" in tensors:  # which a CPU has no use for
        used = device.type == "cuda"
        wanted["random/cuda"] = torch.cuda.get_rng_state(device) if used else tensors["random/cuda"]
    for optimizer, numbers in _numbered(optimizers):
        parameters = [each for group in optimizer.param_groups for each in group["params"]]
        for number, parameter in zip(numbers, parameters, strict=True):
            prefix = f"optimizer/{number}/"
            if not any(name.startswith(prefix) for name in tensors):
                continue
            if isinstance(optimizer, AdamW):
                wanted[f"{prefix}step"] = torch.zeros(())
                wanted |= {f"{prefix}exp_avg": parameter, f"{prefix}exp_avg_sq": parameter}
            else:  # Muon
                wanted[f"{prefix}momentum_buffer"] = parameter
    return wanted


def _require_fit(has: Mapping[str, Tensor], wants: Mapping[str, Tensor], source: Path) -> None:
    """Refuse tensors that cannot take the place of others, or are not finite."""
    if problem := misfit(has, wants, same_kind=True):
        raise UserError(
            f"{source} does not fit this model: {problem}; "
            "put the run's own file back, or begin in another folder"
        )
    require_finite(has, source)


def _require_random(tensors: Mapping[str, Tensor], device: torch.device, source: Path) -> None:
    """Refuse random numbers that torch could not go on from, tried on a generator of their own."""
    try:
        torch.Generator().set_state(tensors["random/cpu"])
        if device.type == "cuda" and "random/cuda" in tensors:
            torch.Generator(device).set_state(tensors["random/cuda"])
    except RuntimeError as error:
        raise UserError(
            f"{source} is damaged: its random numbers are not torch's; put the run's own file back"
        ) from error
