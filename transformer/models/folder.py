"""A model's folder: what a run writes, what it needs to go on, and what translation reads.

Not in the paper, but for the weights to average (§6.1).

    recipe.json                          all that was asked for; written last of the first four
    src_tokenizer.json                   the source side's tokenizer
    tgt_tokenizer.json                   the target side's; it has the same ids if they are joint
    data.json                            digests of the training examples, and the first machine and
                                         code
    log.jsonl                            one line per report
    checkpoints/last.safetensors         to resume from (see `training.checkpoint`)
    checkpoints/best.safetensors         weights of the lowest validation loss before the end
    checkpoints/step_000500.safetensors  weights to average, the newest few
    model.safetensors                    the final weights
    run.json                             where, when and how long the run was
    manifest.json                        the check sums of the first four files, and of the final
                                         weights once they are there

recipe.json, data.json, manifest.json and last.safetensors name their format (`support.formats`).
"""

import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from transformer.config import (
    PAPER_PARTS_NAME,
    REMOVED_TRAINING_SETTINGS,
    DecoderOnlyConfig,
    Recipe,
    RecurrentConfig,
)
from transformer.data import tokenizers
from transformer.data.tokenizers import BPETokenizer, Tokenizer, WordTokenizer
from transformer.decoder_only import DecoderOnly
from transformer.fast_dropout import use_fast_dropout
from transformer.lstm import Recurrent
from transformer.model import Transformer
from transformer.models.weights import load_tensors, load_weights
from transformer.modern import find_parts
from transformer.parts import (
    PAPER_PARTS,
    Parts,
    non_paper_part_class_names,
    require_same_parts,
)
from transformer.support.errors import UserError, require
from transformer.support.files import (
    file_sha256,
    read_json,
    retry_read_if_overwritten,
    to_json_bytes,
    write_atomically,
    write_json,
)
from transformer.support.formats import FORMAT_KEY, FORMAT_VERSION, read_json_object
from transformer.support.signatures import check_argument_types

RECIPE, DATA, RUN, LOG = "recipe.json", "data.json", "run.json", "log.jsonl"
SRC_TOKENIZER, TGT_TOKENIZER = "src_tokenizer.json", "tgt_tokenizer.json"
LAST, BEST = "checkpoints/last.safetensors", "checkpoints/best.safetensors"
WEIGHTS, MANIFEST = "model.safetensors", "manifest.json"
FILES_IN_MANIFEST = (RECIPE, SRC_TOKENIZER, TGT_TOKENIZER, DATA, WEIGHTS)
LONGEST_SOURCE = "longest_source"  # in run.json: its tokens, of those trained on

Network = Transformer | DecoderOnly | Recurrent


class ModelDescription(NamedTuple):
    """All of a model but its weights."""

    recipe: Recipe
    src_tokenizer: Tokenizer
    tgt_tokenizer: Tokenizer

    def build(self, parts: Parts | None = None) -> Network:
        """Return the network, its weights freshly drawn from torch's random numbers.

        It has the parts that the recipe names. Parts without a name are given: where `build` is an
        argument, pass `partial(ModelDescription.build, parts=parts)`.
        """
        config, named = self.recipe.model, self.recipe.parts
        require(
            parts is None or named == PAPER_PARTS_NAME,
            f"{self.recipe.name!r} names its parts, {named!r}, and others are given: leave one out",
        )
        parts = find_parts(named) if parts is None else parts
        src_vocab_size = self.src_tokenizer.vocab_size
        tgt_vocab_size = self.tgt_tokenizer.vocab_size
        network: Network
        if isinstance(config, RecurrentConfig):
            require(
                parts == PAPER_PARTS,
                f"{self.recipe.name!r} is an LSTM, which takes no other parts: leave them out",
            )
            network = Recurrent(
                config, src_vocab_size=src_vocab_size, tgt_vocab_size=tgt_vocab_size
            )
        elif isinstance(config, DecoderOnlyConfig):
            network = DecoderOnly(config, vocab_size=tgt_vocab_size, parts=parts)
        else:
            network = Transformer(
                config, src_vocab_size=src_vocab_size, tgt_vocab_size=tgt_vocab_size, parts=parts
            )
        return use_fast_dropout(network)


@check_argument_types
def holds_run(folder: Path) -> bool:
    """Return whether a run was begun in this folder."""
    return (folder / RECIPE).exists()


def write_description(folder: Path, description: ModelDescription) -> None:
    """Write the recipe, the tokenizers and the check sums; the folder no longer counts as a model.

    The recipe, by which `holds_run` knows a run, comes last.
    """
    for name in (RECIPE, MANIFEST):
        (folder / name).unlink(missing_ok=True)
    write_json(folder / SRC_TOKENIZER, _tokenizer_to_dict(description.src_tokenizer))
    write_json(folder / TGT_TOKENIZER, _tokenizer_to_dict(description.tgt_tokenizer))
    recipe = _recipe_bytes(description.recipe)
    _write_sums(folder, {RECIPE: hashlib.sha256(recipe).hexdigest()})
    write_atomically(folder / RECIPE, recipe)


