"""A model's folder: what a run writes and what translation reads.

- recipe.json: everything that was asked for
- src_tokenizer.json, tgt_tokenizer.json: the same twice where they are joint
- model.safetensors: the final weights
- checkpoints/: what a run needs to go on, and the last ones for averaging
- log.jsonl: one line per report
- run.json: where, when and how long the run was
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from transformer.config import Recipe, RecurrentConfig
from transformer.data import tokenizers
from transformer.data.tokenizers import Tokenizer
from transformer.errors import UserError
from transformer.files import read_json, write_json
from transformer.model import Transformer
from transformer.recurrent import Recurrent
from transformer.training.checkpoint import load_tensors, load_weights
from transformer.training.folder import RunFolder

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
