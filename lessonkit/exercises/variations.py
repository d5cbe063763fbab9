"""The exercises of lesson 13, in its order: a standard error, open brackets, two trees' phrases."""

import math
import statistics

from lessonkit.exercises.asking import asked, read_words
from lessonkit.exercises.check import Exercise
from transformer.evaluation.scores import phrases

Phrase = tuple[str, int, int]

words = read_words("13")
globals().update(asked(words))  # recall and the predictions


def my_standard_error(first: list[float], second: list[float]) -> float:
    """Give the standard error of the difference of two means."""
    squared = 0.0
    for runs in (first, second):
        squared += statistics.variance(runs) / len(runs)
    return math.sqrt(squared)


def _by_sums(first: list[float], second: list[float]) -> float:
    """The same from sums and sums of squares."""
    squared = 0.0
    for runs in (first, second):
        n, total = len(runs), math.fsum(runs)
        spread = math.fsum(run * run for run in runs) - total * total / n
        squared += spread / (n - 1) / n
    return math.sqrt(squared)


def _one_spread(first: list[float], second: list[float]) -> float:
    """Take one spread for both, from all runs together."""
    n, m = len(first), len(second)
    squares = (n - 1) * statistics.variance(first) + (m - 1) * statistics.variance(second)
    return math.sqrt(squares / (n + m - 2) * (1 / n + 1 / m))


standard_error = Exercise(
    my_standard_error,
    words,
    worked=[
        (([1.0, 3.0], [5.0, 5.0]), 1.0),  # variances 2 and 0
        (([1.0, 2.0, 3.0], [4.0, 6.0, 8.0]), math.sqrt(1 / 3 + 4 / 3)),
    ],
    cases=[
        ([1.0, 2.0], [1.0, 3.0]),
        ([25.8, 25.1, 26.3], [24.9, 25.5, 24.0]),
        ([3.0, 7.0, 5.0, 9.0], [1.0, 2.0]),
        ([1.0, 2.0], [3.0, 4.0, 8.0]),
        ([90.1, 90.4, 89.7], [90.1, 90.4, 89.7]),
    ],
    expected=_by_sums,
    wrong={"one_spread": _one_spread},
)


def my_closing(tokens: list[str]) -> list[str]:
    """Give the brackets that close a tree, the innermost first."""
    waiting = []
    for token in tokens:
        if token.startswith("("):
            waiting.append(token[1:])
        elif token.startswith(")"):
            waiting.pop()
    return [f"){label}" for label in reversed(waiting)]


def _by_shrinking(tokens: list[str]) -> list[str]:
    """Cancel pairs that stand side by side until there are none."""
    brackets = [token for token in tokens if token[0] in "()"]
    index = 0
    while index + 1 < len(brackets):
        if brackets[index][0] == "(" and brackets[index + 1][0] == ")":
            del brackets[index : index + 2]
            index = max(0, index - 1)
        else:
            index += 1
    return [f"){token[1:]}" for token in brackets[::-1]]


_GOLD = "(S (NP DT NN )NP (VP VB (NP DT JJ NN )NP )VP . )S"

closing = Exercise(
    my_closing,
    words,
    worked=[
        ((["(S", "(NP", "DT", "NN"],), [")NP", ")S"]),
        ((["(S", "(NP", "NN", ")NP"],), [")S"]),
        ((["(NP", "NN", ")NP"],), []),
    ],
    cases=[(_GOLD.split()[:end],) for end in range(1, len(_GOLD.split()) + 1)]
    + [
        (["(NP", "(VP", "(NP", "NN", ")NP"],),
        (["(S", "(NP", "(SBAR", "(S", "(NP", "NN", ")NP", ")S"],),
        (["(NP", "(NP", "NN"],),
        (["(NP", "(PP", "(NP", "(PP", "NN"],),
        (["(S", "(NP", "(NP", "NN", ")NP"],),
    ],
    expected=_by_shrinking,
)


def my_shared(said: list[Phrase], right: list[Phrase]) -> float:
    """Give the labelled F1 of a tree's phrases, 0 to 1."""
    common = sum(min(said.count(p), right.count(p)) for p in set(said))
    return 2 * common / (len(said) + len(right))


def _by_removing(said: list[Phrase], right: list[Phrase]) -> float:
    """Strike each right phrase off a list, once."""
    left, common = list(right), 0
    for phrase in said:
        if phrase in left:
            left.remove(phrase)
            common += 1
    return 2 * common / (len(said) + len(right))


def _read(tree: str) -> list[Phrase]:
    return list(phrases(tree).elements())


shared = Exercise(
    my_shared,
    words,
    worked=[
        (([("NP", 0, 1)], [("NP", 0, 1)]), 1.0),
        (([("S", 0, 1)], [("S", 0, 1), ("NP", 0, 1)]), 2 / 3),
        (([("NP", 0, 1)] * 2, [("NP", 0, 1)]), 2 / 3),
    ],
    cases=[
        *(
            (_read(said), _read(_GOLD))
            for said in (
                _GOLD,
                "(S DT NN VB DT JJ NN . )S",
                "(S (NP DT NN )NP (VP VB )VP (NP DT JJ NN )NP . )S",
                "(S (NP DT NN )NP (NP VB (NP DT JJ NN )NP )NP . )S",
                "(S (VP DT NN )VP (VP VB (NP DT JJ NN )NP )VP . )S",
            )
        ),
        ([("NP", 0, 1)] * 2, [("NP", 0, 1)] * 3),
        ([("S", 0, 2), *[("NP", 0, 1)] * 2], [("NP", 0, 1), ("VP", 1, 2)]),
        ([("NP", 0, 2)], [("NP", 1, 2)]),
        ([("NP", 0, 1)], [("NP", 0, 2)]),
    ],
    expected=_by_removing,
    wrong={
        "labels_alone": lambda said, right: my_shared(
            [p[:1] for p in said], [p[:1] for p in right]
        ),
        "spans_alone": lambda said, right: my_shared([p[1:] for p in said], [p[1:] for p in right]),
        "once_each": lambda said, right: my_shared(list(set(said)), list(set(right))),
    },
)
