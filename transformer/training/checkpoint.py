"""A training run's state and progress, and the checkpoint file that holds both.

Not in the paper. What must agree is in one file, so that a process killed at any moment leaves a
checkpoint to resume from.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from transformer.models.weights import (
    CPU_RNG_STATE_NAME,
    check_weights,
    load_weights,
    model_weights,
    save_tensors,
)
from transformer.support.errors import UserError, short_repr
from transformer.support.formats import FORMAT_KEY, FORMAT_VERSION
from transformer.training.checkpoint_checks import (
    OptimizerState,
    optimizer_state_problem,
    optimizer_state_specs,
    progress_problem,
    rng_state_problem,
    scaler_state_problem,
)

DEVICE_RNG_STATE_NAME = "random/device"  # the name of a GPU's random state among the tensors
MODEL_PREFIX, OPTIMIZER_PREFIX = "model/", "optimizer/"  # of the names of tensors


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
        weights = model_weights(self.model)
        tensors = {f"{MODEL_PREFIX}{name}": value for name, value in weights.items()}
        optimizer_tensors, plain_numbers = self._optimizer_state_as_tensors()
        tensors |= optimizer_tensors
        tensors[CPU_RNG_STATE_NAME] = torch.get_rng_state()
        if self.device.type == "cuda":
            tensors[DEVICE_RNG_STATE_NAME] = torch.cuda.get_rng_state(self.device)
        save_tensors(
            path,
            tensors,
            **{FORMAT_KEY: FORMAT_VERSION},
            progress=vars(self.progress),
            scaler=self.scaler.state_dict(),
            settings=settings,
            plain_numbers=plain_numbers,
            without_state=self._parameters_without_state(),
        )

    def _parameters_without_state(self) -> list[int]:
        """Return the numbers of the parameters that had no gradient in any step yet."""
        groups = self.optimizer.state_dict()["param_groups"]
        indices = [index for group in groups for index in group["params"]]
        return sorted({*indices} - {*self.optimizer.state_dict()["state"]})

    def _optimizer_state_as_tensors(self) -> tuple[dict[str, Tensor], list[str]]:
        """Return the optimizer's state as tensors, and the names of those that are plain numbers.

        Most optimizers hold tensors alone, but some count their steps in a Python number. A tensor
        of 64 bits holds it exactly, infinities too.
        """
        tensors: dict[str, Tensor] = {}
        plain_numbers = []
        for index, values in self.optimizer.state_dict()["state"].items():
            for key, value in values.items():
                name = f"{OPTIMIZER_PREFIX}{index}/{key}"
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
        """Take over what `save` wrote to a path.

        A `UserError`, before anything is restored, if it is of another model or optimizer, or of
        no run that there can be.
        """
        weights, optimizer_state, random_states = _weights_optimizer_and_rng_states(
            tensors, about, path
        )
        check_weights(self.model, weights, path)
        problems = self._problems(weights, optimizer_state, random_states, about)
        if problem := next(filter(None, problems), ""):
            raise damaged_checkpoint_error(path, problem, about)
        load_weights(self.model, weights, path)
        self.optimizer.load_state_dict(self.optimizer.state_dict() | {"state": optimizer_state})
        self.scaler.load_state_dict(about["scaler"])
        vars(self.progress).update(about["progress"])
        torch.set_rng_state(tensors[CPU_RNG_STATE_NAME])
        if self.device.type == "cuda" and DEVICE_RNG_STATE_NAME in tensors:
            torch.cuda.set_rng_state(tensors[DEVICE_RNG_STATE_NAME], self.device)

    def _problems(
        self,
        weights: Mapping[str, Tensor],
        optimizer_state: OptimizerState,
        random_states: Mapping[str, Tensor],
        about: Mapping[str, Any],
    ) -> Iterator[str]:
        """Check one thing after the other, and yield what is wrong with each, "" if nothing is."""
        for name, tensor in model_weights(self.model).items():
            if weights[name].dtype != tensor.dtype:
                yield f"{name} is {weights[name].dtype}, not {tensor.dtype}"
        yield progress_problem(about.get("progress"), Progress)
        yield scaler_state_problem(about.get("scaler"), self.scaler.state_dict())
        cpu = torch.device("cpu")
        yield rng_state_problem(CPU_RNG_STATE_NAME, random_states.get(CPU_RNG_STATE_NAME), cpu)
        # A run that was begun on a GPU may go on without one, and the other way round.
        if self.device.type == "cuda" and DEVICE_RNG_STATE_NAME in random_states:
            device_rng_state = random_states[DEVICE_RNG_STATE_NAME]
            yield rng_state_problem(DEVICE_RNG_STATE_NAME, device_rng_state, self.device)
        yield optimizer_state_problem(
            optimizer_state,
            about.get("without_state", []),
            optimizer_state_specs(self.optimizer),
            about["progress"]["step"],
        )


def _weights_optimizer_and_rng_states(
    tensors: Mapping[str, Tensor], about: Mapping[str, Any], path: Path
) -> tuple[dict[str, Tensor], OptimizerState, dict[str, Tensor]]:
    """Return the weights, the optimizer's state and the states of random generators of a file."""
    weights: dict[str, Tensor] = {}
    optimizer_state: OptimizerState = {}
    random_states: dict[str, Tensor] = {}
    plain_numbers = about.get("plain_numbers", [])
    if not isinstance(plain_numbers, list):
        problem = f"plain_numbers is {short_repr(plain_numbers)}"
        raise damaged_checkpoint_error(path, problem, about)
    for name, tensor in tensors.items():
        state_name = re.fullmatch(f"{OPTIMIZER_PREFIX}([0-9]+)/([^/]+)", name)
        if name.startswith(MODEL_PREFIX):
            weights[name.removeprefix(MODEL_PREFIX)] = tensor
        elif state_name:
            is_plain = name in plain_numbers and tensor.numel() == 1
            value = tensor.item() if is_plain else tensor
            optimizer_state.setdefault(int(state_name[1]), {})[state_name[2]] = value
        elif name in (CPU_RNG_STATE_NAME, DEVICE_RNG_STATE_NAME):
            random_states[name] = tensor
        else:
            problem = f"{short_repr(name)} is unknown here"
            raise damaged_checkpoint_error(path, problem, about)
    return weights, optimizer_state, random_states


def damaged_checkpoint_error(path: Path, problem: str, about: Mapping[str, Any]) -> UserError:
    """Return the error for a checkpoint that nothing is restored from."""
    remedy = "put the file back as it was written"
    if FORMAT_KEY not in about:
        remedy = "an earlier version wrote it: resume with that one"
    return UserError(
        f"{path} cannot be resumed from: {problem}; {remedy}, or begin in another folder"
    )
