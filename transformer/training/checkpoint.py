"""A run's whole state in one file, to go on from as if it had never stopped.

Not in the paper. The file holds the weights, the optimizer's moments and the random numbers, and
in its metadata how far the run is and what was asked for. What must agree is in one file, so a
kill at any moment leaves a state to go on from.
"""

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

State = tuple[dict[str, Tensor], dict[str, Any]]  # tensors, and what is said about them


@dataclass(kw_only=True)
class Progress:
    """Where a run stands; losses are in nats."""

    step: int = 0  # updates done
    epoch: int = 0  # place in the data, from 0
    batch: int = 0  # how many batches of the epoch are used up
    best_loss: float | None = None  # lowest validation loss per token; None before the first
    best_step: int | None = None  # the step that it was measured after
    seconds: float = 0.0  # time spent
    window_nll: float = 0.0  # since the last report: the sum of the loss,
    window_tokens: int = 0  # the real target tokens,
    window_seconds: float = 0.0  # and the time spent in updates


def save_state(
    path: Path,
    model: nn.Module,
    optimizer: Optimizer,
    progress: Progress,
    settings: Mapping[str, Any],
) -> None:
    """Write all that a run needs to go on; the file of before is unharmed until it is whole.

    What was asked for, `settings`, is to be ready for JSON. Of a GPU's run, its random numbers
    are saved too.
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
    """Read what `save_state` wrote, for `restore`; only `steps` may differ from the settings then.

    Raises:
        UserError: the file is missing, damaged or holds weights only, or the run was begun with
            other settings (the first is named).
    """
    tensors, about = load_tensors(path)
    if STATE not in tensors:
        raise UserError(f"{path} holds weights only: {PUT_BACK}")
    if about.get("names") != sorted(tensors):
        raise UserError(f"{path} has lost a part: {PUT_BACK}")
    require_same(about["settings"], settings)
    return tensors, about


def restore(state: State, model: nn.Module, optimizer: Optimizer, source: Path) -> Progress:
    """Put model, optimizer and random numbers where `save_state` found them; say how far it was.

    Args:
        state: As `load_state` gave it.
        model, optimizer: Made as those that were saved.
        source: The file that the state is from, for the message.

    Raises:
        UserError: the state is another model's or optimizer's, or no run's at all.
    """
    tensors, about = state
    progress = Progress(**about["progress"])
    own: dict[str, Tensor] = {}
    moments: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        part, _, rest = name.partition("/")
        if part == "model":
            own[rest] = tensor
        elif part == "optimizer":
            index, _, key = rest.partition("/")
            moments.setdefault(int(index), {})[key] = tensor
    load_weights(model, own, source)
    # Adam trusts its moments to have the parameters' sizes, and writes past a shorter one's end.
    parameters = [each for group in optimizer.param_groups for each in group["params"]]
    sound = bool(moments) or progress.step == 0
    for number, own_moments in moments.items():
        shape = parameters[number].shape if number < len(parameters) else None
        kinds = {(moment.shape, moment.dtype) for moment in own_moments.values() if moment.dim()}
        sound = sound and kinds <= {(shape, torch.float32), (shape, torch.float64)}
    if not sound:
        raise UserError(f"{source} has not this model's moments of the optimizer: {PUT_BACK}")
    optimizer.load_state_dict(optimizer.state_dict() | {"state": moments})
    device = next(model.parameters()).device
    try:
        torch.set_rng_state(tensors[STATE])
        if device.type == "cuda" and CUDA in tensors:
            torch.cuda.set_rng_state(tensors[CUDA], device)
    except RuntimeError as error:
        raise UserError(f"{source} has random numbers that are not torch's: {PUT_BACK}") from error
    return progress


def require_same(saved: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Refuse to go on with other settings (of any depth) than those begun with, but for `steps`."""
    for key in dict.fromkeys([*saved, *given]):
        before, now = saved.get(key), given.get(key)
        if isinstance(before, Mapping) and isinstance(now, Mapping):
            require_same(before, now)
        elif before != now and key != "steps":
            raise UserError(
                f"the run was begun with {key}={before} and cannot go on with {key}={now}: "
                f"give {key}={before}, or begin in another folder"
            )
