"""Specimens trained beside the sound model, to see which of them look healthy.

Not in the paper. Each is trained on the embedded corpus for a minute or two, and measured on
its validation text with the paper's search (§6.1). One file a specimen, with where each of its
runs comes from; stopped at any point, the same command goes on.
"""

import dataclasses
import math
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor

from experiments.museum_table import SOUND, trained
from lessonkit.museum.sound import Setup
from lessonkit.museum.specimen import Specimen
from transformer.config import LENGTH_PENALTY, ModelConfig, Recipe
from transformer.data import corpora, tokenizers
from transformer.data.batches import Example, TokenBudgetBatches, collate_sources, encode_pairs
from transformer.data.parallel import ParallelText
from transformer.data.tokenizers import Tokenizer
from transformer.evaluation.scores import bleu
from transformer.recipes import find_recipe
from transformer.support.errors import unknown_name
from transformer.support.files import check_file, read_json, write_json
from transformer.training.devices import provenance

STEPS, REPORT_EVERY, WARMUP_STEPS, DROPOUT = 400, 20, 120, 0.1
BEAM_SIZE, SENTENCES_A_BATCH, EXTRA_LENGTH = 4, 50, 20

Tensors = tuple[Tensor, Tensor, Tensor]
Curve = list[list[float | None]]  # pairs of step and loss


class Text(NamedTuple):
    """What every run learns from and is measured on."""

    recipe: Recipe
    tokenizer: Tokenizer
    examples: list[Example]
    held_out: ParallelText
    held_out_examples: list[Example]


def train_museum(
    folder: Path,
    *,
    seeds: Sequence[int],
    only: Sequence[str] = (),
    on_line: Callable[[str], None] = print,
) -> None:
    """Train and measure what is missing, and add each run to its specimen's record, NAME.json.

    All specimens with the first seed come before any with the second; `only` names some of those
    that train.
    """
    known = trained()
    for name in only:
        if name not in known:
            raise unknown_name("specimen", name, known)
    plan = [(name, seed) for seed in seeds for name in only or known]
    for number, (name, seed) in enumerate(plan, start=1):
        file = folder / f"{name}.json"
        check_file(file)
        runs = read_json(file)["runs"] if file.exists() else []
        if any(run["seed"] == seed for run in runs):
            continue
        run = one_run(known[name], seed)
        runs = sorted([*runs, run], key=lambda each: each["seed"])
        write_json(file, _about(known[name]) | {"runs": runs})
        on_line(
            f"run {number} of {len(plan)}: {name}, seed {seed}: loss {run['curve'][-1][1]}, "
            f"perplexity {run['perplexity']}, BLEU {run['bleu']['score']}, {run['seconds']} s"
        )


def _about(specimen: Specimen) -> dict[str, Any]:
    budget = {"steps": STEPS, "warmup_steps": WARMUP_STEPS, "dropout": DROPOUT}
    budget |= {"label_smoothing": 0.0}
    return {
        "specimen": specimen.name,
        "about": specimen.about,
        "recipe": text().recipe.name,
        "budget": budget | {"batch_tokens": text().recipe.training.batch_tokens},
        "beam_size": BEAM_SIZE,
        "alpha": LENGTH_PENALTY,
    }


@cache
def text() -> Text:
    """Load the embedded corpus and train its tokenizer, as the recipe `demo` does."""
    recipe = find_recipe("demo")
    data = recipe.data
    train = corpora.load(data.corpus, "train", data.src_lang, data.tgt_lang)
    held_out = corpora.load(data.corpus, "validation", data.src_lang, data.tgt_lang)
    sides = tokenizers.train(data, train.src, train.tgt)
    examples = encode_pairs(*sides, train, data.max_train_tokens)
    return Text(recipe, sides[1], examples, held_out, encode_pairs(*sides, held_out))


