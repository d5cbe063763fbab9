"""From a recipe to a trained model in a folder."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch

from experiments.cooccurrence import begin_with_cooccurrence
from transformer.config import Recipe
from transformer.data import corpora, tokenizers
from transformer.data.batches import TokenBudgetBatches, encode_pairs
from transformer.model import Transformer, count_parameters
from transformer.models.checkpoint import require_same
from transformer.models.folder import (
    DATA,
    RECIPE,
    RUN,
    Description,
    Network,
    RunFolder,
    holds_run,
    read_description,
    read_recipe,
    write_description,
    write_recipe,
)
from transformer.models.log import Report, TrainingResult
from transformer.support.errors import UserError
from transformer.support.files import check_folder, read_json, write_json
from transformer.support.lock import locked
from transformer.support.machine import pick_device
from transformer.support.precision import bfloat16_is_faster
from transformer.support.provenance import hardware, provenance
from transformer.training.distributed import ALONE, Processes, launcher
from transformer.training.fingerprint import fingerprint, require_same_data
from transformer.training.loop import train
from transformer.training.resources import check_resources
from transformer.training.schedule import free_setting


def train_recipe(
    recipe: Recipe,
    out: Path,
    *,
    resume: bool = False,
    device: torch.device | None = None,
    on_begin: Callable[[str], None] = print,
    on_report: Callable[[Report], None] = print,
    stop_after: int | None = None,
    build: Callable[[Description], Network] = Description.build,
    processes: Processes = ALONE,
) -> TrainingResult:
    """Carry out a recipe: load, tokenise, train, and leave a model folder.

    Args:
        recipe: What to do. Where it asks for bfloat16 and the processor is slower with it, it is
            done, and kept, in float32. A resumed run keeps its precision.
        out: The folder to make; nothing is written before all is ready to train. What its
            run.json says of command, commit and date is of when the run was begun or resumed.
        resume: Go on with the run in `out`. Of its recipe only `steps` may differ, and
            under linear decay nothing.
        device: Where to train; None picks the GPU if there is one.
        on_begin: Called with lines that say what is about to be done, in the first process.
        on_report: Called with each report, in each process; `print` shows one line.
        stop_after: Interrupt the run once this many steps are done.
        build: Makes the network, where the recipe alone does not (see `faults`).
        processes: Those that share the work; each calls this with the same arguments.

    Raises:
        UserError: `out` holds a run and `resume` is off, or the other way round; resumed
            with another recipe, other data, or without its last checkpoint; the corpus
            cannot be had; a file cannot be written; the memory is too small; a loss is not
            finite; another process trains in `out`.
    """
    device, once = device or pick_device(), processes.once
    recipe = once(lambda: _in_fast_precision(recipe, out if resume else None, device, on_begin))
    once(lambda: _check_folder(recipe, out, resume))
    origin = once(lambda: _origin(device))  # later the code may be another
    ended_at = once(lambda: _ended_at(out))
    description, batches, held_out = once(lambda: _data(recipe, out if resume else None))
    parts = {"training": batches, "validation": held_out}
    digests = {name: fingerprint(part.examples) for name, part in parts.items()}
    once(lambda: check_resources(description, out, device, not resume, processes.size_here))
    machine = _machine(device, processes)
    begins = once(lambda: not RunFolder(out).last.exists())  # anew, if killed before
    model = _build(description, build, batches if begins else None)
    with ExitStack() as held:
        once(lambda: held.enter_context(locked(out)))
        once(lambda: _check_folder(recipe, out, resume))  # another may have begun in between
        if resume:
            once(lambda: _check_begun(out, digests, machine, on_begin))
        else:
            once(lambda: write_json(out / DATA, digests | machine))
            once(lambda: write_description(out, description))
        once(lambda: on_begin(_summary(description, model, device, batches, held_out)))
        result = train(
            model,
            recipe.training,
            batches,
            list(held_out.epoch(0)),
            out,
            d_model=recipe.model.d_model,
            device=device,
            resume=resume,
            on_report=on_report,
            stop_after=stop_after,
            processes=processes,
        )
        if not result.interrupted:
            once(lambda: write_recipe(out, recipe))  # a resumed run may be longer
            if result.step != ended_at:  # some step was made
                figures = _figures(result, recipe, processes)
                once(lambda: write_json(out / RUN, origin | figures))
    return result


def _in_fast_precision(
    recipe: Recipe, begun: Path | None, device: torch.device, on_begin: Callable[[str], None]
) -> Recipe:
    """Take float32 in the place of bfloat16 where that is faster, and say so.

    A run that was begun, in the folder `begun`, goes on in the precision that it has.
    """
    if not recipe.training.bf16:
        return recipe
    if begun is not None and holds_run(begun):
        if read_recipe(begun).training.bf16:
            return recipe
        on_begin("the run was begun in float32, and goes on in it (bf16=false)")
    elif bfloat16_is_faster(device):
        return recipe
    else:
        on_begin("bfloat16 is slower than float32 on this processor: float32 is taken (bf16=false)")
    return recipe.override({"bf16": "false"})


def _origin(device: torch.device) -> dict[str, Any]:
    """Say how this run was started, torchrun included, from what code and on what machine."""
    origin = provenance(device)
    return origin | {"command": origin["command"].replace("python", launcher(), 1)}


def _build(
    description: Description,
    build: Callable[[Description], Network],
    batches: TokenBudgetBatches | None,
) -> Network:
    """Draw the weights; a run that takes up a checkpoint counts no `batches` for them."""
    training = description.recipe.training
    torch.manual_seed(training.seed)
    model = build(description)
    if training.cooccurrence_start and batches is not None:
        if not isinstance(model, Transformer):
            raise UserError("cooccurrence_start is for Transformers: leave it out")
        begin_with_cooccurrence(model, batches.examples)
    return model


def _check_folder(recipe: Recipe, out: Path, resume: bool) -> None:
    """Refuse a folder that this run may not use, before anything is done."""
    begun, folder = holds_run(out), RunFolder(out)
    if not begun and folder.holds_weights():
        raise UserError(f"{out} holds weights but no {RECIPE}: put it back, or give another folder")
    if not resume:
        if begun:
            raise UserError(
                f"{out} holds a run already: go on with it (--resume), or give another folder"
            )
        check_folder(out)
        return
    if not begun:
        raise UserError(f"nothing to resume in {out}: begin a run there without --resume")
    folder.check(resume)
    require_same(read_recipe(out).settings(), recipe.settings(), free=free_setting(recipe.training))


def _data(
    recipe: Recipe, begun: Path | None
) -> tuple[Description, TokenBudgetBatches, TokenBudgetBatches]:
    """Load a recipe's text, encode it and make batches of it.

    Args:
        recipe: What to do.
        begun: The folder of the run to go on with, for its tokenizers; None trains new ones.

    Returns:
        The description, the batches to learn from, and those to validate with.
    """
    data, training = recipe.data, recipe.training
    text = corpora.load(data.corpus, "train", data.src_lang, data.tgt_lang)
    held_out = corpora.load(data.corpus, "validation", data.src_lang, data.tgt_lang)
    if begun is None:
        description = Description(recipe, *tokenizers.train(data, text.src, text.tgt))
    else:
        description = read_description(begun)._replace(recipe=recipe)
    sides = description.src_tokenizer, description.tgt_tokenizer
    batches = TokenBudgetBatches(
        encode_pairs(*sides, text, data.max_train_tokens),
        training.batch_tokens,
        training.batch_sentences,
        seed=training.seed,
    )
    longest = min(recipe.model.max_len, training.batch_tokens) - 1  # one place is for eos
    held_out_examples = encode_pairs(*sides, held_out, longest)
    return description, batches, TokenBudgetBatches(held_out_examples, training.batch_tokens)


def _machine(device: torch.device, processes: Processes) -> dict[str, Any]:
    """Say what the order of a run's sums depends on, so its last bits."""
    machine = {"hardware": hardware(device), "torch": torch.__version__}
    return machine | {"processes": processes.size}


