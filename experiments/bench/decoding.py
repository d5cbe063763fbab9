"""How fast we decode, beside the plain search and other engines, on one thread of the CPU (§6.1).

Seconds are CPU time of this process; the rounds of all contenders are interleaved, so that whatever
else the machine does slows all of them.
"""

import importlib
import statistics
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from engines.folder import ENGINES, export_model
from lessonkit.analysis.timing import computing_on_single_thread, process_seconds_of_call
from transformer.config import BEAM_SIZE, EOS_ID
from transformer.data import corpora
from transformer.data.batches import collate_sources
from transformer.data.corpora import default_test_split
from transformer.decoding import Hypothesis, beam_search
from transformer.evaluation.scores import bleu
from transformer.fast_search import fast_beam_search
from transformer.model import Transformer
from transformer.models.translator import Translator
from transformer.support.files import write_json
from transformer.support.provenance import provenance

NUM_TIMED_ROUNDS = 5
NUM_COMPARED_SENTENCES = 1000  # whose translations are compared
NUM_SENTENCES_IN_ONE_CALL = 200  # sentences translated in one call, timed
NUM_SENTENCES_ONE_BY_ONE = 50  # sentences translated one by one, as a service gets them
OURS, PLAIN_SEARCH_NAME = "ours", "beam_search"
DISTRIBUTIONS = {"onnx": "onnxruntime"}  # of an engine whose package has another name
NUM_LONG_ROUNDS = 3
LONG_TARGET_TOKENS = 1024

TranslateFunction = Callable[[list[str]], list[str]]


class PlainSearchTranslator(Translator):
    """A translator that searches as the paper's file does."""

    def _search(
        self, sources: Sequence[list[int]], beam_size: int, alpha: float
    ) -> list[list[Hypothesis]]:
        src = collate_sources(sources).to(self.device)
        max_len = self.recipe.model.max_len - 1
        return beam_search(self.model, src, beam_size=beam_size, alpha=alpha, max_len=max_len)


@computing_on_single_thread()
def record_decoding_speeds(model: str, file: Path) -> dict[str, Any]:
    """Measure a model's speed in every engine on its test set, and write the record."""
    ours, plain = Translator.load(model), PlainSearchTranslator.load(model)
    data = ours.recipe.data
    split = default_test_split(data.corpus)
    pairs = corpora.load(data.corpus, split, data.src_lang, data.tgt_lang)
    text = list(pairs.src[:NUM_COMPARED_SENTENCES])
    expected = list(pairs.tgt[:NUM_COMPARED_SENTENCES])
    names = [name for name in ENGINES if name != "transformers" or find_spec(name)]
    about = {
        "model": model,
        "corpus": data.corpus,
        "split": split,
        "rounds": NUM_TIMED_ROUNDS,
        "versions": {name: version(DISTRIBUTIONS.get(name, name)) for name in names},
    }
    record = provenance(torch.device("cpu")) | about
    with tempfile.TemporaryDirectory() as folder:
        engines = {
            name: _exported_functions_by_beam_size(model, name, Path(folder) / name)
            for name in names
        }
        for field, beam_size in (("figures", 1), ("with_beams", BEAM_SIZE)):
            others: dict[str, TranslateFunction] = {
                PLAIN_SEARCH_NAME: partial(plain.translate, beam_size=beam_size)
            }
            others |= {name: by[beam_size] for name, by in engines.items() if beam_size in by}
            translate = partial(ours.translate, beam_size=beam_size)
            record[field] = compare_engines(translate, others, text, expected)
            print(f"{model}, a beam of {beam_size}")
    record["long"] = {
        str(beam_size): measure_long_decode(ours, beam_size) for beam_size in (1, BEAM_SIZE)
    }
    write_json(file, record)
    return record


