"""An exercise of lesson 01: the pair that byte-pair encoding merges next."""

import collections
import itertools

from lessonkit.exercises.asking import read_words
from lessonkit.exercises.check import Exercise

words = read_words("01")

Spelled = dict[tuple[str, ...], int]


def my_best_pair(words: Spelled) -> tuple[str, str]:
    """Find the most frequent pair; of equals, the first by alphabet."""
    counts: dict[tuple[str, str], int] = {}
    for pieces, number in words.items():
        for pair in itertools.pairwise(pieces):
            counts[pair] = counts.get(pair, 0) + number
    return min(counts, key=lambda pair: (-counts[pair], pair))


def ignores_word_counts(words: Spelled) -> tuple[str, str]:
    """Count each word once, however often it comes."""
    return my_best_pair(dict.fromkeys(words, 1))


def once_per_word(words: Spelled) -> tuple[str, str]:
    """Count a pair once in a word that holds it twice."""
    counts = collections.Counter(
        {pair: 0 for pieces in words for pair in itertools.pairwise(pieces)}
    )
    for pieces, number in words.items():
        for pair in set(itertools.pairwise(pieces)):
            counts[pair] += number
    return min(counts, key=lambda pair: (-counts[pair], pair))


def first_of_the_text(words: Spelled) -> tuple[str, str]:
    """Leave the choice between equals to `max` or `most_common`: the first pair counted."""
    pairs = [pair for pieces in words for pair in itertools.pairwise(pieces)]
    return max(pairs, key=lambda pair: _times(pair, words))


def last_of_equals(words: Spelled) -> tuple[str, str]:
    """Let `max` decide between equals by the pair itself."""
    return max(_all_pairs(words), key=lambda pair: (_times(pair, words), pair))


def across_words(words: Spelled) -> tuple[str, str]:
    """Join all words into one, so that the end of one meets the beginning of the next."""
    joined = [piece for pieces, number in words.items() for piece in pieces * number]
    return my_best_pair({tuple(joined): 1})


def cuts_in_twos(words: Spelled) -> tuple[str, str]:
    """Part each word into pieces 0-1, 2-3 ... and miss the pairs between."""
    twos: collections.Counter[tuple[str, str]] = collections.Counter()
    for pieces, number in words.items():
        for start in range(0, len(pieces) - 1, 2):
            twos[pieces[start], pieces[start + 1]] += number
    return min(twos, key=lambda pair: (-twos[pair], pair))


def _all_pairs(words: Spelled) -> set[tuple[str, str]]:
    return {(p[i], p[i + 1]) for p in words for i in range(len(p) - 1)}


def _times(pair: tuple[str, str], words: Spelled) -> int:
    return sum(
        number * sum(pieces[i : i + 2] == pair for i in range(len(pieces)))
        for pieces, number in words.items()
    )


def _by_asking_each_pair(words: Spelled) -> tuple[str, str]:
    """Count one pair after the other, from the first of the alphabet on."""
    best = ("", "")
    for pair in sorted(_all_pairs(words)):
        if best == ("", "") or _times(pair, words) > _times(best, words):
            best = pair
    return best


def _spelled_words() -> list[tuple[Spelled]]:
    """Pairs of short words of two and three letters and of longer pieces, counts 1 to 3."""
    spelled = [tuple(letters) for n in (2, 3) for letters in itertools.product("ab", repeat=n)]
    spelled += [("b", "c", "a"), ("a", "b", "a", "b", "c"), ("c", "a", "c", "a")]
    spelled += [("th", "e"), ("t", "he"), ("a", "th", "e")]  # pieces that have been merged
    two = itertools.combinations(spelled, 2)
    return [({one: 2, other: 1 + i % 3},) for i, (one, other) in enumerate(two)]


best_pair = Exercise(
    my_best_pair,
    words,
    worked=[
        (({("a", "b"): 1, ("b", "c"): 2},), ("b", "c")),
        (({("c", "a"): 1, ("a", "b"): 1},), ("a", "b")),
        (({("a", "b", "a", "b"): 2, ("c", "a"): 3},), ("a", "b")),
    ],
    cases=_spelled_words(),
    expected=_by_asking_each_pair,
    wrong={
        "ignores_word_counts": ignores_word_counts,
        "once_per_word": once_per_word,
        "first_of_the_text": first_of_the_text,
        "last_of_equals": last_of_equals,
        "across_words": across_words,
        "cuts_in_twos": cuts_in_twos,
    },
)
