"""A model's words for the live page; leaks of a test set; one output scored in five ways.

Not in the paper. `python -m experiments leaks` measures Tatoeba, once split at random as system 3
did and once by groups as `transformer.data.grouping` does.
"""

import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from attention_laws.laws.text import measure_leak
from lessonkit.analysis.bleu_variants import score_five_ways
from lessonkit.analysis.translation_memory import translate_from_memory
from transformer.data import corpora
from transformer.data.grouping import Pair, split_pairs
from transformer.evaluation.scores import bleu
from transformer.models.folder import RUN
from transformer.models.translator import Translator
from transformer.support.files import read_json, write_atomically, write_json
from transformer.support.folders import find_model
from transformer.support.provenance import provenance
from transformer.training.devices import pick_device

SEED = 1
TEST_PAIRS = 1000  # the last of the shuffled list, as in system 3
WORD = re.compile(r"[^\W\d_]+")  # as docs/live/js/unseen.js finds words


def write_words(model: str, file: Path) -> None:
    """Write the words of a model's training source, in lower case, for the page that translates."""
    data = Translator.load(model).recipe.data
    text = corpora.load(data.corpus, "train", data.src_lang, data.tgt_lang).src
    words = {word.lower() for sentence in text for word in WORD.findall(sentence)}
    write_atomically(file, ("\n".join(sorted(words)) + "\n").encode())


def record_leaks(file: Path) -> None:
    """Measure the leak of both splits of Tatoeba, and what memory alone scores on their tests.

    The record has for "random" and "grouped": train and test (pairs), leak (as `Leak`, the first
    side English) and bleu (of `translate_from_memory`, French to English, once for each
    French sentence, which may match any of its translations in the test set).
    """
    pairs = corpora.all_pairs("tatoeba")
    grouped = split_pairs(pairs)
    figures = {
        "random": measure_pairs(*random_split(pairs, TEST_PAIRS)),
        "grouped": measure_pairs(grouped["train"], grouped["test"]),
    }
    about = {"seed": SEED, "pairs": len(pairs), "figures": figures}
    write_json(file, provenance(torch.device("cpu")) | about)


def random_split(pairs: Sequence[Pair], test_pairs: int) -> tuple[list[Pair], list[Pair]]:
    """Shuffle pairs and cut off the last for the test: the split that leaks."""
    shuffled = list(pairs)
    random.Random(SEED).shuffle(shuffled)
    return shuffled[:-test_pairs], shuffled[-test_pairs:]


def measure_pairs(train: Sequence[Pair], test: Sequence[Pair]) -> dict[str, Any]:
    """Measure one split (see `record_leaks` for what comes back)."""
    accepted: dict[str, list[str]] = {}
    for english, french in test:
        accepted.setdefault(french, []).append(english)
    said = translate_from_memory(train, list(accepted))
    leak = {name: round(share, 4) for name, share in measure_leak(train, test)._asdict().items()}
    return {
        "train": len(train),
        "test": len(test),
        "leak": leak,
        "bleu": bleu(said, list(accepted.values())),
    }


def record_five_ways(model: str, file: Path, beam: int) -> dict[str, Any]:
    """Score a model on its corpus's first test set; give the points."""

    def measure(translator: Translator) -> dict[str, Any]:
        data = translator.recipe.data
        split = corpora.default_test_split(data.corpus)
        text = corpora.load(data.corpus, split, data.src_lang, data.tgt_lang)
        about = {"split": split, "sentences": len(text), "beam_size": beam}
        return about | score_five_ways(translator, text, beam)

    points: dict[str, Any] = record_model(model, file, measure)["points"]
    return points


def record_model(
    model: str, file: Path, measure: Callable[[Translator], dict[str, Any]]
) -> dict[str, Any]:
    """Take one measure of a model, and write it with its origin."""
    folder = find_model(model)
    training = read_json(folder / RUN)  # fails before the work, if at all
    translator = Translator.load(folder, pick_device())
    data = translator.recipe.data
    record: dict[str, Any] = {"recipe": translator.recipe.name, "corpus": data.corpus}
    record |= {"src_lang": data.src_lang, "tgt_lang": data.tgt_lang} | measure(translator)
    record |= {"training": training, "evaluation": provenance(translator.device)}
    write_json(file, record)
    return record
