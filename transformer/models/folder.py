"""A model's folder: what a run writes, what it needs to go on, and what translation reads.

Not in the paper.

    recipe.json                          everything that was asked for; written last, so where
                                         it is a run was begun
    src_tokenizer.json                   of the source side
    tgt_tokenizer.json                   of the target side; the same where they are joint
    data.json                            digests of the examples that the run learns from, and
                                         the machine that it was begun on
    log.jsonl                            one line per report
    checkpoints/last.safetensors         to resume from (see `training.progress`)
    checkpoints/best.safetensors         weights of the lowest validation loss
    checkpoints/step_000500.safetensors  weights to average, the newest few
    model.safetensors                    the final weights
    run.json                             where, when and how long the run was
    manifest.json                        of a model that is whole: its files' check sums
"""

import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from transformer.config import Recipe, RecurrentConfig
from transformer.data import tokenizers
from transformer.data.tokenizers import Tokenizer
from transformer.lstm import Recurrent
from transformer.model import Transformer
from transformer.models.checkpoint import load_tensors, load_weights
from transformer.support.errors import UserError
from transformer.support.files import read_json, write_json

RECIPE, DATA, RUN = "recipe.json", "data.json", "run.json"
SRC_TOKENIZER, TGT_TOKENIZER = "src_tokenizer.json", "tgt_tokenizer.json"
WEIGHTS, MANIFEST = "model.safetensors", "manifest.json"
SUMMED = (RECIPE, SRC_TOKENIZER, TGT_TOKENIZER, WEIGHTS)  # all that translation reads

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


def holds_run(folder: Path) -> bool:
    """Tell whether a run was begun in this folder."""
    return (folder / RECIPE).exists()


def write_description(folder: Path, description: Description) -> None:
    """Write the recipe and the tokenizers; the folder is a whole model's no longer."""
    tokenizers.save(description.src_tokenizer, folder / SRC_TOKENIZER)
    (folder / MANIFEST).unlink(missing_ok=True)
    tokenizers.save(description.tgt_tokenizer, folder / TGT_TOKENIZER)
    write_json(folder / RECIPE, description.recipe.to_dict())


def read_recipe(folder: Path) -> Recipe:
    """Read what the run in a folder was asked to do.

    Raises:
        UserError: there is no run, or a file of the model is truncated, foreign or changed.
    """
    if not folder.is_dir():
        raise UserError(f"no model folder {str(folder)!r}: train one, or give the right path")
    if not holds_run(folder):
        raise UserError(f"{folder} is no model folder: it has no {RECIPE}")
    check_manifest(folder)
    return Recipe.from_dict(read_json(folder / RECIPE))


def read_description(folder: Path) -> Description:
    """Read the recipe and the tokenizers; errors as of `read_recipe`."""
    recipe = read_recipe(folder)
    sides = (tokenizers.load(folder / name) for name in (SRC_TOKENIZER, TGT_TOKENIZER))
    return Description(recipe, *sides)


def read_model(
    folder: Path,
    weights: Path | None = None,
    build: Callable[[Description], Network] = Description.build,
) -> tuple[Description, Network]:
    """Read a trained model, in evaluation mode, on the CPU; arguments as of `Translator.load`."""
    description = read_description(folder)
    path = folder / WEIGHTS if weights is None else weights
    if weights is None and not path.is_file():
        raise UserError(
            f"{folder} has no {WEIGHTS}: its training has not ended; go on with the command "
            "that began it and --resume"
        )
    tensors, _ = load_tensors(path)
    model = build(description)
    load_weights(model, tensors, path)
    return description, model.eval()


def write_manifest(folder: Path) -> None:
    """Say that a model is whole: write the check sums of the files that translation reads."""
    sums = {name: _check_sum(folder / name) for name in SUMMED if (folder / name).is_file()}
    write_json(folder / MANIFEST, {"sha256": sums})


def check_manifest(folder: Path) -> None:
    """Refuse a whole model of which a file is not the one that was written."""
    if not (folder / MANIFEST).exists():  # a run that has not ended
        return
    sums = read_json(folder / MANIFEST).get("sha256", {})
    for name in SUMMED:
        if (folder / name).is_file() and sums.get(name) != _check_sum(folder / name):
            raise UserError(
                f"{folder / name} is damaged: its check sum is not the one in {MANIFEST}; "
                "copy the folder again (a model that comes with the course: git checkout, or "
                "install again), or train anew"
            )


def _check_sum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


class RunFolder:
    """Where a run keeps its log and its weights."""

    def __init__(self, out: Path) -> None:
        self.out = out  # made when first written to
        self.log, self.model = out / "log.jsonl", out / WEIGHTS  # the reports, the final weights
        self.last = out / "checkpoints" / "last.safetensors"  # the state to resume from
        self.best = out / "checkpoints" / "best.safetensors"  # of the lowest validation loss

    def check(self, resume: bool) -> None:
        """Refuse to begin, or to go on with, a run that would overwrite another's weights."""
        if self.last.exists() and not resume:
            raise UserError(
                f"{self.out} holds a run already: go on with it (--resume), or give another folder"
            )
        weights = (self.best, self.model, *self.step_files())
        if any(path.exists() for path in weights) and not self.last.exists():
            raise UserError(
                f"{self.out} has a model but no checkpoints/{self.last.name} to go on from: "
                "give another folder"
            )

    def step_file(self, step: int) -> Path:
        """Name the weights of a step."""
        return self.last.with_name(f"step_{step:06d}.safetensors")

    def step_files(self) -> list[Path]:
        """List the weights to average, oldest first; files of other names are not looked at."""
        named = self.last.parent.glob("step_*.safetensors")
        steps = {int(each.stem[5:]) for each in named if re.fullmatch("step_[0-9]+", each.stem)}
        return [path for step in sorted(steps) if (path := self.step_file(step)).is_file()]

    def drop_step_files(self, *, newest: int, up_to: int) -> None:
        """Delete the weights after the step `up_to`, and all before it but the `newest` few."""
        kept = [path for path in self.step_files() if int(path.stem[5:]) <= up_to][-newest:]
        for path in set(self.step_files()) - set(kept):
            path.unlink()
