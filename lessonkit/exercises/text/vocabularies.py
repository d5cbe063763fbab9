"""An exercise of lesson 01: which words a vocabulary keeps."""

import collections
import itertools

from lessonkit.exercises.asking import read_words
from lessonkit.exercises.check import Exercise

words = read_words("01")

Tokens = list[str]


def my_kept_types(tokens: Tokens, min_frequency: int) -> Tokens:
    """List the types that are frequent enough; equals by alphabet."""
    counts = collections.Counter(tokens)
    kept = [word for word in counts if counts[word] >= min_frequency]
    return sorted(kept, key=lambda word: (-counts[word], word))


def keeps_all_types(tokens: Tokens, min_frequency: int) -> Tokens:
    """Have no use for the cut."""
    return my_kept_types(tokens, 1)


def cuts_one_too_many(tokens: Tokens, min_frequency: int) -> Tokens:
    """Ask for more than `min_frequency` where as many are enough."""
    return my_kept_types(tokens, min_frequency + 1)


def only_alphabetical(tokens: Tokens, min_frequency: int) -> Tokens:
    """Sort by the word alone."""
    return sorted(my_kept_types(tokens, min_frequency))


def first_seen_first(tokens: Tokens, min_frequency: int) -> Tokens:
    """Leave equals in the order of the text, as `Counter.most_common` does."""
    counts = collections.Counter(tokens).most_common()
    return [word for word, count in counts if count >= min_frequency]


def equals_backwards(tokens: Tokens, min_frequency: int) -> Tokens:
    """Turn the whole order round, the alphabet with it."""
    counts = collections.Counter(tokens)
    kept = [word for word in counts if counts[word] >= min_frequency]
    return sorted(kept, key=lambda word: (counts[word], word), reverse=True)


def _by_rounds(tokens: Tokens, min_frequency: int) -> Tokens:
    """Go down from the highest count, and through the alphabet in each round."""
    kept = []
    for count in range(len(tokens), min_frequency - 1, -1):
        kept += [word for word in sorted(set(tokens)) if tokens.count(word) == count]
    return kept


def _texts(length: int) -> list[Tokens]:
    return [list(letters) for letters in itertools.product("abc", repeat=length)]


kept_types = Exercise(
    my_kept_types,
    words,
    worked=[
        ((["b", "a", "b"], 1), ["b", "a"]),
        ((["b", "a", "c", "b", "a"], 2), ["a", "b"]),
        ((["a"], 2), []),
    ],
    cases=[(tokens, cut) for n in (2, 3, 4) for tokens in _texts(n) for cut in (1, 2)]
    + [(["the", "The", "the"], 1), (["b", "ab"], 1), (["a", "a", "a", "b", "b"], 3)],
    expected=_by_rounds,
    wrong={
        "keeps_all_types": keeps_all_types,
        "cuts_one_too_many": cuts_one_too_many,
        "only_alphabetical": only_alphabetical,
        "first_seen_first": first_seen_first,
        "equals_backwards": equals_backwards,
    },
    properties={
        "each type stands once": lambda value, *_: len(set(value)) == len(value),
    },
)
