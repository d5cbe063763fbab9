"""Exercises of lesson 01 that need no PyTorch: a merge, a vocabulary, batches."""

import collections
import itertools

from lessonkit.exercises.exercise import Exercise
from lessonkit.exercises.wording import read_lesson_wording

lesson_wording = read_lesson_wording("01")
TokenList = list[str]
CountsBySpelledWord = dict[tuple[str, ...], int]
IntegerRows = list[list[int]]


def my_most_frequent_pair(words: CountsBySpelledWord) -> tuple[str, str]:
    """Find the most frequent pair; of equals, the first by alphabet."""
    counts: dict[tuple[str, str], int] = {}
    for pieces, number in words.items():
        for pair in itertools.pairwise(pieces):
            counts[pair] = counts.get(pair, 0) + number
    return min(counts, key=lambda pair: (-counts[pair], pair))


def _most_frequent_pair_cases() -> list[tuple[CountsBySpelledWord]]:
    spelled = [tuple(letters) for n in (2, 3) for letters in itertools.product("ab", repeat=n)]
    spelled += [("b", "c", "a"), ("a", "b", "a", "b", "c"), ("c", "a", "c", "a")]
    spelled += [("th", "e"), ("t", "he"), ("a", "th", "e")]  # pieces that have been merged
    two = itertools.combinations(spelled, 2)
    return [({one: 2, other: 1 + i % 3},) for i, (one, other) in enumerate(two)]


most_frequent_pair = Exercise(
    my_most_frequent_pair,
    lesson_wording,
    worked=[
        (({("a", "b"): 1, ("b", "c"): 2},), ("b", "c")),
        (({("c", "a"): 1, ("a", "b"): 1},), ("a", "b")),
        (({("a", "b", "a", "b"): 2, ("c", "a"): 3},), ("a", "b")),
        (({("ab", "a"): 1, ("a", "c"): 1},), ("a", "c")),  # by the pieces, not as one text
    ],
    cases=_most_frequent_pair_cases(),
    # one pair after the other, from the first of the alphabet on: of equals, max takes the first
    expected=lambda words: max(
        sorted({pair for pieces in words for pair in itertools.pairwise(pieces)}),
        key=lambda pair: sum(n * [*itertools.pairwise(p)].count(pair) for p, n in words.items()),
    ),
)


def my_frequent_types(tokens: TokenList, min_frequency: int) -> TokenList:
    """List the types that are frequent enough; equals by alphabet."""
    counts = collections.Counter(tokens)
    kept = [word for word in counts if counts[word] >= min_frequency]
    return sorted(kept, key=lambda word: (-counts[word], word))


frequent_types = Exercise(
    my_frequent_types,
    lesson_wording,
    worked=[
        ((["b", "a", "b"], 1), ["b", "a"]),
        ((["b", "a", "c", "b", "a"], 2), ["a", "b"]),
        ((["a"], 2), []),
    ],
    cases=[
        (list(letters), cut)
        for length in (2, 3, 4)
        for letters in itertools.product("abc", repeat=length)
        for cut in (1, 2)
    ]
    + [(list(letters), cut) for letters, cut in (("aaabb", 3), ("bbbaa", 2))]
    + [(["the", "The", "the"], 1), (["b", "ab"], 1)],
    expected=lambda tokens, min_frequency: [
        word
        for count in range(len(tokens), min_frequency - 1, -1)
        for word in sorted(set(tokens))
        if tokens.count(word) == count
    ],
    properties={"each type stands once": lambda value, *_: len(set(value)) == len(value)},
)


def my_token_batches(lengths: list[int], budget: int) -> IntegerRows:
    """Cut sentences, shortest first, into batches that keep the budget."""
    order = sorted(range(len(lengths)), key=lambda i: lengths[i])
    batches: list[list[int]] = [[]]
    for i in order:
        if (len(batches[-1]) + 1) * lengths[i] > budget:
            batches.append([])
        batches[-1].append(i)
    return batches


def _token_batches_by_longest_prefix(lengths: list[int], budget: int) -> IntegerRows:
    """Cut off the longest beginning that fits, again and again."""
    rest = sorted((length, i) for i, length in enumerate(lengths))
    batches = []
    while rest:
        fitting = [n for n in range(1, len(rest) + 1) if n * rest[n - 1][0] <= budget]
        batches.append([i for _, i in rest[: max(fitting)]])
        rest = rest[max(fitting) :]
    return batches


def _token_batches_cases() -> list[tuple[list[int], int]]:
    cases = [
        (list(lengths), budget)
        for number in (1, 2, 3, 4)
        for lengths in itertools.product((1, 2, 3), repeat=number)
        for budget in (3, 4, 6)
    ]
    return [*cases[::3], ([2, 2, 2, 2], 4), ([3, 1, 1, 3, 1], 6)]  # two batches of several


token_batches = Exercise(
    my_token_batches,
    lesson_wording,
    worked=[
        (([2, 2], 4), [[0, 1]]),
        (([3, 1], 3), [[1], [0]]),
        (([4, 1, 2, 1], 4), [[1, 3], [2], [0]]),
    ],
    cases=_token_batches_cases(),
    expected=_token_batches_by_longest_prefix,
    properties={
        "every sentence stands in one batch, once": lambda value, lengths, budget: (
            sorted(i for batch in value for i in batch) == list(range(len(lengths)))
        ),
        "no batch is over the budget": lambda value, lengths, budget: all(
            len(batch) * max(lengths[i] for i in batch) <= budget for batch in value
        ),
    },
)
