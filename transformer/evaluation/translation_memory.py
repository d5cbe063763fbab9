"""Translation without a model, from the sentence of the training text that is most alike.

Not in the paper. What such a translation memory scores on a test set tells how much of that set
training has seen.
"""

import math
from array import array
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from transformer.data.grouping import grouping_key
from transformer.data.unspaced_scripts import split_words_or_characters
from transformer.support.errors import require
from transformer.support.progress import with_progress
from transformer.support.signatures import check_argument_types


@check_argument_types
def translate_from_memory(
    train_src: Sequence[str], train_tgt: Sequence[str], sources: Sequence[str]
) -> list[str]:
    """Return for each source the translation of the training source that is most similar.

    Similarity is Dice's: twice the weight of the words in common over the weight of both sentences'
    words; a word weighs the logarithm of how rare it is, and in scripts without blanks each
    character is a word. Of equally similar sources the first is taken. `train_tgt[i]` translates
    `train_src[i]`.
    """
    sizes = f"{len(train_src)} training sources and {len(train_tgt)} translations"
    require(0 < len(train_src) == len(train_tgt), f"{sizes}: give one or more, as many of both")
    memory = _build_word_index(train_src)
    translations = []
    for source in with_progress(sources, "nearest training sources", "sentences"):
        similarity = _dice_similarities(memory, _distinct_words(source))
        translations.append(train_tgt[int(similarity.round(9).argmax())])
    return translations


class _WordIndex(NamedTuple):
    """The sentences of a training text, by their words."""

    sentences: Mapping[str, np.ndarray]  # for each word the indices of the sentences that have it
    weights: Mapping[str, float]  # of each word
    sizes: np.ndarray  # of each sentence, the sum of its words' weights
    unknown_weight: float  # of a word that no sentence has


def _build_word_index(sentences: Sequence[str]) -> _WordIndex:
    """Return the index of sentences by their words."""
    count = len(sentences)
    indices: dict[str, array[int]] = {}
    for index, sentence in enumerate(
        with_progress(sentences, "index of the training text", "sentences")
    ):
        for word in _distinct_words(sentence):
            indices.setdefault(word, array("i")).append(index)
    weights = {word: math.log(1 + count / len(having)) for word, having in indices.items()}
    index_arrays = {word: np.array(having) for word, having in indices.items()}
    sizes = np.zeros(count)
    # In one order, so that equal sentences have equal sums.
    for word in sorted(index_arrays):
        sizes[index_arrays[word]] += weights[word]
    return _WordIndex(
        sentences=index_arrays, weights=weights, sizes=sizes, unknown_weight=math.log(1 + count)
    )


def _dice_similarities(memory: _WordIndex, words: Sequence[str]) -> np.ndarray:
    """Return how similar each remembered sentence is to a list of words, 0 to 1."""
    shared = np.zeros(len(memory.sizes))
    for word in words:
        if word in memory.sentences:
            shared[memory.sentences[word]] += memory.weights[word]
    size = sum(memory.weights.get(word, memory.unknown_weight) for word in words)
    # Where the two sizes add up to less than 1, nothing is shared.
    return 2 * shared / np.maximum(memory.sizes + size, 1.0)


def _distinct_words(sentence: str) -> list[str]:
    """Return a sentence's distinct words in one order, so that sums over them are the same."""
    return sorted(set(split_words_or_characters(grouping_key(sentence))))
