"""From a recipe to a trained model in a folder."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from transformer import model_folder
from transformer.config import Recipe
from transformer.data import corpora, tokenizers
from transformer.data.batches import TokenBudgetBatches, encode_pairs
from transformer.errors import UserError
from transformer.machine import pick_device
from transformer.model_folder import Description
from transformer.provenance import provenance
from transformer.training.checkpoint import read_json, require_same, write_json
from transformer.training.log import Report, TrainingResult
from transformer.training.loop import train


def train_recipe(
    recipe: Recipe,
    out: Path,
    *,
    resume: bool = False,
    device: torch.device | None = None,
    on_report: Callable[[Report], None] = print,
    stop_after: int | None = None,
) -> TrainingResult:
    """Carry out a recipe: load, tokenise, train, and leave a model folder (see `model_folder`).

    Args:
        recipe: What to do.
        out: The folder to make.
        resume: Go on with the run in `out`.
        device: Where to train; None picks the GPU if there is one.
        on_report: Called with each report; `print` shows one line.
        stop_after: Interrupt the run once this many steps are done.

    Raises:
        UserError: `out` holds a run and `resume` is off, or the other way round; resumed
            with another recipe; the corpus cannot be had; a loss that is not finite.
    """
    device = device or pick_device()
    data, training = recipe.data, recipe.training
    if resume:
        require_same(read_begun(out).to_dict(), recipe.to_dict(), free="steps")
    elif (out / model_folder.RECIPE).exists():
        raise UserError(f"{out} holds a run already: resume it (--resume), or give another folder")
    text = corpora.load(data.corpus, "train", data.src_lang, data.tgt_lang)
    held_out = corpora.load(data.corpus, "validation", data.src_lang, data.tgt_lang)
    if resume:
        description = model_folder.read_description(out)._replace(recipe=recipe)
    else:
        description = Description(recipe, *tokenizers.train(data, text.src, text.tgt))
        model_folder.write_description(out, description)
    sides = description.src_tokenizer, description.tgt_tokenizer
    examples = encode_pairs(*sides, text, data.max_train_tokens)
    held_out_examples = encode_pairs(*sides, held_out, recipe.model.max_len - 1)
    batches = TokenBudgetBatches(examples, training.batch_tokens, seed=training.seed)
    held_out_batches = TokenBudgetBatches(held_out_examples, training.batch_tokens)

    torch.manual_seed(training.seed)
    result = train(
        description.build(),
        training,
        batches,
        list(held_out_batches.epoch(0)),
        out,
        d_model=recipe.model.d_model,
        device=device,
        resume=resume,
        on_report=on_report,
        stop_after=stop_after,
    )
    if not result.interrupted:
        write_json(out / model_folder.RUN, _record(result, recipe, device))
    return result


def read_begun(out: Path) -> Recipe:
    """Read the recipe that the run in `out` was begun with.

    Raises:
        UserError: there is no run in `out`.
    """
    path = out / model_folder.RECIPE
    if not path.is_file():
        raise UserError(f"nothing to resume in {out}: it has no {model_folder.RECIPE}")
    return Recipe.from_dict(read_json(path))


def _record(result: TrainingResult, recipe: Recipe, device: torch.device) -> dict[str, Any]:
    """Say how a model came about, so that a figure can be traced to its run."""
    return provenance(device) | {
        "seed": recipe.training.seed,
        "steps": result.step,
        "epochs": result.epoch,
        "minutes": round(result.seconds / 60, 1),
        "validation_loss": result.final_loss,
        "weights": result.final_from,
    }
