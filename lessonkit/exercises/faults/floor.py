"""An exercise of lesson 12: the loss of a model that knows how often each token occurs."""

import collections
import math

from lessonkit.exercises.asking import read_words
from lessonkit.exercises.check import Exercise

words = read_words("12")

Sentences = list[list[int]]


def my_unigram(sentences: Sentences) -> float:
    """Give the loss of the unigram, nats per token."""
    counts = collections.Counter(token for each in sentences for token in each)
    total = sum(counts.values())
    return -sum(n / total * math.log(n / total) for n in counts.values())


def in_bits(sentences: Sentences) -> float:
    """Take the logarithm to base 2."""
    return my_unigram(sentences) / math.log(2)


def as_perplexity(sentences: Sentences) -> float:
    """Raise e to it."""
    return math.exp(my_unigram(sentences))


def sentence_by_sentence(sentences: Sentences) -> float:
    """Count each sentence for itself, and take the mean."""
    return sum(my_unigram([each]) for each in sentences) / len(sentences)


def each_type_once(sentences: Sentences) -> float:
    """Give every type the same probability."""
    return math.log(len({token for each in sentences for token in each}))


def over_types(sentences: Sentences) -> float:
    """Average the surprise over types, not over tokens."""
    counts = collections.Counter(token for each in sentences for token in each)
    total = sum(counts.values())
    return sum(math.log(total / n) for n in counts.values()) / len(counts)


def of_a_sentence(sentences: Sentences) -> float:
    """Give the loss of a whole sentence, on average."""
    return my_unigram(sentences) * sum(map(len, sentences)) / len(sentences)


def _by_logarithms(sentences: Sentences) -> float:
    """The same from ln N and the mean of ln n over tokens."""
    tokens = [token for each in sentences for token in each]
    own = sum(math.log(tokens.count(token)) for token in tokens) / len(tokens)
    return math.log(len(tokens)) - own


unigram = Exercise(
    my_unigram,
    words,
    worked=[
        (([[4, 5], [4, 5]],), math.log(2)),
        (([[4, 4, 4], [4]],), 0.0),
        (([[4, 5, 6, 6]],), 1.5 * math.log(2)),  # 1/4, 1/4, 1/2
    ],
    cases=[
        ([[4], [5, 5, 5]],),
        ([[7, 3], [7, 8, 9, 3]],),
        ([[5, 6, 5, 3], [5, 3], [6, 7, 8, 9, 5, 3]],),
        ([[4, 3]] * 3 + [[5, 6, 7, 3]],),
    ],
    expected=_by_logarithms,
    wrong={
        "in_bits": in_bits,
        "as_perplexity": as_perplexity,
        "sentence_by_sentence": sentence_by_sentence,
        "each_type_once": each_type_once,
        "over_types": over_types,
        "of_a_sentence": of_a_sentence,
    },
)
