"""Exercises of lesson 11 that need no PyTorch: a leak between splits, groups that prevent it."""

import itertools

from lessonkit.exercises.exercise import Exercise
from lessonkit.exercises.wording import read_lesson_wording

SentencePair = tuple[str, str]
lesson_wording = read_lesson_wording("11")


def my_leaked_share(train: list[SentencePair], test: list[SentencePair]) -> float:
    """Return the share of the test pairs that have a side in training."""
    firsts = {first for first, _ in train}
    seconds = {second for _, second in train}
    seen = [first in firsts or second in seconds for first, second in test]
    return sum(seen) / len(test)


_TWO_PAIRS_WITHOUT_A_SHARED_SIDE = [  # none of these shares a side as it stands
    (("a", "x"), ("x", "y")),  # a word on both sides, here and there
    (("a", "x"), ("b", "a")),
    (("Go", "x"), ("go", "y")),
    (("a", "Va"), ("b", "va")),
    (("go.", "x"), ("go", "y")),
    (("a", "va !"), ("b", "va")),
    (("go ", "x"), ("go", "y")),
    (("going", "x"), ("go", "y")),
    (("a", "il va"), ("b", "va")),
]


def _leaked_test_share_cases() -> list[tuple[list[SentencePair], list[SentencePair]]]:
    pairs = [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y"), ("c", "z")]
    trains = [list(each) for n in (1, 2, 3) for each in itertools.combinations(pairs, n)]
    tests = [list(each) for n in (1, 2) for each in itertools.combinations(pairs, n)]
    cases = list(itertools.product(trains, tests))[::4]
    again = [("a", "x"), ("a", "x"), ("d", "v")]  # each pair counts, also one that stands twice
    return [
        *cases,
        (again[:1], again),
        *(([known], [asked]) for known, asked in _TWO_PAIRS_WITHOUT_A_SHARED_SIDE),
    ]


leaked_share = Exercise(
    my_leaked_share,
    lesson_wording,
    worked=[(([("go", "va")], [("go", "allez"), ("stop", "arrête")]), 0.5)],
    cases=_leaked_test_share_cases(),
    expected=lambda train, test: (
        sum(any(a == x or b == y for x, y in train) for a, b in test) / len(test)
    ),
)


def my_connected_groups(pairs: list[SentencePair]) -> list[list[SentencePair]]:
    """Gather pairs that share a side, directly or by way of others."""
    found: list[list[SentencePair]] = []
    for pair in pairs:
        joined, apart = [pair], []
        for group in found:
            if any(pair[0] == a or pair[1] == b for a, b in group):
                joined += group
            else:
                apart.append(group)
        found = [*apart, joined]
    return sorted(sorted(group) for group in found)


def _groups_by_label_propagation(pairs: list[SentencePair]) -> list[list[SentencePair]]:
    """Number the pairs, and let the smallest number spread until nothing changes."""
    number = list(range(len(pairs)))
    for _ in pairs:
        for i, j in itertools.product(range(len(pairs)), repeat=2):
            if pairs[i][0] == pairs[j][0] or pairs[i][1] == pairs[j][1]:
                number[i] = number[j] = min(number[i], number[j])
    return sorted(
        sorted(p for p, n in zip(pairs, number, strict=True) if n == each) for each in set(number)
    )


def _connected_groups_cases() -> list[tuple[list[SentencePair]]]:
    every = [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y"), ("c", "z"), ("c", "y")]
    cases = [each for n in (1, 2, 3) for each in itertools.permutations(every, n)]
    chain = [("a", "x"), ("b", "x"), ("b", "y"), ("c", "y"), ("c", "z")]  # each hangs on the next
    cases += itertools.permutations(chain[:4])
    cases += list(itertools.permutations(chain))[::7]
    return [(list(each),) for each in [*cases, *_TWO_PAIRS_WITHOUT_A_SHARED_SIDE]]


connected_groups = Exercise(
    my_connected_groups,
    lesson_wording,
    worked=[
        (([("a", "x"), ("b", "y"), ("a", "y")],), [[("a", "x"), ("a", "y"), ("b", "y")]]),
        (([("b", "y"), ("a", "x")],), [[("a", "x")], [("b", "y")]]),
        (([("Non", "Stop"), ("Stop", "Arrête")],), [[("Non", "Stop")], [("Stop", "Arrête")]]),
    ],
    cases=_connected_groups_cases(),
    expected=_groups_by_label_propagation,
)
