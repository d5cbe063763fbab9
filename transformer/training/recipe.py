"""From a recipe to a trained model in a folder."""

import hashlib
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import torch

from transformer.config import Recipe
from transformer.data import corpora, tokenizers
from transformer.data.batches import (
    Example,
    TokenBudgetBatches,
    collate,
    encode_pairs,
    micro_batches,
)
from transformer.model import count_parameters
from transformer.models import folder
from transformer.models.folder import Description, Network
from transformer.models.translator import Translator
from transformer.support.errors import is_out_of_memory, require
from transformer.support.files import check_folder, locked, read_json, write_json
from transformer.support.provenance import hardware, provenance
from transformer.training import devices, processes
from transformer.training.devices import DeviceAndPrecision, Precision
from transformer.training.loop import TrainingResult, train
from transformer.training.model_loss import batch_loss
from transformer.training.run import check_may_train_in
from transformer.training.settings import require_same


class PreparedRun(NamedTuple):
    """All that is read before a run begins."""

    description: Description  # of the model
    where: DeviceAndPrecision  # of the first process
    batches: TokenBudgetBatches
    held_out: TokenBudgetBatches


def train_recipe(
    recipe: Recipe,
    out: Path,
    *,
    resume: bool = False,
    device: torch.device | None = None,
    precision: Precision | None = None,
    micro_tokens: int | None = None,
    on_begin: Callable[[str], None] = print,
    build: Callable[[Description], Network] = Description.build,
    initialize: Callable[[torch.nn.Module, Sequence[Example]], None] | None = None,
    **options: Any,
) -> TrainingResult:
    """Carry out a recipe: load, tokenise, train, and leave a model folder.

    Several processes call it with the same arguments (see `processes.process_group`).

    Args:
        recipe: What to do.
        out: The folder to make; nothing is written before all is ready to train.
        resume: Go on with the run in `out`. Of its recipe only `steps` may differ.
        device, precision: As `devices.pick_device_and_precision` has them; a resumed
            run has its own precision.
        micro_tokens: As `loop.train` has it; 0 finds the most that the memory holds.
        on_begin: Called in the first process with lines that say what is about to be done.
        build: Makes the network, where the recipe alone does not.
        initialize: Changes the weights that a new network begins with, by the training examples.
            A setting that it depends on is one of `extra_settings`.
        options: What else `loop.train` takes; its errors too.

    Raises:
        UserError: `out` holds no run to resume, or one that may not go on with this recipe or data.
    """
    prepared = processes.on_rank_zero(lambda: _prepare(recipe, out, resume, device, precision))
    first, device = (
        processes.rank() == 0,
        device or prepared.where.device,
    )  # each process has its own
    origin = provenance(device)
    torch.manual_seed(recipe.training.seed)
    model = build(prepared.description)
    if initialize is not None:  # a resumed run has its weights from the checkpoint
        initialize(model, prepared.batches.examples)
    if micro_tokens == 0:
        micro_tokens = _fitting_tokens(model, prepared, device)
    with locked(out) if first else nullcontext():
        ended = processes.on_rank_zero(lambda: _begin(prepared, out, resume, on_begin))
        if first:
            on_begin(_summary(prepared, model, micro_tokens))
        held_out = list(prepared.held_out.epoch(0))
        options |= {"device": device, "precision": prepared.where.precision, "resume": resume}
        options |= {"micro_tokens": micro_tokens, "d_model": recipe.model.d_model}
        result = train(model, recipe.training, prepared.batches, held_out, out, **options)
        if first and not result.interrupted:
            require((out / folder.WEIGHTS).is_file(), f"{out} was moved: --resume where it is now")
            if not ended:  # some step was made
                write_json(out / folder.RUN, origin | _record(result, prepared))
            write_json(out / folder.RECIPE, recipe.to_dict())  # a resumed run may be longer
            folder.write_manifest(out)
            line = prepared.description.src_tokenizer.decode(prepared.held_out.examples[0].src)
            Translator.load(out).translate([line], beam_size=1)  # done only once it is read back
    return result


def _check_folder(out: Path, resume: bool) -> dict[str, Any]:
    """Refuse a folder that this run may not use; give what a resumed one was begun with."""
    nothing = f"{out} has nothing to resume: begin a run there without --resume"
    require(folder.holds_run(out) or not resume, nothing)
    check_may_train_in(out, resume)
    check_folder(out)
    begun = read_json(out / folder.DATA) if resume else {}
    whole = isinstance(begun, dict) and (not resume or begun.get("precision") in list(Precision))
    require(whole, f"{out / folder.DATA} is damaged: put it back, or begin in another folder")
    return dict(begun)