def _tokenizer_to_dict(tokenizer: Tokenizer) -> dict[str, Any]:
    """Return a tokenizer as JSON holds it; a UserError for one that `tokenizers.load` knows not."""
    if not isinstance(tokenizer, BPETokenizer | WordTokenizer):
        message = f"a folder cannot hold a {type(tokenizer).__name__}"
        raise UserError(f"{message}: give a BPETokenizer or a WordTokenizer")
    return tokenizer.to_dict()


def write_recipe_and_manifest(folder: Path, recipe: Recipe) -> None:
    """Write the recipe of a run that has ended, which may have more steps, and all check sums."""
    (folder / MANIFEST).unlink(missing_ok=True)  # A kill in between leaves no sum that is wrong.
    write_atomically(folder / RECIPE, _recipe_bytes(recipe))
    write_manifest(folder)


def _recipe_bytes(recipe: Recipe) -> bytes:
    return to_json_bytes({FORMAT_KEY: FORMAT_VERSION} | recipe.to_dict())


def read_recipe(folder: Path) -> Recipe:
    """Read what the run in a folder was asked to do.

    A UserError where there is no run, or a file of the model is truncated, foreign or changed.
    """
    if not folder.is_dir():
        raise UserError(f"no model folder {str(folder)!r}: train one, or give the right path")
    require(holds_run(folder), f"{folder} is no model folder: it has no {RECIPE}")
    if (folder / MANIFEST).exists():
        _check_sums(folder)
    values = read_json_object(folder / RECIPE)
    training = values.get("training")
    if isinstance(training, dict):
        # A trained model is used as before; a checkpoint says how its run was trained.
        kept = training.keys() - REMOVED_TRAINING_SETTINGS.keys()
        values["training"] = {name: training[name] for name in training if name in kept}
    try:
        return Recipe.from_dict(values)
    except UserError as error:
        raise UserError(
            f"{folder / RECIPE} cannot be read by this version: {error}; use the version that "
            f"wrote it{commit_in_words(folder)}, or train anew"
        ) from error


def read_longest_source(folder: Path) -> int:
    """Return how many tokens the longest source had that a model was trained on.

    Of a model that an earlier version trained, the most that its recipe allowed.
    """
    run = read_json(folder / RUN) if (folder / RUN).is_file() else {}
    return int(run.get(LONGEST_SOURCE, read_recipe(folder).data.max_train_tokens))


def commit_in_words(folder: Path) -> str:
    """Return ", commit abc" of the code that made a folder's model, "" where it is not known."""
    for name in (RUN, DATA):
        if (folder / name).is_file():
            values = read_json(folder / name)
            commit = values.get("commit") if isinstance(values, dict) else None
            if isinstance(commit, str):
                return f", {commit}" if commit.startswith("version") else f", commit {commit}"
    return ""


def _check_sums(folder: Path) -> None:
    """Raise unless the files that are there have the check sums of the manifest."""
    values = read_json_object(folder / MANIFEST)
    sums = values.get("sha256")
    if len(values) > 1 or not isinstance(sums, dict) or not sums.keys() <= {*FILES_IN_MANIFEST}:
        message = f"{folder / MANIFEST} is damaged: it holds other things than check sums"
        raise UserError(f"{message}; copy the folder again, or train anew")
    for name, check_sum in _sha256_by_file(folder).items():
        # Earlier versions took no sum of data.json.
        require(
            check_sum == sums.get(name) or (name == DATA and name not in sums),
            f"{folder / name} is damaged: its check sum is not the one in {MANIFEST}; copy "
            "the folder again (a model that comes with the course: git checkout, or install "
            "again), or train anew",
        )


@check_argument_types
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
    """Read a trained model, in evaluation mode, on the CPU; arguments as of `Translator.load`.

    If another process saves it meanwhile, it is read once more, with a warning: it is never a
    mixture of two models.
    """
    path = weights or folder / WEIGHTS
    names = (MANIFEST, *FILES_IN_MANIFEST)
    return retry_read_if_overwritten(folder, names, lambda: _read_model(folder, path, build))


def _read_model(
    folder: Path, path: Path, build: Callable[[ModelDescription], Network]
) -> tuple[ModelDescription, Network]:
    description = read_description(folder)
    message = f"{folder} has no {WEIGHTS}: its training has not ended"
    remedy = "go on with the command that began it and --resume, or run its cell again"
    require(path != folder / WEIGHTS or path.is_file(), f"{message}; {remedy}")
    model = build(description)
    tensors, about = load_tensors(path)
    require_same_parts(str(path), about.get("parts", {}), non_paper_part_class_names(model))
    load_weights(model, tensors, path)
    return description, model.eval()


def write_manifest(folder: Path) -> None:
    """Write the check sums of what is there of `FILES_IN_MANIFEST`: of a whole model, all."""
    _write_sums(folder, {})


def _write_sums(folder: Path, more_sums: dict[str, str]) -> None:
    sums = _sha256_by_file(folder) | more_sums
    write_json(folder / MANIFEST, {FORMAT_KEY: FORMAT_VERSION, "sha256": sums})


def _sha256_by_file(folder: Path) -> dict[str, str]:
    files = [folder / name for name in FILES_IN_MANIFEST if (folder / name).is_file()]
    return {file.name: file_sha256(file) for file in files}


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
