"""Translation without a model, from the sentence of the training text that is most alike.

Not in the paper. What such a translation memory scores on a test set tells how much of that set
training has seen.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from transformer.data.grouping import Pair, grouping_key


def translate_from_memory(train: Sequence[Pair], sources: Sequence[str]) -> list[str]:
    """Translate from second side to first: return what the most similar sentence means.

    Similarity is Dice's: twice the weight of the words in common over the weight of both sentences'
    words; a word weighs the logarithm of how rare it is. Of equally similar pairs the first is
    taken.
    """
    memory = _build_word_index([second for _, second in train])
    translations = []
    for source in sources:
        similarity = _dice_similarities(memory, _distinct_words(source))
        translations.append(train[int(similarity.round(9).argmax())][0])
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
    words = [_distinct_words(sentence) for sentence in sentences]
    indices: dict[str, list[int]] = {}
    for index, sentence_words in enumerate(words):
        for word in sentence_words:
            indices.setdefault(word, []).append(index)
    weights = {word: math.log(1 + count / len(having)) for word, having in indices.items()}
    return _WordIndex(
        sentences={word: np.array(having) for word, having in indices.items()},
        weights=weights,
        sizes=np.array([sum(weights[word] for word in each) for each in words]),
        unknown_weight=math.log(1 + count),
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
    return sorted(set(grouping_key(sentence).split()))