def _prepare(
    recipe: Recipe,
    out: Path,
    resume: bool,
    device: torch.device | None,
    precision: Precision | None,
) -> PreparedRun:
    """Load the text and encode it, and refuse, before the work, what cannot be done."""
    begun = _check_folder(out, resume)
    if resume:
        require_same(folder.read_recipe(out).settings(), recipe.settings())
        precision = precision or Precision(begun["precision"])
    where, data, training = (
        devices.pick_device_and_precision(device, precision),
        recipe.data,
        recipe.training,
    )
    where = replace(where, why="as the run was begun") if resume else where
    text = corpora.load(data.corpus, "train", data.src_lang, data.tgt_lang)
    held_out = corpora.load(data.corpus, "validation", data.src_lang, data.tgt_lang)
    if resume:
        description = folder.read_description(out)._replace(recipe=recipe)
    else:
        description = Description(recipe, *tokenizers.train(data, text.src, text.tgt))
    with torch.device("meta"):
        devices.check_memory(description.build(), where.device)
    sides = description.src_tokenizer, description.tgt_tokenizer
    examples = encode_pairs(*sides, text, data.max_train_tokens)
    most, sentences = training.batch_tokens, training.batch_sentences
    batches = TokenBudgetBatches(examples, most, sentences, seed=training.seed)
    longest = min(recipe.model.max_len, most) - 1  # one place is for eos
    validation = TokenBudgetBatches(encode_pairs(*sides, held_out, longest), most)
    return PreparedRun(description, where, batches, validation)


def _fitting_tokens(model: torch.nn.Module, prepared: PreparedRun, device: torch.device) -> int:
    """Give the most tokens, of a step's and its halves, that memory holds with room to spare."""
    training = prepared.description.recipe.training
    longest = sorted(prepared.batches.examples, key=lambda pair: -max(map(len, pair)))
    tokens, widest = training.batch_tokens, 1 + max(map(len, longest[0]))
    batch = collate(longest[: max(1, tokens * 5 // 4 // widest)])
    model.to(device).train()
    _moments = [torch.empty_like(each) for each in model.parameters() for _ in "mv"]  # Adam's
    while True:
        try:
            part = micro_batches(batch, tokens * 5 // 4)[0].to(device)  # free memory is in pieces
            for _ in range(2):  # the second beside the gradients of the first
                batch_loss(model, part, training, prepared.where.precision).loss.backward()
            break
        except RuntimeError as error:
            if not is_out_of_memory(error) or tokens == 1:
                raise
        tokens //= 2
    model.zero_grad()
    return tokens


def _begin(prepared: PreparedRun, out: Path, resume: bool, say: Callable[[str], None]) -> bool:
    """Write what a new run is, or see that a resumed one is the same; tell if it has ended."""
    begun = _check_folder(out, resume)  # another may have begun in between
    texts = {"training": prepared.batches.examples, "validation": prepared.held_out.examples}
    now: dict[str, Any] = {}
    for split, pairs in texts.items():
        text = "".join(repr(tuple(pair)) for pair in pairs)  # each id, and their order
        now[split] = hashlib.sha256(text.encode()).hexdigest()
    # The order of the run's sums depends on the rest, so its last bits.
    now |= {"hardware": hardware(prepared.where.device)}
    now |= {"torch": torch.__version__, "processes": processes.world_size()}
    if not resume:
        write_json(out / folder.DATA, now | {"precision": prepared.where.precision})
        folder.write_description(out, prepared.description)
        return False
    for name in [name for name in now if now[name] != begun.get(name)]:
        require(
            name not in texts,
            f"the {name} examples are not those that the run was begun with ({out / folder.DATA}): "
            "put the corpus and the tokenizers back as they were, or begin in another folder",
        )
        dropout = ", and dropout draws other numbers" if name == "processes" else ""
        say(
            f"begun with {name} {begun.get(name)}, resumed with {now[name]}: "
            f"the weights will differ from an uninterrupted run's in their last bits{dropout}"
        )
    same = folder.read_recipe(out).training.steps == prepared.description.recipe.training.steps
    return same and (out / folder.RUN).is_file()


def _summary(prepared: PreparedRun, model: torch.nn.Module, micro_tokens: int | None) -> str:
    """Say in a few lines what is about to be done, and what differs from the original."""
    recipe, src, tgt = prepared.description
    data, training = recipe.data, recipe.training
    types = f"{src.vocab_size:,}" + ("" if data.joint_vocabulary else f" and {tgt.vocab_size:,}")
    at_once = "" if micro_tokens is None else f", {micro_tokens:,} at a time"
    differs = f"\nnot as in the original: {recipe.differs}" if recipe.differs else ""
    return (
        f"{recipe.name}: {data.corpus} {data.src_lang}-{data.tgt_lang}, "
        f"{len(prepared.batches.examples):,} sentence pairs to learn from, "
        f"{len(prepared.held_out.examples):,} to validate with\n"
        f"{types} types, {count_parameters(model):,} parameters, {training.steps:,} steps of at "
        f"most {training.batch_tokens:,} tokens{at_once}\non {prepared.where}{differs}"
    )


def _record(result: TrainingResult, prepared: PreparedRun) -> dict[str, Any]:
    """Say how a run went."""
    several = {"processes": processes.world_size()} if processes.world_size() > 1 else {}
    return several | {
        "precision": prepared.where.precision,
        "seed": prepared.description.recipe.training.seed,
        "steps": result.step,
        "epochs": result.epoch,
        "minutes": round(result.seconds / 60, 1),
        "validation_loss": result.final_loss,
        "weights": result.final_from,
    }
