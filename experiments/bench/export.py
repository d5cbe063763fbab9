"""How fast an exported model is compared with ours, on one thread of the CPU.

Not in the paper. Seconds are CPU time of this process; the rounds of all engines are interleaved,
so that whatever else the machine does slows all of them.
"""

import importlib
import statistics
import tempfile
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from engines.folder import ENGINES, export_model
from lessonkit.analysis.timing import computing_on_single_thread, process_seconds_of_call
from transformer.config import BEAM_SIZE
from transformer.data import corpora
from transformer.data.corpora import default_test_split
from transformer.evaluation.scores import bleu
from transformer.models.translator import Translator
from transformer.support.files import write_json
from transformer.support.provenance import provenance

NUM_TIMED_ROUNDS = 5
NUM_SENTENCES_IN_ONE_CALL = 1000  # sentences translated in one call
NUM_SENTENCES_ONE_BY_ONE = 100  # sentences translated one by one, as a service gets them

TranslateFunction = Callable[[list[str]], list[str]]


@computing_on_single_thread()
def record_engine_speeds(model: str, file: Path) -> dict[str, Any]:
    """Measure a model's speed in every engine on its test set, and write the record."""
    ours = Translator.load(model)
    data = ours.recipe.data
    split = default_test_split(data.corpus)
    pairs = corpora.load(data.corpus, split, data.src_lang, data.tgt_lang)
    text, expected = (
        list(pairs.src[:NUM_SENTENCES_IN_ONE_CALL]),
        list(pairs.tgt[:NUM_SENTENCES_IN_ONE_CALL]),
    )
    about = {"model": model, "corpus": data.corpus, "split": split, "rounds": NUM_TIMED_ROUNDS}
    origin = provenance(torch.device("cpu"))
    with tempfile.TemporaryDirectory() as folder:
        here = [name for name in ENGINES if name != "transformers" or find_spec(name)]
        engines = {
            name: _exported_functions_by_beam_size(model, name, Path(folder) / name)
            for name in here
        }
        greedy = {name: engine[1] for name, engine in engines.items()}
        beams = {name: engine[BEAM_SIZE] for name, engine in engines.items() if len(engine) > 1}
        figures = compare_engines(
            lambda some: ours.translate(some, beam_size=1), greedy, text, expected
        )
        with_beams = compare_engines(lambda some: ours.translate(some), beams, text, expected)
    record = origin | about | {"figures": figures, "with_beams": with_beams}
    write_json(file, record)
    return record


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
    everyone = {"ours": ours} | engines
    # The first translation is slow, and is not timed.
    translations = {name: translate(text) for name, translate in everyone.items()}
    gold = [[reference] for reference in references]
    score = {name: bleu(lines, gold)["score"] for name, lines in translations.items()}
    equal = {}
    for name, lines in translations.items():
        pairs = zip(lines, translations["ours"], strict=True)
        equal[name] = sum(line == our_line for line, our_line in pairs)
    ways = {
        "together": [text],
        "one_by_one": [[sentence] for sentence in text[:NUM_SENTENCES_ONE_BY_ONE]],
    }
    seconds: dict[str, dict[str, list[float]]] = {
        way: {name: [] for name in everyone} for way in ways
    }
    for _ in range(NUM_TIMED_ROUNDS):
        for way, calls in ways.items():
            for name, translate in everyone.items():
                took = process_seconds_of_call(partial(list, map(translate, calls)))
                seconds[way][name].append(took)
    return {
        name: {"equal": equal[name], "sentences": len(text), "bleu": score[name]}
        | {"our_bleu": score["ours"]}
        | {way: _relative_speed(took["ours"], took[name]) for way, took in seconds.items()}
        for name in engines
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