def make_setup(specimen: Specimen, seed: int) -> Setup:
    """Make the recipe's network, with its vocabulary and a specimen's fault, untrained."""
    sizes = {"src_vocab_size", "tgt_vocab_size", "tie_source_target"}
    changes = {key: value for key, value in specimen.config.items() if key not in sizes}
    sound = text().recipe.model
    assert isinstance(sound, ModelConfig)
    config = dataclasses.replace(sound, dropout=DROPOUT, **changes)
    types = text().tokenizer.vocab_size
    torch.manual_seed(seed)
    code = specimen.code()
    model = code["model"].Transformer(config, src_vocab_size=types, tgt_vocab_size=types)
    setup = code["sound"].Setup(model, warmup_steps=WARMUP_STEPS, label_smoothing=0.0)
    return cast(Setup, setup)


def one_run(specimen: Specimen, seed: int) -> dict[str, Any]:
    """Train one specimen with one seed, and measure it.

    Returns:
        seed; curve (pairs of step and mean training loss since the pair before, nats per token,
        None where it is no number); perplexity (per token, without dropout); bleu by the
        specimen's own search; seconds; provenance.
    """
    began = time.perf_counter()
    origin = provenance(torch.device("cpu"))
    setup = make_setup(specimen, seed)
    if specimen.in_search:
        weights, curve = _sound_weights(seed)
        setup.model.load_state_dict(weights)
    else:
        curve = _curve(setup, seed)
    sound = Setup.validate(setup, _held_out(setup))
    hypotheses = translations(setup)
    references = [[each] for each in text().held_out.tgt]
    return {
        "seed": seed,
        "curve": curve,
        "perplexity": perplexity(sound),
        "bleu": bleu(hypotheses, references),
        "seconds": round(time.perf_counter() - began, 1),
        "provenance": origin,
    }


@cache
def _sound_weights(seed: int) -> tuple[dict[str, Tensor], Curve]:
    """Train the sound model, and give its weights and its curve."""
    setup = make_setup(trained()[SOUND], seed)
    curve = _curve(setup, seed)
    return setup.model.state_dict(), curve


def perplexity(nats: float) -> float | None:
    """Give e to the power of a loss, None where that is no number to print."""
    return round(math.exp(nats), 3) if nats < 100 else None


def _batches(seed: int) -> Iterator[list[Example]]:
    """Give batches without end."""
    batches = TokenBudgetBatches(text().examples, text().recipe.training.batch_tokens, seed=seed)
    epoch = 0
    while True:
        for plan in batches.plan(epoch):
            yield [text().examples[index] for index in plan]
        epoch += 1


def _tensors(setup: Setup, examples: Sequence[Example]) -> Tensors:
    return setup.make_batch([each.src for each in examples], [each.tgt for each in examples])


def _curve(setup: Setup, seed: int) -> Curve:
    """Make every step and report the loss."""
    stream, window = _batches(seed), []
    curve: Curve = []
    torch.manual_seed(seed)
    for step in range(1, STEPS + 1):
        window.append(setup.train_step(*_tensors(setup, next(stream))))
        if step % REPORT_EVERY == 0:
            mean = sum(window) / len(window)
            curve.append([step, round(mean, 4) if math.isfinite(mean) else None])
            window = []
    return curve


def _held_out(setup: Setup) -> list[Tensors]:
    """Give the validation text in batches."""
    batches = TokenBudgetBatches(text().held_out_examples, 4096)
    examples = batches.examples
    return [_tensors(setup, [examples[i] for i in each]) for each in batches.plan(0)]


def translations(setup: Setup) -> list[str]:
    """Translate the validation text as the specimen does, in batches as it comes, short by long."""
    sources = [each.src for each in text().held_out_examples]
    found: list[str] = []
    for first in range(0, len(sources), SENTENCES_A_BATCH):
        src = collate_sources(sources[first : first + SENTENCES_A_BATCH])
        best = setup.beam(src, BEAM_SIZE, src.shape[1] + EXTRA_LENGTH, LENGTH_PENALTY)
        found += [text().tokenizer.decode(hypotheses[0].ids) for hypotheses in best]
    return found
