"""Figures of texts, and figures counted in several ways: records of lessons 01, 06 and 09.

Not in the paper. `python -m experiments text` measures Multi30k, `leaks` Tatoeba, once split at
random as system 3 did and once by groups as `transformer.data.parallel` does, `bleu` a model on its
test set, `loss` a model on its validation text: system 4's perplexity is of the mean over batches.
"""

import math
import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from lessonkit.analysis.scores import from_memory, measure_leak, score_five_ways
from lessonkit.analysis.text import unknown_share
from transformer.data import corpora
from transformer.data.batches import collate
from transformer.data.parallel import Pair, ParallelText, split_pairs
from transformer.data.tokenizers import split_words
from transformer.evaluation.evaluate import fitting_pairs
from transformer.evaluation.scores import bleu
from transformer.models.folder import RUN
from transformer.models.translator import Translator
from transformer.support.files import find_model, read_json, write_atomically, write_json
from transformer.training.devices import pick_device, provenance
from transformer.training.loss import validation_loss

SEED = 1
SIZES = (500, 1000, 2000, 4000, 8000)  # types of a vocabulary, the special ones not counted
TEST_PAIRS = 1000  # the last of the shuffled list, as in system 3
LOSS_WAYS = ("mean over tokens", "mean over batches")
BATCH_SENTENCES = 128  # of system 4
WORD = re.compile(r"[^\W\d_]+")  # as docs/live/js/unseen.js finds words


def write_words(model: str, file: Path) -> None:
    """Write the words of a model's training source, in lower case, for the page that translates."""
    data = Translator.load(model).recipe.data
    text = corpora.load(data.corpus, "train", data.src_lang, data.tgt_lang).src
    words = {word.lower() for sentence in text for word in WORD.findall(sentence)}
    write_atomically(file, ("\n".join(sorted(words)) + "\n").encode())


def record_unknown_words(file: Path) -> None:
    """Measure what vocabularies of words lack, in the three languages of Multi30k."""
    languages = {}
    for lang in ("de", "en", "fr"):
        other = "en" if lang != "en" else "de"
        sides = (corpora.load("multi30k", split, lang, other) for split in ("train", "validation"))
        known, new = (
            [word for sentence in side.src for word in split_words(lang, sentence)]
            for side in sides
        )
        shares = [round(unknown_share(known, new, size), 4) for size in SIZES]
        languages[lang] = {"unknown": shares}
    _write(file, {"figures": {"sizes": SIZES, "languages": languages}})


def record_leaks(file: Path) -> None:
    """Measure the leak of both splits of Tatoeba, and what memory alone scores on their tests.

    The record has for "random" and "grouped": train and test (pairs), leak (as `Leak`, the first
    side English) and bleu (of what `from_memory` says, French to English, once for each French
    sentence, which may match any of its translations in the test set).
    """
    pairs = corpora.all_tatoeba_pairs()
    grouped = split_pairs(pairs)
    figures = {
        "random": measure_pairs(*random_split(pairs, TEST_PAIRS)),
        "grouped": measure_pairs(grouped["train"], grouped["test"]),
    }
    _write(file, {"pairs": len(pairs), "figures": figures})


def _write(file: Path, figures: dict[str, Any]) -> None:
    """Write figures that need no model and no GPU, with where they come from."""
    write_json(file, provenance(torch.device("cpu")) | {"seed": SEED} | figures)


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
    said = from_memory(train, list(accepted))
    leak = {name: round(share, 4) for name, share in measure_leak(train, test)._asdict().items()}
    return {
        "train": len(train),
        "test": len(test),
        "leak": leak,
        "bleu": bleu(said, list(accepted.values())),
    }


def record_five_ways(model: str, file: Path, beam: int) -> dict[str, Any]:
    """Measure a model on its corpus's first test set; give the points."""

    def measure(translator: Translator, text: ParallelText) -> dict[str, Any]:
        return {"beam_size": beam} | score_five_ways(translator, text, beam)

    points: dict[str, Any] = record_measure(model, file, None, measure)["points"]
    return points


def record_two_ways(model: str, file: Path) -> dict[str, Any]:
    """Measure a model on its corpus's validation text; give loss and perplexity."""

    def measure(translator: Translator, text: ParallelText) -> dict[str, Any]:
        losses = loss_two_ways(translator, text)
        perplexities = {way: math.exp(loss) for way, loss in losses.items()}
        return {"batch_sentences": BATCH_SENTENCES, "loss": losses, "perplexity": perplexities}

    record = record_measure(model, file, "validation", measure)
    return {name: record[name] for name in ("loss", "perplexity")}


def loss_two_ways(
    translator: Translator, text: ParallelText, batch_sentences: int = BATCH_SENTENCES
) -> dict[str, float]:
    """Measure the loss, and average it in the two `LOSS_WAYS`.

    Not in the paper: system 4 reports the second. The sentences are sorted by length and cut into
    batches. Short sentences fill a batch with fewer tokens: in the second mean each of their
    tokens weighs more. Pairs with a side longer than the model takes are left out.

    Returns:
        Nats per token, by the name of the way.
    """
    examples = fitting_pairs(translator, text)
    examples = sorted(examples, key=lambda pair: (len(pair.src), len(pair.tgt)))
    losses, tokens = [], []
    for first in range(0, len(examples), batch_sentences):
        batch = examples[first : first + batch_sentences]
        losses.append(validation_loss(translator.model, [collate(batch)], device=translator.device))
        tokens.append(sum(len(pair.tgt) + 1 for pair in batch))  # with eos
    total = sum(loss * count for loss, count in zip(losses, tokens, strict=True))
    return dict(zip(LOSS_WAYS, (total / sum(tokens), sum(losses) / len(losses)), strict=True))


def record_measure(
    model: str,
    file: Path,
    split: str | None,
    measure: Callable[[Translator, ParallelText], dict[str, Any]],
) -> dict[str, Any]:
    """Take one measure of a model on a split of its own corpus, or its first test set; write it."""

    def measure_split(translator: Translator) -> dict[str, Any]:
        data = translator.recipe.data
        name = split or corpora.default_split(data.corpus)
        text = corpora.load(data.corpus, name, data.src_lang, data.tgt_lang)
        return {"split": name, "sentences": len(text)} | measure(translator, text)

    return record_model(model, file, measure_split)


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
