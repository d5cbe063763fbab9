"""A model's folder: what a run writes, what it needs to go on, and what translation reads.

Not in the paper. A model is its description (what was asked for, and the tokenizers) and its
weights; a run adds what it was made from, its log and its checkpoints:

    recipe.json                          everything that was asked for; written last, so where
                                         it is a run was begun
    manifest.json                        sums of the recipe and the tokenizers
    src_tokenizer.json                   of the source side
    tgt_tokenizer.json                   of the target side; the same where they are joint
    data.json                            digests of the examples that the run learns from, and
                                         the machine that it was begun on
    log.jsonl                            one line per report
    checkpoints/last.safetensors         to resume from (see `state`)
    checkpoints/best.safetensors         weights of the lowest validation loss
    checkpoints/step_000500.safetensors  weights to average, the newest few
    model.safetensors                    the final weights
    run.json                             where, when and how long the run was
"""

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
from transformer.models.manifest import (
    DESCRIBING,
    MANIFEST,
    RECIPE,
    SRC_TOKENIZER,
    TGT_TOKENIZER,
    WEIGHTS,
    check_manifest,
    replace_listed,
    sha256,
    write_manifest,
)
from transformer.support.errors import UserError
from transformer.support.files import read_json, remove_unfinished, to_json

DATA = "data.json"
RUN = "run.json"
FORMAT = 1  # of such a folder, said in its recipe; one of before it was said has no manifest
_STEP_FILE = re.compile(r"step_[0-9]{6,}\.safetensors")

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
    _list_tokenizers(folder)
    write_recipe(folder, description.recipe)


def write_recipe(folder: Path, recipe: Recipe) -> None:
    """Write a recipe beside the tokenizers, new or in the place of another.

    Raises:
        UserError: the folder cannot be written to.
    """
    if not (folder / MANIFEST).is_file():  # of before there was one
        _list_tokenizers(folder)
    replace_listed(folder, RECIPE, to_json({"format": FORMAT} | recipe.to_dict()))


def _list_tokenizers(folder: Path) -> None:
    """Begin a folder's manifest."""
    write_manifest(folder, {name: [sha256(folder / name)] for name in DESCRIBING[1:]})


def holds_run(folder: Path) -> bool:
    """Tell whether a run was begun in this folder."""
    return (folder / RECIPE).exists()


def read_recipe(folder: Path) -> Recipe:
    """Read what the run in a folder was asked to do.

    Raises:
        UserError: there is no run, its recipe is truncated, foreign or of a newer version, or
            a file is not the one that was written.
    """
    if not folder.is_dir():
        raise UserError(f"no model folder {str(folder)!r}: train one, or give the right path")
    if not holds_run(folder):
        raise UserError(f"{folder} is no model folder: it has no {RECIPE}")
    values = read_json(folder / RECIPE)
    if isinstance(values, dict) and "format" in values:
        if (written := values.pop("format")) != FORMAT:
            raise UserError(
                f"{folder / RECIPE} is of format {written!r} and this version reads {FORMAT}: "
                "use the version of the course that wrote it"
            )
        check_manifest(folder, DESCRIBING)
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


class RunFolder:
    """Where a run keeps its log and its weights.

    Attributes:
        out: The folder; made when first written to.
        log: The reports.
        model: The final weights.
        last: The state to resume from.
        best: The weights of the lowest validation loss.
    """

    def __init__(self, out: Path) -> None:
        self.out = out
        self.log = out / "log.jsonl"
        self.model = out / WEIGHTS
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
        """List the weights to average, oldest first; files of other names are not looked at."""
        named = [p for p in self.last.parent.glob("step_*") if _STEP_FILE.fullmatch(p.name)]
        paths = [p for p in named if p == self.step_file(_step_of(p)) and p.is_file()]
        return sorted(paths, key=_step_of)

    def drop_step_files(self, *, newest: int, up_to: int) -> None:
        """Delete the weights after a step, and all before it but the newest few.

        Args:
            newest: How many of them stay.
            up_to: The step.
        """
        fitting = [path for path in self.step_files() if _step_of(path) <= up_to]
        for path in set(self.step_files()) - set(fitting[::-1][:newest]):
            path.unlink()

    def remove_unfinished(self) -> None:
        """Delete what a run that was killed had begun to write."""
        for folder in (self.out, self.last.parent):
            remove_unfinished(folder)


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


def _step_of(path: Path) -> int:
    return int(path.stem.removeprefix("step_"))
