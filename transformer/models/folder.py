"""A model's folder: what a run writes, what it needs to go on, and what translation reads.

Not in the paper, but for the weights to average (§6.1).

    recipe.json                          everything asked for; last: where it is, a run was begun
    src_tokenizer.json                   of the source side
    tgt_tokenizer.json                   of the target side; the same where they are joint
    data.json                            digests of the training examples, and the first machine
    log.jsonl                            one line per report
    checkpoints/last.safetensors         to resume from (see `training.checkpoint`)
    checkpoints/best.safetensors         weights of the lowest validation loss before the end
    checkpoints/step_000500.safetensors  weights to average, the newest few
    model.safetensors                    the final weights
    run.json                             where, when and how long the run was
    manifest.json                        of a model that is whole: its files' check sums
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes
from torch import Tensor, nn

from transformer.config import Recipe, RecurrentConfig
from transformer.data import tokenizers
from transformer.data.tokenizers import Tokenizer
from transformer.lstm import Recurrent
from transformer.model import Transformer
from transformer.support.errors import UserError, require
from transformer.support.files import read_json, write_atomically, write_json

RECIPE, DATA, RUN, LOG = "recipe.json", "data.json", "run.json", "log.jsonl"
SRC_TOKENIZER, TGT_TOKENIZER = "src_tokenizer.json", "tgt_tokenizer.json"
LAST, BEST = "checkpoints/last.safetensors", "checkpoints/best.safetensors"
WEIGHTS, MANIFEST = "model.safetensors", "manifest.json"
SUMMED = (RECIPE, SRC_TOKENIZER, TGT_TOKENIZER, WEIGHTS)  # all that translation reads
ABOUT = "about"  # one entry of a file's metadata, so that equal runs leave equal bytes
RNG_STATE = "random/cpu"  # a tensor that a run's whole state has, and weights alone have not

Network = Transformer | Recurrent


class Description(NamedTuple):
    """All of a model but its weights."""

    recipe: Recipe
    src_tokenizer: Tokenizer
    tgt_tokenizer: Tokenizer

    def build(self) -> Network:
        """Make the network, its weights freshly drawn from torch's random numbers."""
        config, src, tgt = self.recipe.model, self.src_tokenizer, self.tgt_tokenizer
        sizes = {"src_vocab_size": src.vocab_size, "tgt_vocab_size": tgt.vocab_size}
        if isinstance(config, RecurrentConfig):
            return Recurrent(config, **sizes)
        return Transformer(config, **sizes)


def holds_run(folder: Path) -> bool:
    """Tell whether a run was begun in this folder."""
    return (folder / RECIPE).exists()


def write_description(folder: Path, description: Description) -> None:
    """Write the recipe and the tokenizers; the folder is a whole model's no longer."""
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
    if (folder / MANIFEST).exists():  # of a run that has ended
        written = read_json(folder / MANIFEST).get("sha256", {})
        for name, found in _sums(folder).items():
            require(
                written.get(name) == found,
                f"{folder / name} is damaged: its check sum is not the one in {MANIFEST}; copy "
                "the folder again (a model that comes with the course: git checkout, or install "
                "again), or train anew",
            )
    return Recipe.from_dict(read_json(folder / RECIPE))


def read_description(folder: Path) -> Description:
    """Read the recipe and the tokenizers; errors as of `read_recipe`."""
    recipe = read_recipe(folder)
    src, tgt = (tokenizers.load(folder / name) for name in (SRC_TOKENIZER, TGT_TOKENIZER))
    return Description(recipe, src, tgt)


def read_model(
    folder: Path,
    weights: Path | None = None,
    build: Callable[[Description], Network] = Description.build,
) -> tuple[Description, Network]:
    """Read a trained model, in evaluation mode, on the CPU; arguments as of `Translator.load`."""
    description = read_description(folder)
    path = weights or folder / WEIGHTS
    message = f"{folder} has no {WEIGHTS}: its training has not ended"
    remedy = "go on with the command that began it and --resume"
    require(weights is not None or path.is_file(), f"{message}; {remedy}")
    model = build(description)
    load_weights(model, load_tensors(path)[0], path)
    return description, model.eval()