@torch.inference_mode()
def measure_long_decode(translator: Translator, beam_size: int) -> dict[str, Any]:
    """Time a target of `LONG_TARGET_TOKENS` tokens, of a model's sizes with random weights.

    Returns:
        Milliseconds a token of our search and of the plain one (the median of the rounds), and the
        plain one's time as a multiple of ours (its median, and the ends).
    """
    torch.manual_seed(1)
    sizes: Any = {
        "max_len": LONG_TARGET_TOKENS + 1,
        "output_bias": True,
        "tie_source_target": False,
    }
    config: Any = replace(translator.recipe.model, **sizes)
    vocab_size = translator.tgt_tokenizer.vocab_size
    model = Transformer(config, src_vocab_size=vocab_size, tgt_vocab_size=vocab_size).eval()
    model.output.bias[EOS_ID] = -torch.inf  # so that it does not end before
    src = torch.randint(EOS_ID + 1, vocab_size, (1, 17))
    seconds: dict[str, list[float]] = {OURS: [], PLAIN_SEARCH_NAME: []}
    searches: Any = (fast_beam_search, beam_search)
    for _ in range(NUM_LONG_ROUNDS):
        for name, search in zip(seconds, searches, strict=True):
            options = {"beam_size": beam_size, "max_len": LONG_TARGET_TOKENS}
            options["extra_length"] = LONG_TARGET_TOKENS
            seconds[name].append(process_seconds_of_call(partial(search, model, src, **options)))
    milliseconds = {
        name: round(1000 * statistics.median(took) / LONG_TARGET_TOKENS, 2)
        for name, took in seconds.items()
    }
    times = [plain / ours for plain, ours in zip(*reversed(seconds.values()), strict=True)]
    return {
        "tokens": LONG_TARGET_TOKENS,
        "milliseconds_a_token": milliseconds,
        "ours_is_times": round(statistics.median(times), 2),
        "lowest_and_highest": [round(min(times), 2), round(max(times), 2)],
    }


def compare_engines(
    ours: TranslateFunction,
    engines: dict[str, TranslateFunction],
    text: list[str],
    references: list[str],
) -> dict[str, Any]:
    """Translate a text in every engine, round by round.

    Returns:
        For each engine, how many translations are equal to ours, its BLEU and ours; for the
        sentences given together, and for some of them given one by one, how many times our speed
        it has (the median of the rounds, and the ends), and its seconds of computing and ours in
        each round.
    """
    everyone = {OURS: ours} | engines
    # The first translation is slow, and is not timed.
    compared = _compare_translations(everyone, text, references)
    ways = {
        "together": [text[:NUM_SENTENCES_IN_ONE_CALL]],
        "one_by_one": [[sentence] for sentence in text[:NUM_SENTENCES_ONE_BY_ONE]],
    }
    seconds = {way: {name: list[float]() for name in everyone} for way in ways}
    for _ in range(NUM_TIMED_ROUNDS):
        for way, calls in ways.items():
            for name, translate in everyone.items():
                took = process_seconds_of_call(partial(list, map(translate, calls)))
                seconds[way][name].append(took)
    return {
        name: compared[name]
        | {way: _relative_speed(took[OURS], took[name]) for way, took in seconds.items()}
        for name in engines
    }


def _compare_translations(
    everyone: dict[str, TranslateFunction], text: list[str], references: list[str]
) -> dict[str, dict[str, Any]]:
    """Return how many of each contender's translations are equal to ours, its BLEU and ours."""
    translations = {name: translate(text) for name, translate in everyone.items()}
    gold = [[reference] for reference in references]
    score = {name: bleu(lines, gold)["score"] for name, lines in translations.items()}
    equal = {}
    for name, lines in translations.items():
        pairs = zip(lines, translations[OURS], strict=True)
        equal[name] = sum(line == our_line for line, our_line in pairs)
    return {
        name: {"equal": equal[name], "sentences": len(text)}
        | {"bleu": score[name], "our_bleu": score[OURS]}
        for name in everyone
    }


def _exported_functions_by_beam_size(
    model: str, name: str, folder: Path
) -> dict[int, TranslateFunction]:
    """Export a model; return its translate functions by beam size (ONNX has greedy search only)."""
    export_model(model, name, folder)
    module = importlib.import_module(f"engines.serve_{name}")
    translator = module.Translator(folder, threads=1)
    if name == "onnx":
        return {1: translator.translate}
    return {size: partial(translator.translate, beam_size=size) for size in (1, BEAM_SIZE)}


def _relative_speed(ours: list[float], theirs: list[float]) -> dict[str, Any]:
    """Return how many times our speed an engine has, over the rounds."""
    times = [our / their for our, their in zip(ours, theirs, strict=True)]
    return {
        "times_our_speed": round(statistics.median(times), 2),
        "lowest_and_highest": [round(min(times), 2), round(max(times), 2)],
        "seconds": [round(seconds, 3) for seconds in theirs],
        "our_seconds": [round(seconds, 3) for seconds in ours],
    }
