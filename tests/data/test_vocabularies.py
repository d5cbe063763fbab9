"""Merges learned from counts of words: those that the library learns from the text."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer.config import DataConfig
from transformer.data import corpora, vocabularies
from transformer.data.fast_merges import learn_merges_from_counts
from transformer.data.vocabularies import count_words, learn_merges, learn_merges_by_library
from transformer.recipes import find_recipe

STEADY = settings(deadline=None, derandomize=True, max_examples=60)


def config(**changes: Any) -> DataConfig:
    return DataConfig(corpus="embedded", src_lang="de", tgt_lang="en", **changes)


# Few letters, so that pairs are as frequent, overlap, and make one piece in two ways.
WORDS = st.dictionaries(
    st.text("abé1'", max_size=9), st.integers(1, 40), min_size=1, max_size=20
).map(Counter)


@STEADY
@given(WORDS, st.integers(1, 3), st.integers(264, 320))
def test_merges_are_those_of_the_library(
    counts: Counter[str], min_frequency: int, vocab_size: int
) -> None:
    data = config(min_frequency=min_frequency)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vocabularies, "MIN_REPETITIONS", 0)
        merges = learn_merges(data, counts, vocab_size)
    assert merges == learn_merges_by_library(data, counts, vocab_size)


def test_words_that_hardly_recur_are_learned_by_the_library(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unused(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(vocabularies, "learn_merges_from_counts", unused)
    assert learn_merges(config(), {"ab": 2, "b": 3}, 300) == [("Ġ", "b"), ("a", "b"), ("Ġ", "ab")]


def test_merges_by_hand() -> None:
    # "bc" is seen 8 times; then " a" 5 times, and " a"-"bc" with it; "a-a" overlaps itself.
    counts = {" abc": 5, "bc": 3, "aaaa": 1}
    assert learn_merges_from_counts(counts, "abc d", 9, 2) == [
        ("b", "c"),
        (" ", "a"),
        (" a", "bc"),
        ("a", "a"),
    ]


@pytest.mark.weekly
@pytest.mark.parametrize("recipe", ["multi30k-de-en", "demo"])
def test_merges_of_a_corpus_are_those_of_the_library(recipe: str, shared_data: Path) -> None:
    data = find_recipe(recipe).data
    text = corpora.load(data.corpus, "train", data.src_lang, data.tgt_lang)
    counts = count_words(data.src_lang, text.src, data.lowercase)
    counts += count_words(data.tgt_lang, text.tgt, data.lowercase)
    merges = learn_merges(data, counts, data.vocab_size)
    assert merges == learn_merges_by_library(data, counts, data.vocab_size)
