"""A model's folder: what a run writes, what it needs to go on, and what translation reads.

    recipe.json                          everything that was asked for
    src_tokenizer.json                   of the source side
    tgt_tokenizer.json                   of the target side; the same where they are joint
    log.jsonl                            one line per report
    checkpoints/last.safetensors         to resume from: weights, Adam's moments, random
                                         numbers and, in the metadata, the counters
    checkpoints/best.safetensors         weights of the lowest validation loss
    checkpoints/step_000500.safetensors  weights to average
    model.safetensors                    the final weights
    run.json                             where, when and how long the run was

What must agree to resume is in one file, so a kill at any moment leaves a state to go on from.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from transformer.baselines.lstm import Recurrent
from transformer.config import Recipe, RecurrentConfig
from transformer.data import tokenizers
from transformer.data.tokenizers import Tokenizer
from transformer.model import Transformer
from transformer.support.errors import UserError
from transformer.support.files import read_json, write_json
from transformer.trained.checkpoint import (
    holds_state,
    load_tensors,
    load_weights,
    save_tensors,
    weights,
)

RECIPE = "recipe.json"
SRC_TOKENIZER = "src_tokenizer.json"
TGT_TOKENIZER = "tgt_tokenizer.json"
RUN = "run.json"


Network = Transformer | Recurrent


class Description(NamedTuple):
    """All of a model but its weights."""

    recipe: Recipe
    src_tokenizer: Tokenizer
    tgt_tokenizer: Tokenizer

    def build(self) -> Network:
        """Make the network, its weights freshly drawn from torch's random numbers."""
        config = self.recipe.model
        sizes = {
            "src_vocab_size": self.src_tokenizer.vocab_size,
            "tgt_vocab_size": self.tgt_tokenizer.vocab_size,
        }
        if isinstance(config, RecurrentConfig):
            return Recurrent(config, **sizes)
        return Transformer(config, **sizes)


def write_description(folder: Path, description: Description) -> None:
    """Write the recipe and the tokenizers.

    Raises:
        UserError: the folder cannot be written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot make the folder {folder}: {error.strerror}") from error
    tokenizers.save(description.src_tokenizer, folder / SRC_TOKENIZER)
    tokenizers.save(description.tgt_tokenizer, folder / TGT_TOKENIZER)
    write_json(folder / RECIPE, description.recipe.to_dict())


def holds_run(folder: Path) -> bool:
    """Tell whether a run was begun in this folder."""
    return (folder / RECIPE).exists()


def read_recipe(folder: Path) -> Recipe:
    """Read what the run in a folder was asked to do.

    Raises:
        UserError: there is no run, or its recipe is truncated or foreign.
    """
    if not folder.is_dir():
        raise UserError(f"no model folder {str(folder)!r}: train one, or give the right path")
    if not holds_run(folder):
        raise UserError(f"{folder} is no model folder: it has no {RECIPE}")
    values = read_json(folder / RECIPE)
    try:
        return Recipe.from_dict(values)
    except UserError as error:
        raise UserError(f"{folder / RECIPE}: {error}") from error


def read_description(folder: Path) -> Description:
    """Read the recipe and the tokenizers.

    Raises:
        UserError: the folder or a file in it is missing, truncated or foreign.
    """
    recipe = read_recipe(folder)
    src_tokenizer = tokenizers.load(folder / SRC_TOKENIZER)
    tgt_tokenizer = tokenizers.load(folder / TGT_TOKENIZER)
    return Description(recipe, src_tokenizer, tgt_tokenizer)


def read_model(
    folder: Path,
    weights: Path | None = None,
    build: Callable[[Description], Network] = Description.build,
) -> tuple[Description, Network]:
    """Read a trained model, in evaluation mode, on the CPU.

    Args:
        folder: Of the model.
        weights: A file of weights, such as checkpoints/step_000500.safetensors; None means
            the final ones.
        build: What made the network, where it was not the recipe alone (see `faults`).

    Raises:
        UserError: the folder or a file in it is missing, truncated or foreign.
    """
    description = read_description(folder)
    path = RunFolder(folder).model if weights is None else weights
    if weights is None and not path.is_file():
        raise UserError(
            f"{folder} has no {path.name}: its training has not ended; go on with the command "
            "that began it and --resume"
        )
    tensors, _ = load_tensors(path)
    model = build(description)
    load_weights(model, tensors, path)
    return description, model.eval()


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
