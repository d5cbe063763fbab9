"""Figures of a text: how its vocabulary grows, what stays unknown, how much is padding.

Not in the paper. `python -m experiments text` measures Multi30k and writes
`data/results/text/multi30k.json`, which lesson 01 shows.
"""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from lessonkit.analysis.batching_rules import measure, plans
from transformer.config import FIRST_ID, UNK_ID, DataConfig, TokenizerKind
from transformer.data import corpora
from transformer.data.batches import encode_pairs
from transformer.data.tokenizers import train
from transformer.data.words import split_words
from transformer.support.errors import UserError
from transformer.support.files import read_json
from transformer.support.paths import results_folder

RECORD = "text/multi30k.json"  # in data/results
SEED = 1
SIZES = (500, 1000, 2000, 4000, 8000)  # types of a vocabulary, the special ones not counted
BUDGETS = (1000, 2000, 4000, 8000, 25_000)  # positions of a batch on either side


def vocabulary_growth(tokens: Sequence[str]) -> list[tuple[int, int]]:
    """Count the types among the first tokens of a text, at each doubling and at its end.

    Not in the paper.

    Args:
        tokens: The text, read from its beginning.

    Returns:
        (tokens read, types seen so far), from one token on.

    Raises:
        UserError: there are no tokens.
    """
    if not tokens:
        raise UserError("a text without tokens has no vocabulary: give some text")
    return list(_growth(tokens))


def _growth(tokens: Sequence[str]) -> Iterator[tuple[int, int]]:
    seen: set[str] = set()
    mark = 1
    for number, token in enumerate(tokens, start=1):
        seen.add(token)
        if number in (mark, len(tokens)):
            yield number, len(seen)
        mark = 2 * mark if number == mark else mark


def unknown_share(known: Sequence[str], tokens: Sequence[str], size: int) -> float:
    """Give the share of a text's tokens that a vocabulary of words does not hold.

    Not in the paper, whose byte-pair encoding knows every text (§5.1).

    Args:
        known: The training text's tokens; its most frequent types are the vocabulary.
        tokens: Of another text.
        size: Types of the vocabulary, at most.

    Returns:
        0 to 1.

    Raises:
        UserError: a text has no tokens, or `size` is below 1.
    """
    if not known or not tokens:
        raise UserError("a text without tokens: give some text on both sides")
    if size < 1:
        raise UserError(f"size is {size}: give at least 1 type")
    types = sorted(Counter(known).items(), key=lambda item: (-item[1], item[0]))[:size]
    held = {word for word, _ in types}
    return sum(token not in held for token in tokens) / len(tokens)


def padding_table(config: DataConfig, budgets: Sequence[int]) -> list[dict[str, Any]]:
    """Measure the padding of the training text's batches, by rule and budget.

    Args:
        config: Corpus, languages, tokenizer.
        budgets: Most positions of a batch, on either side.

    Returns:
        A row for each budget and rule: batch_tokens, rule, and what `measure` gives.

    Raises:
        UserError: the corpus cannot be had, or a sentence is over a budget.
    """
    text = corpora.load(config.corpus, "train", config.src_lang, config.tgt_lang)
    tokenizers = train(config, text.src, text.tgt)
    examples = encode_pairs(*tokenizers, text, config.max_train_tokens)
    return [
        {"batch_tokens": budget, "rule": rule, **_rounded(measure(examples, plan))}
        for budget in budgets
        for rule, plan in plans(examples, budget, SEED).items()
    ]


def _rounded(figures: dict[str, Any]) -> dict[str, Any]:
    return {name: round(value, 4) for name, value in figures.items()}


def language_figures(lang: str, text: Sequence[str], other: Sequence[str]) -> dict[str, Any]:
    """Measure one language: growth, unknown share and sentence length by vocabulary size.

    Args:
        lang: "de", "en" or "fr".
        text: Training sentences; the vocabularies come from them.
        other: Sentences of another split.

    Returns:
        growth (from `vocabulary_growth`, of shuffled sentences), words_per_sentence of
        `other`, and for each size of `SIZES` unknown (share) and pieces_per_sentence.
    """
    shuffled = random.Random(SEED).sample(text, len(text))
    known = [word for sentence in shuffled for word in split_words(lang, sentence)]
    new = [word for sentence in other for word in split_words(lang, sentence)]
    second = "fr" if lang != "fr" else "en"  # a configuration names two; one is used
    pieces = []
    for size in SIZES:
        config = DataConfig(
            corpus="multi30k",
            src_lang=lang,
            tgt_lang=second,
            tokenizer=TokenizerKind.BPE,
            vocab_size=size + FIRST_ID,
        )
        tokenizer, _ = train(config, text, [])
        encoded = tokenizer.encode_all(other)
        assert not any(UNK_ID in ids for ids in encoded)
        pieces.append(sum(map(len, encoded)) / len(other))
    return {
        "growth": vocabulary_growth(known),
        "words_per_sentence": round(len(new) / len(other), 4),
        "unknown": [round(unknown_share(known, new, size), 4) for size in SIZES],
        "pieces_per_sentence": [round(number, 4) for number in pieces],
    }


def multi30k_figures() -> dict[str, Any]:
    """Measure Multi30k: its three languages, and padding German to English.

    Raises:
        UserError: the corpus cannot be had.
    """
    languages = {}
    for lang in ("de", "en", "fr"):
        other = "en" if lang != "en" else "de"
        sides = (corpora.load("multi30k", split, lang, other) for split in ("train", "validation"))
        languages[lang] = language_figures(lang, *(list(side.src) for side in sides))
    config = DataConfig(corpus="multi30k", src_lang="de", tgt_lang="en", vocab_size=8000)
    return {
        "sizes": SIZES,
        "languages": languages,
        "padding": padding_table(config, BUDGETS),
    }


def recorded() -> dict[str, Any]:
    """Read the figures of Multi30k that this repository keeps, with their origin.

    Raises:
        UserError: the record is not there.
    """
    file = results_folder() / RECORD
    if not file.is_file():
        raise UserError(f"no record {file}: make it with python -m experiments text")
    record: dict[str, Any] = read_json(file)
    return record
