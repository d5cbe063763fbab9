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

from transformer.models.weights import CPU_RNG_STATE_NAME, load_weights, model_weights, save_tensors
from transformer.support.errors import UserError

DEVICE_RNG_STATE_NAME = "random/device"  # the name of a GPU's random state among the tensors


@dataclass(kw_only=True)
class Progress:
    """How far a run has come; losses are in nats."""

    step: int = 0  # updates done
    epoch: int = 0  # pass over the data, from 0
    batch: int = 0  # batches of this epoch that are used up
    best_loss: float | None = None  # lowest validation loss per token; None before the first
    best_step: int | None = None  # the step after which it was measured
    seconds: float = 0.0  # time spent
    window_nll: float = 0.0  # sum of the loss since the last report
    window_tokens: int = 0  # real target tokens since the last report
    window_seconds: float = 0.0  # time spent in updates since the last report
    overflows: int = 0  # steps skipped because a gradient overflowed in fp16
    overflows_in_a_row: int = 0  # how many of the latest steps were skipped
    to_average: list[int] = field(default_factory=list)  # the steps of the last validations
    log_bytes: int = 0  # length of the log


@dataclass
class TrainingState:
    """All that a checkpoint holds of a run."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    scaler: torch.amp.GradScaler  # scales the loss in fp16; in other precisions it does nothing
    device: torch.device  # where the model is
    progress: Progress = field(default_factory=Progress)

    def save(self, path: Path, settings: Mapping[str, Any]) -> None:
        """Write all that a run needs to resume; the file is replaced once the new one is whole."""
        tensors = {f"model/{name}": value for name, value in model_weights(self.model).items()}
        optimizer_tensors, plain_numbers = self._optimizer_state()
        tensors |= optimizer_tensors
        tensors[CPU_RNG_STATE_NAME] = torch.get_rng_state()
        if self.device.type == "cuda":
            tensors[DEVICE_RNG_STATE_NAME] = torch.cuda.get_rng_state(self.device)
        save_tensors(
            path,
            tensors,
            progress=vars(self.progress),
            scaler=self.scaler.state_dict(),
            settings=settings,
            plain_numbers=plain_numbers,
        )

    def _optimizer_state(self) -> tuple[dict[str, Tensor], list[str]]:
        """Return the optimizer's state as tensors, and the names of those that are plain numbers.

        Most optimizers hold tensors alone, but some count their steps in a Python number. A tensor
        of 64 bits holds it exactly, infinities too.
        """
        tensors: dict[str, Tensor] = {}
        plain_numbers = []
        for index, values in self.optimizer.state_dict()["state"].items():
            for key, value in values.items():
                name = f"optimizer/{index}/{key}"
                if isinstance(value, Tensor):
                    tensors[name] = value
                elif isinstance(value, float):
                    tensors[name] = torch.tensor(value, dtype=torch.float64)
                    plain_numbers.append(name)
                elif isinstance(value, int):
                    tensors[name] = torch.tensor(value)
                    plain_numbers.append(name)
                else:
                    raise UserError(
                        f"{type(self.optimizer).__name__} keeps {key!r} as {type(value).__name__}, "
                        "which no checkpoint holds: keep tensors and numbers in its state"
                    )
        return tensors, plain_numbers

    def restore(self, tensors: Mapping[str, Tensor], about: Mapping[str, Any], path: Path) -> None:
        """Take over what `save` wrote to a path; a `UserError` if it is of another model."""
        weights: dict[str, Tensor] = {}
        optimizer_state: dict[int, dict[str, Tensor | float]] = {}
        plain_numbers = set(about.get("plain_numbers", ()))
        for name, tensor in tensors.items():
            section, _, rest = name.partition("/")
            if section == "model":
                weights[rest] = tensor
            elif section == "optimizer":
                index, key = rest.split("/")
                value = tensor.item() if name in plain_numbers else tensor
                optimizer_state.setdefault(int(index), {})[key] = value
        load_weights(self.model, weights, path)
        self.optimizer.load_state_dict(self.optimizer.state_dict() | {"state": optimizer_state})
        self.scaler.load_state_dict(about["scaler"])
        vars(self.progress).update(about["progress"])
        torch.set_rng_state(tensors[CPU_RNG_STATE_NAME])
        if self.device.type == "cuda" and DEVICE_RNG_STATE_NAME in tensors:
            torch.cuda.set_rng_state(tensors[DEVICE_RNG_STATE_NAME], self.device)
