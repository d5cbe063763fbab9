"""From a recipe to a trained model in a folder."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

from transformer.config import Recipe
from transformer.data.batches import Example
from transformer.model import count_parameters
from transformer.models import folder
from transformer.models.folder import ModelDescription, Network
from transformer.models.translator import Translator
from transformer.support.errors import require
from transformer.support.files import write_json
from transformer.support.provenance import provenance
from transformer.support.signatures import check_argument_types
from transformer.training import processes
from transformer.training.begun_run import begin_or_check_run
from transformer.training.cuda_graphs import require_cuda
from transformer.training.devices import Precision, pick_device
from transformer.training.loop import train
from transformer.training.model_loss import validation_loss
from transformer.training.preparation import (
    START_FROM_KEY,
    PreparedRun,
    largest_micro_tokens,
    prepare_run,
)
from transformer.training.result import TrainingResult
from transformer.training.start_model import StartModel, read_start_model


@check_argument_types
def train_recipe(
    recipe: Recipe,
    out: Path,
    *,
    resume: bool = False,
    device: torch.device | None = None,
    precision: Precision | None = None,
    micro_tokens: int | None = None,
    on_begin: Callable[[str], None] = print,
    build: Callable[[ModelDescription], Network] = ModelDescription.build,
    initialize: Callable[[nn.Module, Sequence[Example]], None] | None = None,
    start_from: str | Path | None = None,
    **options: Any,
) -> TrainingResult:
    """Carry out a recipe: load the text, tokenise it, train, and leave a model folder.

    Several processes call it with the same arguments (see `processes.joined_process_group`).

    Args:
        recipe: What to do.
        out: The folder to make; nothing is written before all is ready to train.
        resume: Go on with the run in `out`. Of its recipe only `steps` may differ.
        device, precision: See `devices.pick_device_and_precision`; a resumed run keeps its
            precision.
        micro_tokens: See `loop.train`; 0 finds the most that the memory holds.
        on_begin: Called by rank 0 with lines that say what is about to be done.
        build: Returns the network for a description, if the recipe alone does not tell.
        initialize: Changes the weights that a new network begins with, by the training examples.
            Settings of its own belong to `extra_settings`.
        start_from: A trained model, whose weights and vocabularies the run begins with; a resumed
            run needs the same. The recipe's network must be as large.
        options: What else `loop.train` takes.

    Raises:
        UserError: `out` holds no run to resume, or one that may not go on with this recipe or
            data; the start model does not fit; and those of `loop.train`.
    """
    if options.get("cuda_graphs"):  # said before the text is read
        require_cuda(device or pick_device())
    start = _read_start_model(start_from, initialize, build)
    if start is not None:
        recipe = start.recipe_with_vocabularies(recipe)
        more_settings = {START_FROM_KEY: start.weights_sha256}
        options["extra_settings"] = dict(options.get("extra_settings") or {}) | more_settings
    prepared = processes.run_on_rank_zero(
        lambda: prepare_run(recipe, out, resume, device, precision, build, start)
    )
    device = device or prepared.picked.device
    origin = provenance(device)
    model = _build_first_network(prepared, build, initialize, start)
    if micro_tokens == 0:
        micro_tokens = largest_micro_tokens(model, prepared, device)
    start_record = _start_record(start, prepared, model, device, micro_tokens)
    options |= {"device": device, "micro_tokens": micro_tokens, "resume": resume}
    with processes.lock_folder(out):
        had_ended = _begin_run(prepared, model, out, resume, micro_tokens, start_record, on_begin)
        result = _train_prepared(prepared, model, out, options)
        if processes.rank() == 0 and not result.interrupted:
            run_record = origin | _run_record(result, prepared) | start_record
            _finish_model_folder(prepared, out, None if had_ended else run_record, build)
    return result


def _read_start_model(
    start_from: str | Path | None,
    initialize: Callable[[nn.Module, Sequence[Example]], None] | None,
    build: Callable[[ModelDescription], Network],
) -> StartModel | None:
    """Return the model that a run begins with, if with any; the arguments are `train_recipe`'s."""
    if start_from is None:
        return None
    message = "initialize and start_from both say what weights to begin with: give one of them"
    require(initialize is None, message)
    return read_start_model(start_from, build)


def _build_first_network(
    prepared: PreparedRun,
    build: Callable[[ModelDescription], Network],
    initialize: Callable[[nn.Module, Sequence[Example]], None] | None,
    start: StartModel | None,
) -> Network:
    """Return the network with its first weights; a resumed run then takes its checkpoint's."""
    torch.manual_seed(prepared.description.recipe.training.seed)
    model = build(prepared.description)
    if initialize is not None:
        initialize(model, prepared.batches.examples)
    if start is not None:
        start.initialize(model)
    return model


def _begin_run(
    prepared: PreparedRun,
    model: nn.Module,
    out: Path,
    resume: bool,
    micro_tokens: int | None,
    start_record: dict[str, Any],
    on_begin: Callable[[str], None],
) -> bool:
    """Begin or take up a run in its folder, and say what is about to be done.

    Returns:
        Whether the run has ended already, so that no step is left to do.
    """
    had_ended = processes.run_on_rank_zero(
        lambda: begin_or_check_run(prepared, out, resume, start_record, on_begin)
    )
    if processes.rank() == 0:
        on_begin(_planned_run_summary(prepared, model, micro_tokens, start_record))
    return had_ended


