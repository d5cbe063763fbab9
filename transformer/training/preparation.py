"""What is read, checked and measured before a run begins; nothing here writes a file."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from transformer.config import DataConfig, Recipe
from transformer.data.batches import LeftOut, collate_rows, micro_batches
from transformer.data.token_budget import TokenBudgetBatches
from transformer.models import folder
from transformer.models.folder import ModelDescription, Network
from transformer.modern import find_parts
from transformer.support.errors import is_out_of_memory, require
from transformer.support.files import check_writable_folder
from transformer.support.formats import read_json_object
from transformer.training import devices
from transformer.training.devices import DeviceAndPrecision, Precision
from transformer.training.model_loss import batch_loss
from transformer.training.run import check_may_train_in
from transformer.training.settings import require_equal_but_for_steps
from transformer.training.start_model import StartModel, require_same_start
from transformer.training.text_cache import (
    SplitText,
    encode_or_read_examples,
    learn_or_read_tokenizers,
)

START_FROM_KEY = "start_from"  # in data.json, run.json and a checkpoint's settings


@dataclass(frozen=True)
class PreparedRun:
    """A recipe with its text encoded, ready to train."""

    description: ModelDescription  # of the model
    picked: DeviceAndPrecision  # by the process of rank 0
    batches: TokenBudgetBatches
    validation_batches: TokenBudgetBatches
    first_settings: dict[str, Any]  # what data.json says of a resumed run; {} of a new one
    left_out: LeftOut  # of the training text: what has a side over max_train_tokens
    validation_left_out: LeftOut  # what has a side that does not fit the model, or a batch

    @property
    def longest_source(self) -> int:
        """Tokens of the longest source that is trained on, without its end mark."""
        return int(self.batches.examples.src.lengths().max())

    def pair_counts(self) -> dict[str, dict[str, int]]:
        """Return how many pairs of each split are used, and how many left out, by reason."""
        return {
            "training": {"used": len(self.batches.examples)} | self.left_out._asdict(),
            "validation": {"used": len(self.validation_batches.examples)}
            | self.validation_left_out._asdict(),
        }


def prepare_run(
    recipe: Recipe,
    out: Path,
    resume: bool,
    device: torch.device | None,
    precision: Precision | None,
    build: Callable[[ModelDescription], Network],
    start: StartModel | None,
) -> PreparedRun:
    """Load and encode the text; raise a UserError before the work if it cannot be done.

    The arguments are those of `train_recipe`, the recipe with the vocabularies of `start`.
    """
    # An unknown name is refused before any work.
    find_parts(recipe.parts)
    first_settings = read_settings_of_begun_run(out, resume)
    if resume:
        require_same_start(first_settings.get(START_FROM_KEY), start, out)
        require_equal_but_for_steps(
            folder.read_recipe(out).name_and_sections(), recipe.name_and_sections()
        )
        precision = precision or Precision(first_settings["precision"])
    picked = devices.pick_device_and_precision(device, precision)
    if resume:
        picked = replace(picked, why="as the run was begun")

    text = _split_text(recipe.data, "train")
    if resume:
        description = folder.read_description(out)._replace(recipe=recipe)
    elif start is not None:
        description = ModelDescription(recipe, *start.tokenizers(recipe.data))
    else:
        description = ModelDescription(recipe, *learn_or_read_tokenizers(recipe.data, text))
    with torch.device("meta"):
        devices.check_memory(build(description), picked.device)
    batches, left_out = _encode_training_text(description, text)
    validation_batches, validation_left_out = _encode_validation_text(description)
    return PreparedRun(
        description,
        picked,
        batches,
        validation_batches,
        first_settings,
        left_out,
        validation_left_out,
    )


def _split_text(data: DataConfig, split: str) -> SplitText:
    """Return a split of the text that a recipe names."""
    return SplitText(data.corpus, split, data.src_lang, data.tgt_lang)


def _encode_training_text(
    description: ModelDescription, text: SplitText
) -> tuple[TokenBudgetBatches, LeftOut]:
    """Return what is trained on, and how many pairs are too long for it."""
    recipe, src, tgt = description
    examples, left_out = encode_or_read_examples(src, tgt, text, recipe.data.max_train_tokens)
    training = recipe.training
    batches = TokenBudgetBatches(
        examples, training.batch_tokens, training.batch_sentences, seed=training.seed
    )
    return batches, left_out


def _encode_validation_text(description: ModelDescription) -> tuple[TokenBudgetBatches, LeftOut]:
    """Return what is validated with, and how many pairs do not fit the model, or a batch."""
    recipe, src, tgt = description
    text, batch_tokens = _split_text(recipe.data, "validation"), recipe.training.batch_tokens
    longest = min(recipe.model.max_len, batch_tokens) - 1  # one position is the end mark's
    examples, left_out = encode_or_read_examples(src, tgt, text, longest)
    return TokenBudgetBatches(examples, batch_tokens), left_out


def read_settings_of_begun_run(out: Path, resume: bool) -> dict[str, Any]:
    """Return what data.json says of how a run was begun, {} for a new run.

    Raises:
        UserError: the folder holds no run to resume, or one that a new run would overwrite; it
            cannot be written; data.json is damaged.
    """
    require(
        folder.holds_run(out) or not resume,
        f"{out} has nothing to resume: begin a run there without --resume",
    )
    check_may_train_in(out, resume)
    check_writable_folder(out)
    if not resume:
        return {}
    settings = read_json_object(out / folder.DATA)
    require(
        settings.get("precision") in list(Precision),
        f"{out / folder.DATA} names no precision of this version's: an earlier version wrote it, "
        "or it was changed; resume with the version that wrote it"
        f"{folder.commit_in_words(out)}, put it back, or begin in another folder",
    )
    return settings


def largest_micro_tokens(model: nn.Module, prepared: PreparedRun, device: torch.device) -> int:
    """Return the largest of a step's tokens, its half, its quarter, ... that the memory holds.

    Each is tried on the longest sentences with a quarter more, since free memory is in pieces.
    """
    training = prepared.description.recipe.training
    examples = prepared.batches.examples
    widths = np.maximum(examples.src.lengths(), examples.tgt.lengths()) + 1  # with the end mark
    tokens = training.batch_tokens
    num_sentences = max(1, _tokens_and_a_quarter_more(tokens) // int(widths.max()))
    batch = collate_rows(examples, np.argsort(-widths, kind="stable")[:num_sentences])
    model.to(device).train()
    # Adam will keep two tensors of moments for each parameter.
    moments = [torch.empty_like(parameter) for parameter in model.parameters()]
    moments += [torch.empty_like(parameter) for parameter in model.parameters()]
    while True:
        try:
            part = micro_batches(batch, _tokens_and_a_quarter_more(tokens))[0].to(device)
            # The second backward pass has the gradients of the first beside it.
            for _ in range(2):
                batch_loss(model, part, training, prepared.picked.precision).loss.backward()
            break
        except RuntimeError as error:
            if not is_out_of_memory(error) or tokens == 1:
                raise
        tokens //= 2
    del moments
    model.zero_grad()
    return tokens


def _tokens_and_a_quarter_more(tokens: int) -> int:
    return tokens * 5 // 4
