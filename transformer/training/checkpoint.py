"""A training run's state and progress, and the checkpoint file that holds both.

Not in the paper. What must agree is in one file, so that a process killed at any moment leaves a
checkpoint to resume from.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from transformer.models.weights import RNG_STATE, load_weights, model_weights, save_tensors

DEVICE_RNG_STATE = "random/device"  # the name of a GPU's random state among the tensors


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
    overflows: int = 0  # steps that were left out, in fp16
    overflows_in_a_row: int = 0  # of the last steps
    to_average: list[int] = field(default_factory=list)  # the last validations' steps
    log_bytes: int = 0  # length of the log


@dataclass
class State:
    """All that a checkpoint holds of a run."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    scaler: torch.amp.GradScaler  # of the loss, in fp16; else it does nothing
    device: torch.device  # where the model is
    progress: Progress = field(default_factory=Progress)

    def save(self, path: Path, settings: Mapping[str, Any]) -> None:
        """Write all that a run needs to go on; the file of before is unharmed until it is whole."""
        tensors = {f"model/{name}": each for name, each in model_weights(self.model).items()}
        for index, moments in self.optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer/{index}/{key}": value for key, value in moments.items()}
        tensors[RNG_STATE] = torch.get_rng_state()
        if self.device.type == "cuda":
            tensors[DEVICE_RNG_STATE] = torch.cuda.get_rng_state(self.device)
        about = {"progress": vars(self.progress), "scaler": self.scaler.state_dict()}
        save_tensors(path, tensors, **about, settings=settings)

    def restore(self, tensors: Mapping[str, Tensor], about: Mapping[str, Any], path: Path) -> None:
        """Take over what `save` wrote to a path; a `UserError` says that it is another model's."""
        own: dict[str, Tensor] = {}
        moments: dict[int, dict[str, Tensor]] = {}
        for name, tensor in tensors.items():
            part, _, rest = name.partition("/")
            if part == "model":
                own[rest] = tensor
            elif part == "optimizer":
                index, key = rest.split("/")
                moments.setdefault(int(index), {})[key] = tensor
        load_weights(self.model, own, path)
        self.optimizer.load_state_dict(self.optimizer.state_dict() | {"state": moments})
        self.scaler.load_state_dict(about["scaler"])
        vars(self.progress).update(about["progress"])
        torch.set_rng_state(tensors[RNG_STATE])
        if self.device.type == "cuda" and DEVICE_RNG_STATE in tensors:
            torch.cuda.set_rng_state(tensors[DEVICE_RNG_STATE], self.device)