def _train_prepared(
    prepared: PreparedRun, model: nn.Module, out: Path, options: dict[str, Any]
) -> TrainingResult:
    """Train a network as its recipe says; the options are what else `loop.train` takes."""
    recipe = prepared.description.recipe
    return train(
        model,
        recipe.training,
        prepared.batches,
        list(prepared.validation_batches.epoch(0)),
        out,
        d_model=recipe.model.d_model,
        precision=prepared.picked.precision,
        **options,
    )


def _start_record(
    start: StartModel | None,
    prepared: PreparedRun,
    model: nn.Module,
    device: torch.device,
    micro_tokens: int | None,
) -> dict[str, Any]:
    """Return what the records of a run say of the model that it began with, {} if with none."""
    if start is None:
        return {}
    if prepared.first_settings:
        return {START_FROM_KEY: prepared.first_settings[START_FROM_KEY]}
    loss = validation_loss(
        model.to(device),
        list(prepared.validation_batches.epoch(0)),
        device=device,
        precision=prepared.picked.precision,
        micro_tokens=micro_tokens,
    )
    return {START_FROM_KEY: start.to_dict() | {"validation_loss": loss}}


def _planned_run_summary(
    prepared: PreparedRun,
    model: nn.Module,
    micro_tokens: int | None,
    start_record: dict[str, Any],
) -> str:
    """Return a few lines on what is about to be done, and what differs from the original."""
    recipe, src, tgt = prepared.description
    data, training = recipe.data, recipe.training
    types = f"{src.vocab_size:,}"
    if not data.joint_vocabulary:
        types += f" and {tgt.vocab_size:,}"
    at_once = "" if micro_tokens is None else f", {micro_tokens:,} at a time"
    differs = f"\nnot as in the original: {recipe.differs}" if recipe.differs else ""
    begins = ""
    if start_record:
        start = start_record[START_FROM_KEY]
        direction = f"{data.src_lang}-{data.tgt_lang}"
        other = "" if start["languages"] == direction else f", not {direction}"
        loss = start["validation_loss"]
        begins = (
            f"\nbegins with the weights and vocabularies of {start['model']} (for "
            f"{start['languages']}{other}): validation loss {loss:.3f} before the first step"
        )
    return (
        f"{recipe.name}: {data.corpus} {data.src_lang}-{data.tgt_lang}, "
        f"{_used_pairs_in_words(prepared)}\n"
        f"{types} types, {count_parameters(model):,} parameters, {training.steps:,} steps of at "
        f"most {training.batch_tokens:,} tokens{at_once}\non {prepared.picked}{begins}{differs}"
    )


def _used_pairs_in_words(prepared: PreparedRun) -> str:
    """Return how many pairs are learned from and validated with, of how many, and why not all."""
    recipe = prepared.description.recipe
    used, left_out = len(prepared.batches.examples), prepared.left_out
    if any(left_out):
        reasons = left_out.in_words(recipe.data.max_train_tokens)
        learn = f"{used:,} of {used + sum(left_out):,} sentence pairs to learn from ({reasons})"
    else:
        learn = f"{used:,} sentence pairs to learn from"
    used, left_out = len(prepared.validation_batches.examples), prepared.validation_left_out
    of_all = f" of {used + sum(left_out):,}" if any(left_out) else ""
    return f"{learn}, {used:,}{of_all} to validate with"


def _run_record(result: TrainingResult, prepared: PreparedRun) -> dict[str, Any]:
    """Return how a run went, for its run.json."""
    record: dict[str, Any] = {}
    if processes.world_size() > 1:
        record["processes"] = processes.world_size()
    if result.positions_per_token is not None:
        record["positions_per_token"] = round(result.positions_per_token, 3)
    return record | {
        "precision": prepared.picked.precision,
        "seed": prepared.description.recipe.training.seed,
        "steps": result.step,
        "epochs": result.epoch,
        "minutes": round(result.seconds / 60, 1),
        "validation_loss": result.final_loss,
        "weights": result.final_from,
        "pairs": prepared.pair_counts(),
        folder.LONGEST_SOURCE: prepared.longest_source,
    }


def _finish_model_folder(
    prepared: PreparedRun,
    out: Path,
    run_record: dict[str, Any] | None,
    build: Callable[[ModelDescription], Network],
) -> None:
    """Write what makes the folder a whole model's, and read the model back from it.

    `run_record` is None if the run had ended before and its record stays.
    """
    require((out / folder.WEIGHTS).is_file(), f"{out} was moved: --resume where it is now")
    if run_record is not None:
        write_json(out / folder.RUN, run_record)
    folder.write_recipe_and_manifest(out, prepared.description.recipe)
    first = prepared.validation_batches.examples[0]
    line = prepared.description.src_tokenizer.decode(first.src)
    Translator.load(out, build=build).translate([line], beam_size=1)