def write_manifest(folder: Path) -> None:
    """Say that a model is whole: write the check sums of the files that translation reads."""
    write_json(folder / MANIFEST, {"sha256": _sums(folder)})


def _sums(folder: Path) -> dict[str, str]:
    files = [folder / name for name in SUMMED if (folder / name).is_file()]
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def step_file(folder: Path, step: int) -> Path:
    """Name the file of a step's weights."""
    return folder / "checkpoints" / f"step_{step:06d}.safetensors"


def saved_steps(folder: Path) -> list[int]:
    """List the steps whose weights are kept, to average them (§6.1); others' files do not count."""
    names = [path.stem for path in step_file(folder, 0).parent.glob("step_*.safetensors")]
    steps = {int(name[5:]) for name in names if re.fullmatch("step_[0-9]+", name)}
    return sorted(step for step in steps if step_file(folder, step).is_file())


def save_tensors(path: Path, tensors: Mapping[str, Tensor], **about: Any) -> None:
    """Write tensors by name, and what is to be known about them, into one file, atomically.

    No two tensors may share memory (see `weights`); `about` is anything that JSON can hold.
    """
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    write_atomically(path, to_bytes(plain, {ABOUT: json.dumps(about, allow_nan=False)}))


def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what `save_tensors` wrote, on the CPU; a UserError where it is missing or not whole."""
    require(path.is_file(), f"no file {path}: is this the folder of a trained model?")
    try:
        with safe_open(path, framework="pt") as file:
            about = json.loads((file.metadata() or {}).get(ABOUT, "{}"))
            # clones, for the originals are the file's own memory
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError) as error:
        raise UserError(
            f"{path} is cut short or not a safetensors file ({error}): "
            "copy it again, or use another checkpoint"
        ) from error
    return tensors, about


def _saved_names(model: nn.Module) -> dict[str, str]:
    """Map each name in a model's state to the one that its tensor, if tied, is saved under."""
    first: dict[tuple[int, ...], str] = {}  # name of each place in memory
    state = model.state_dict().items()
    return {name: first.setdefault((each.data_ptr(), *each.shape), name) for name, each in state}


def weights(model: nn.Module) -> dict[str, Tensor]:
    """Give a model's weights and buffers by the names they are saved under, tied ones once."""
    state = model.state_dict()
    return {name: state[name] for name in _saved_names(model).values()}


def load_weights(model: nn.Module, tensors: Mapping[str, Tensor], source: Path) -> None:
    """Put saved weights (see `weights`) into a model, tied ones everywhere.

    A UserError where a tensor is missing, foreign, or of another shape, or they are a run's whole
    state; the model is then as it was. `source` is the file to name in it.
    """
    message = f"{source} holds a run's state: give best.safetensors or a step_*.safetensors"
    require(RNG_STATE not in tensors, message)
    here = {name: tuple(tensor.shape) for name, tensor in weights(model).items()}
    there = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    for name in sorted(here.keys() | there.keys()):
        if here.get(name) != there.get(name):
            problem = f"has shape {there.get(name)} there and {here.get(name)} here"
            if name not in there or name not in here:
                problem = "is missing" if name in here else "is unknown here"
            raise UserError(
                f"{source} does not fit this model: {name} {problem}; "
                "build the model with the recipe and tokenizers saved beside it"
            )
    model.load_state_dict({name: tensors[saved] for name, saved in _saved_names(model).items()})


def average(paths: Sequence[Path]) -> dict[str, Tensor]:
    """Average the weights of a run's checkpoints, tensor by tensor, in float64 (§6.1)."""
    found = [load_tensors(path)[0] for path in paths]
    means = {}
    for name, first in found[0].items():
        total = torch.stack([each[name].double() for each in found]).sum(dim=0)
        means[name] = (total / len(paths)).to(first.dtype)
    return means
