"""The folder of a run: its log, its checkpoints, and all that is needed to go on.

    log.jsonl                           one line per report
    checkpoints/last.safetensors        to resume from: weights, Adam's moments, random
                                        numbers and, in the metadata, the counters
    checkpoints/best.safetensors        weights of the lowest validation loss
    checkpoints/step_000500.safetensors weights to average
    model.safetensors                   the final weights

What must agree is in one file, so a kill at any moment leaves a state to go on from.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from transformer.errors import UserError
from transformer.training.checkpoint import (
    holds_state,
    load_tensors,
    load_weights,
    save_tensors,
    weights,
)


class RunFolder:
    """Where a run keeps its files.

    Args:
        out: The folder; made when first written to.
    """

    def __init__(self, out: Path) -> None:
        self.out = out
        self.log = out / "log.jsonl"
        self.model = out / "model.safetensors"
        self.last = out / "checkpoints" / "last.safetensors"
        self.best = out / "checkpoints" / "best.safetensors"

    def holds_weights(self) -> bool:
        """Tell whether a run has left weights here, of any step."""
        named = any(path.exists() for path in (self.last, self.best, self.model))
        return named or bool(self.step_files())

    def check(self, resume: bool) -> None:
        """Refuse to begin, or to go on with, a run that would overwrite another's weights.

        Raises:
            UserError: there is a run to go on with and `resume` is off, or there are
                weights and nothing to go on from.
        """
        if self.last.exists():
            if not resume:
                raise UserError(
                    f"{self.out} already holds a run: resume it, or choose another folder"
                )
        elif self.holds_weights():
            raise UserError(
                f"{self.out} has a model but no checkpoints/{self.last.name} to go on from: "
                "choose another folder"
            )

    def step_file(self, step: int) -> Path:
        """Name the weights of a step."""
        return self.last.with_name(f"step_{step:06d}.safetensors")

    def step_files(self) -> list[Path]:
        """List the weights to average, oldest first."""
        return sorted(self.last.parent.glob("step_*.safetensors"), key=_step_of)

    def drop_step_files(self, *, newest: int, up_to: int) -> None:
        """Delete the weights after a step, and all before it but the newest few."""
        fitting = [path for path in self.step_files() if _step_of(path) <= up_to]
        for path in set(self.step_files()) - set(fitting[-newest:]):
            path.unlink()

    def save_state(
        self, model: nn.Module, optimizer: Optimizer, device: torch.device, **about: Any
    ) -> None:
        """Write last.safetensors: all that a run needs to go on as if never stopped.

        Raises:
            UserError: the file cannot be written; the one before is unharmed.
        """
        tensors = {f"model/{name}": tensor for name, tensor in weights(model).items()}
        for index, moments in optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer/{index}/{key}": value for key, value in moments.items()}
        tensors["random/cpu"] = torch.get_rng_state()
        if device.type == "cuda":
            tensors["random/cuda"] = torch.cuda.get_rng_state(device)
        save_tensors(self.last, tensors, **about)

    def load_state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Read last.safetensors.

        Returns:
            The tensors for `restore`, and what was said about them.

        Raises:
            UserError: the file is missing or damaged, or holds weights only.
        """
        tensors, about = load_tensors(self.last)
        if not holds_state(tensors):
            raise UserError(f"{self.last} holds weights only: put the run's own file back")
        return tensors, about

    def restore(
        self,
        tensors: Mapping[str, Tensor],
        model: nn.Module,
        optimizer: Optimizer,
        device: torch.device,
    ) -> None:
        """Put model, optimizer and random numbers where `save_state` found them.

        Args:
            tensors: As `load_state` gave them.
            model: Built as the one saved.
            optimizer: Of its parameters.
            device: Of the model.

        Raises:
            UserError: the tensors are another model's.
        """
        parts: dict[str, dict[str, Tensor]] = {"model": {}, "optimizer": {}, "random": {}}
        for name, tensor in tensors.items():
            part, _, rest = name.partition("/")
            parts[part][rest] = tensor
        load_weights(model, parts["model"], self.last)
        state: dict[int, dict[str, Tensor]] = {}
        for name, tensor in parts["optimizer"].items():
            index, _, key = name.partition("/")
            state.setdefault(int(index), {})[key] = tensor
        optimizer.load_state_dict(optimizer.state_dict() | {"state": state})
        torch.set_rng_state(parts["random"]["cpu"])
        if device.type == "cuda" and "cuda" in parts["random"]:
            torch.cuda.set_rng_state(parts["random"]["cuda"], device)


def _step_of(path: Path) -> int:
    return int(path.stem.removeprefix("step_"))
