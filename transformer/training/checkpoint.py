"""A run's whole state in one file, to go on from as if it had never stopped.

Not in the paper. The file holds the weights, the optimizer's moments and the random numbers, and
in its metadata how far the run is and what was asked for. What must agree is in one file, so a
kill at any moment leaves a state to go on from.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from transformer.models.checkpoint import STATE, load_tensors, load_weights, save_tensors, weights
from transformer.support.errors import UserError

CUDA = "random/cuda"
PUT_BACK = "put the run's own file back, or begin in another folder"

State = tuple[dict[str, Tensor], dict[str, Any]]


@dataclass(kw_only=True)
class Progress:
    """Where a run stands.

    Attributes:
        step: Updates done.
        epoch, batch: Place in the data: the epoch, from 0, and how many of its batches
            are used up.
        best_loss, best_step: Lowest validation loss so far, nats per token, and the step that
            it was measured after; None before the first.
        seconds: Time spent.
        window_nll, window_tokens, window_seconds: Since the last report: the sum of the loss in
            nats, the real target tokens, and the time spent in updates.
    """

    step: int = 0
    epoch: int = 0
    batch: int = 0
    best_loss: float | None = None
    best_step: int | None = None
    seconds: float = 0.0
    window_nll: float = 0.0
    window_tokens: int = 0
    window_seconds: float = 0.0


def save_state(
    path: Path,
    model: nn.Module,
    optimizer: Optimizer,
    progress: Progress,
    settings: Mapping[str, Any],
) -> None:
    """Write all that a run needs to go on.

    Args:
        path: Where to.
        model, optimizer: Of the run; on a GPU, its random numbers are saved too.
        progress: How far the run is.
        settings: What was asked for, ready for JSON.

    Raises:
        UserError: the file cannot be written; the one before is unharmed.
    """
    tensors = {f"model/{name}": tensor for name, tensor in weights(model).items()}
    for index, moments in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer/{index}/{key}": value for key, value in moments.items()}
    tensors[STATE] = torch.get_rng_state()
    device = next(model.parameters()).device
    if device.type == "cuda":
        tensors[CUDA] = torch.cuda.get_rng_state(device)
    about = {"progress": vars(progress), "settings": settings, "names": sorted(tensors)}
    save_tensors(path, tensors, **about)


def load_state(path: Path, settings: Mapping[str, Any]) -> State:
    """Read what `save_state` wrote, for `restore`.

    Args:
        path: The file.
        settings: What is asked for now; only `steps` may be another than before.

    Raises:
        UserError: the file is missing, damaged or holds weights only, or the run was begun with
            other settings (the first is named).
    """
    tensors, about = load_tensors(path)
    if STATE not in tensors:
        raise UserError(f"{path} holds weights only: {PUT_BACK}")
    if about.get("names") != sorted(tensors) or not isinstance(about.get("settings"), dict):
        raise UserError(f"{path} has lost a part: {PUT_BACK}")
    require_same(about["settings"], settings)
    return tensors, about


def restore(state: State, model: nn.Module, optimizer: Optimizer, source: Path) -> Progress:
    """Put model, optimizer and random numbers where `save_state` found them.

    Args:
        state: As `load_state` gave it.
        model, optimizer: Made as those that were saved.
        source: The file that the state is from, for the message.

    Returns:
        How far the run is.

    Raises:
        UserError: the state is another model's or optimizer's, or no run's at all.
    """
    tensors, about = state
    progress = _progress(about.get("progress"), source)
    load_weights(
        model,
        {name[6:]: tensor for name, tensor in tensors.items() if name.startswith("model/")},
        source,
    )
    moments: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        if name.startswith("optimizer/"):
            _, index, key = name.split("/")
            moments.setdefault(int(index), {})[key] = tensor
    _require_moments(moments, optimizer, progress.step, source)
    optimizer.load_state_dict(optimizer.state_dict() | {"state": moments})
    device = next(model.parameters()).device
    try:
        torch.set_rng_state(tensors[STATE])
        if device.type == "cuda" and CUDA in tensors:
            torch.cuda.set_rng_state(tensors[CUDA], device)
    except RuntimeError as error:
        raise UserError(f"{source} has random numbers that are not torch's: {PUT_BACK}") from error
    return progress


def _progress(values: Any, source: Path) -> Progress:
    """Read how far a run is; refuse what no run has said."""
    try:
        progress = Progress(**values)
        for name, usual in vars(Progress()).items():
            value = getattr(progress, name)
            kinds = (int, float) if type(usual) is float or name == "best_loss" else (int,)
            if value is None and usual is None:
                continue
            if type(value) not in kinds or not 0 <= value < math.inf:
                raise TypeError(f"{name} is {value!r}")
    except TypeError as error:
        raise UserError(f"{source} says no run's progress ({error}): {PUT_BACK}") from error
    return progress


def _require_moments(
    moments: Mapping[int, Mapping[str, Tensor]], optimizer: Optimizer, step: int, source: Path
) -> None:
    """Refuse moments of other sizes than the parameters': Adam would write past their end."""
    parameters = [each for group in optimizer.param_groups for each in group["params"]]
    sound = bool(moments) or step == 0
    for index, each in moments.items():
        shape = parameters[index].shape if index < len(parameters) else None
        kinds = {(moment.shape, moment.dtype) for moment in each.values() if moment.dim()}
        sound = sound and kinds <= {(shape, torch.float32), (shape, torch.float64)}
    if not sound:
        raise UserError(f"{source} has not this model's moments of the optimizer: {PUT_BACK}")


def require_same(saved: Mapping[str, Any], given: Mapping[str, Any], free: str = "steps") -> None:
    """Refuse to go on with another configuration than the one begun with.

    Args:
        saved: The values begun with; may hold mappings.
        given: The values now.
        free: The one key that may change.

    Raises:
        UserError: a key differs; both values are named.
    """
    for key in [*saved, *(key for key in given if key not in saved)]:
        before, now = saved.get(key), given.get(key)
        if isinstance(before, Mapping) and isinstance(now, Mapping):
            require_same(before, now, free)
        elif before != now and key != free:
            raise UserError(
                f"the run was begun with {key}={before} and cannot go on with {key}={now}: "
                f"give {key}={before}, or begin in another folder"
            )
