"""A model's folder: what a run writes, what it needs to go on, and what translation reads.

Not in the paper, but for the weights to average (§6.1).

    recipe.json                          all that was asked for; written last of the first four
    src_tokenizer.json                   the source side's tokenizer
    tgt_tokenizer.json                   the target side's; it has the same ids if they are joint
    data.json                            digests of the training examples, and the first machine
    log.jsonl                            one line per report
    checkpoints/last.safetensors         to resume from (see `training.checkpoint`)
    checkpoints/best.safetensors         weights of the lowest validation loss before the end
    checkpoints/step_000500.safetensors  weights to average, the newest few
    model.safetensors                    the final weights
    run.json                             where, when and how long the run was
    manifest.json                        the files' check sums, once the model is whole
"""

import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from transformer.config import Recipe, RecurrentConfig
from transformer.data import tokenizers
from transformer.data.tokenizers import Tokenizer
from transformer.fast_dropout import use_fast_dropout
from transformer.lstm import Recurrent
from transformer.model import Transformer
from transformer.models.weights import load_tensors, load_weights
from transformer.parts import (
    PAPER_PARTS,
    Parts,
    non_paper_part_class_names,
    require_same_parts,
)
from transformer.support.errors import UserError, require
from transformer.support.files import read_json, write_json

RECIPE, DATA, RUN, LOG = "recipe.json", "data.json", "run.json", "log.jsonl"
SRC_TOKENIZER, TGT_TOKENIZER = "src_tokenizer.json", "tgt_tokenizer.json"
LAST, BEST = "checkpoints/last.safetensors", "checkpoints/best.safetensors"
WEIGHTS, MANIFEST = "model.safetensors", "manifest.json"
FILES_IN_MANIFEST = (RECIPE, SRC_TOKENIZER, TGT_TOKENIZER, WEIGHTS)  # what translation reads

Network = Transformer | Recurrent


class ModelDescription(NamedTuple):
    """All of a model but its weights."""

    recipe: Recipe
    src_tokenizer: Tokenizer
    tgt_tokenizer: Tokenizer

    def build(self, parts: Parts = PAPER_PARTS) -> Network:
        """Return the network, its weights freshly drawn from torch's random numbers.

        A Transformer may have other parts than the paper's: where `build` is an argument, pass
        `partial(ModelDescription.build, parts=parts)`.
        """
        config = self.recipe.model
        src_vocab_size = self.src_tokenizer.vocab_size
        tgt_vocab_size = self.tgt_tokenizer.vocab_size
        network: Network
        if isinstance(config, RecurrentConfig):
            require(
                parts == PAPER_PARTS, f"{self.recipe.name!r} is an LSTM, which takes no other parts"
            )
            network = Recurrent(
                config, src_vocab_size=src_vocab_size, tgt_vocab_size=tgt_vocab_size
            )
        else:
            network = Transformer(
                config, src_vocab_size=src_vocab_size, tgt_vocab_size=tgt_vocab_size, parts=parts
            )
        return use_fast_dropout(network)


def holds_run(folder: Path) -> bool:
    """Return whether a run was begun in this folder."""
    return (folder / RECIPE).exists()


def write_description(folder: Path, description: ModelDescription) -> None:
    """Write the recipe and the tokenizers; the folder no longer counts as a whole model."""
    write_json(folder / SRC_TOKENIZER, description.src_tokenizer.to_dict())
    (folder / MANIFEST).unlink(missing_ok=True)
    write_json(folder / TGT_TOKENIZER, description.tgt_tokenizer.to_dict())
    write_json(folder / RECIPE, description.recipe.to_dict())


def read_recipe(folder: Path) -> Recipe:
    """Read what the run in a folder was asked to do.

    A UserError where there is no run, or a file of the model is truncated, foreign or changed.
    """
    if not folder.is_dir():
        raise UserError(f"no model folder {str(folder)!r}: train one, or give the right path")
    require(holds_run(folder), f"{folder} is no model folder: it has no {RECIPE}")
    if (folder / MANIFEST).exists():  # The run has ended.
        expected_sums = read_json(folder / MANIFEST).get("sha256", {})
        for name, check_sum in _sha256_by_file(folder).items():
            require(
                check_sum == expected_sums.get(name),
                f"{folder / name} is damaged: its check sum is not the one in {MANIFEST}; copy "
                "the folder again (a model that comes with the course: git checkout, or install "
                "again), or train anew",
            )
    return Recipe.from_dict(read_json(folder / RECIPE))


def read_description(folder: Path) -> ModelDescription:
    """Read the recipe and the tokenizers; errors as of `read_recipe`."""
    recipe = read_recipe(folder)
    src_tokenizer = tokenizers.load(folder / SRC_TOKENIZER)
    tgt_tokenizer = tokenizers.load(folder / TGT_TOKENIZER)
    return ModelDescription(recipe, src_tokenizer, tgt_tokenizer)


def read_model(
    folder: Path,
    weights: Path | None = None,
    build: Callable[[ModelDescription], Network] = ModelDescription.build,
) -> tuple[ModelDescription, Network]:
    """Read a trained model, in evaluation mode, on the CPU; arguments as of `Translator.load`."""
    description = read_description(folder)
    path = weights or folder / WEIGHTS
    message = f"{folder} has no {WEIGHTS}: its training has not ended"
    remedy = "go on with the command that began it and --resume"
    require(weights is not None or path.is_file(), f"{message}; {remedy}")
    model = build(description)
    tensors, about = load_tensors(path)
    require_same_parts(str(path), about.get("parts", {}), non_paper_part_class_names(model))
    load_weights(model, tensors, path)
    return description, model.eval()


def write_manifest(folder: Path) -> None:
    """Mark a model as whole: write the check sums of the files that translation reads."""
    write_json(folder / MANIFEST, {"sha256": _sha256_by_file(folder)})


def _sha256_by_file(folder: Path) -> dict[str, str]:
    files = [folder / name for name in FILES_IN_MANIFEST if (folder / name).is_file()]
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def step_weights_path(folder: Path, step: int) -> Path:
    """Return the path of a step's weights."""
    return folder / "checkpoints" / f"step_{step:06d}.safetensors"


def saved_steps(folder: Path) -> list[int]:
    """Return the steps whose weights are there to be averaged (§6.1), and no other files."""
    steps = set()
    for path in (folder / "checkpoints").glob("step_*.safetensors"):
        match = re.fullmatch("step_([0-9]+)", path.stem)
        # A foreign name as step_5 stands for a path that is not there.
        if match and step_weights_path(folder, int(match[1])).is_file():
            steps.add(int(match[1]))
    return sorted(steps)