def _check_begun(
    out: Path, given: dict[str, str], machine: dict[str, Any], on_begin: Callable[[str], None]
) -> None:
    """Refuse to resume on other data; of another machine, or where nothing tells, say so."""
    if not (out / DATA).exists():
        on_begin(f"{out} has no {DATA}: nothing tells whether the run was begun with this data")
        return
    require_same_data(out / DATA, given)
    begun = {"processes": 1} | read_json(out / DATA)
    for name, now in machine.items():
        if (before := begun.get(name, now)) != now:  # an earlier version did not keep it
            dropout = ", and dropout draws other numbers" if name == "processes" else ""
            on_begin(
                f"begun with {name} {before}, resumed with {now}: "
                f"the weights will differ from an uninterrupted run's in their last bits{dropout}"
            )


def _summary(
    description: Description,
    model: Network,
    device: torch.device,
    batches: TokenBudgetBatches,
    held_out: TokenBudgetBatches,
) -> str:
    """Say in two lines what is about to be done, and what differs from the original."""
    recipe, src, tgt = description
    data = recipe.data
    types = f"{src.vocab_size:,}"
    if not data.joint_vocabulary:
        types += f" and {tgt.vocab_size:,}"
    differs = f"\nnot as in the original: {recipe.differs}" if recipe.differs else ""
    return (
        f"{recipe.name}: {data.corpus} {data.src_lang}-{data.tgt_lang}, {len(batches.examples):,} "
        f"sentence pairs to learn from, {len(held_out.examples):,} to validate with\n"
        f"{types} types, {count_parameters(model):,} parameters, "
        f"{recipe.training.steps:,} steps on {hardware(device)}{differs}"
    )


def _ended_at(out: Path) -> int | None:
    """Give the steps of a run that has ended in this folder; None where its run.json has none."""
    if not RunFolder(out).model.exists():
        return None
    try:
        record = read_json(out / RUN)
    except UserError:  # missing or damaged
        return None
    return record.get("steps") if isinstance(record, dict) else None


def _figures(result: TrainingResult, recipe: Recipe, processes: Processes) -> dict[str, Any]:
    """Say how a run went; with its origin, a figure can be traced to it."""
    several = {"processes": processes.size} if processes.size > 1 else {}
    return several | {
        "seed": recipe.training.seed,
        "steps": result.step,
        "epochs": result.epoch,
        "minutes": round(result.seconds / 60, 1),
        "validation_loss": result.final_loss,
        "weights": result.final_from,
    }
