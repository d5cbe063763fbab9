"""Exercises of lesson 08: what did not train, what leaks, and groups that do not.

The last stands in `transformer.exercises.both_ways_groups`.
"""

import itertools

import torch
from torch import Tensor

from transformer.exercises.both_ways_groups import groups as groups
from transformer.exercises.check import Exercise, Wrong

Pair = tuple[str, str]


def my_untrained(before: dict[str, Tensor], after: dict[str, Tensor]) -> list[str]:
    """Name the tensors that did not change at all, in alphabetical order."""
    same = [name for name in before if torch.equal(before[name], after[name])]
    return sorted(same)


def changed_ones(before: dict[str, Tensor], after: dict[str, Tensor]) -> list[str]:
    """Name those that did change."""
    return sorted(name for name in before if not torch.equal(before[name], after[name]))


def partly_the_same(before: dict[str, Tensor], after: dict[str, Tensor]) -> list[str]:
    """Count a tensor as soon as one number stayed."""
    return sorted(name for name in before if bool((before[name] == after[name]).any()))


def the_same_sum(before: dict[str, Tensor], after: dict[str, Tensor]) -> list[str]:
    """Compare sums, which may stay while the numbers change."""
    return sorted(name for name in before if bool(before[name].sum() == after[name].sum()))


def as_they_come(before: dict[str, Tensor], after: dict[str, Tensor]) -> list[str]:
    """Forget the order."""
    return [name for name in before if torch.equal(before[name], after[name])]


def _states() -> list[tuple[dict[str, Tensor], dict[str, Tensor]]]:
    """Two tensors, each unchanged, changed in one place, swapped about, or changed whole."""
    ways = ([1.0, 2.0], [1.0, 3.0], [2.0, 1.0], [5.0, 6.0])
    return [
        (
            {"w": torch.tensor([1.0, 2.0]), "b": torch.tensor([1.0, 2.0])},
            {"w": torch.tensor(first), "b": torch.tensor(second)},
        )
        for first, second in itertools.product(ways, repeat=2)
    ]


def _by_lists(before: dict[str, Tensor], after: dict[str, Tensor]) -> list[str]:
    same = {name for name, value in before.items() if value.tolist() == after[name].tolist()}
    return sorted(same)


untrained = Exercise(
    my_untrained,
    minutes=5,
    difficulty="easy",
    hints=(
        "Go through the names, and compare the two tensors of each.",
        "torch.equal(a, b) is True only if every number is the same.",
        "sorted(name for name in before if torch.equal(before[name], after[name])).",
    ),
    worked=[
        (
            (
                {"w": torch.tensor([1.0]), "b": torch.tensor([0.0])},
                {"w": torch.tensor([1.5]), "b": torch.tensor([0.0])},
            ),
            ["b"],
        ),
    ],
    cases=_states(),
    expected=_by_lists,
    wrong=[
        Wrong(changed_ones, "These are the ones that did change."),
        Wrong(
            partly_the_same,
            "One number that stayed is no sign: rows of an embedding stay where their word was "
            "not in the batch. Ask whether *every* number stayed.",
        ),
        Wrong(
            the_same_sum,
            "Numbers can change and keep their sum: compare them one by one.",
        ),
        Wrong(as_they_come, "The names are asked for in alphabetical order."),
    ],
)


def my_leaked(train: list[Pair], test: list[Pair]) -> float:
    """Give the share of the test pairs that have a side in training."""
    firsts = {first for first, _ in train}
    seconds = {second for _, second in train}
    seen = [first in firsts or second in seconds for first, second in test]
    return sum(seen) / len(test)


def whole_pairs(train: list[Pair], test: list[Pair]) -> float:
    """Look for the pair as it stands."""
    return sum(pair in train for pair in test) / len(test)


def both_sides(train: list[Pair], test: list[Pair]) -> float:
    """Ask for both sides."""
    firsts, seconds = ({pair[side] for pair in train} for side in (0, 1))
    return sum(a in firsts and b in seconds for a, b in test) / len(test)


def first_side(train: list[Pair], test: list[Pair]) -> float:
    """Look at the first side alone."""
    return sum(a in {first for first, _ in train} for a, _ in test) / len(test)


def second_side(train: list[Pair], test: list[Pair]) -> float:
    """Look at the second side alone."""
    return sum(b in {second for _, second in train} for _, b in test) / len(test)


def of_training(train: list[Pair], test: list[Pair]) -> float:
    """Count the training pairs that stand in the test set."""
    return my_leaked(test, train)


def _by_pairs(train: list[Pair], test: list[Pair]) -> float:
    """Compare each test pair with each training pair."""
    seen = [any(a == x or b == y for x, y in train) for a, b in test]
    return seen.count(True) / len(seen)


def _splits() -> list[tuple[list[Pair], list[Pair]]]:
    pairs = [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y"), ("c", "z")]
    trains = [list(each) for n in (1, 2, 3) for each in itertools.combinations(pairs, n)]
    tests = [list(each) for n in (1, 2) for each in itertools.combinations(pairs, n)]
    return [(train, test) for train in trains for test in tests]


leaked = Exercise(
    my_leaked,
    minutes=10,
    difficulty="medium",
    hints=(
        "First gather what training has: the set of its first sides, and that of its second.",
        "A test pair leaks if its first side is in the one set *or* its second in the other.",
        "Count them, and divide by len(test).",
    ),
    worked=[
        (([("go", "va")], [("go", "allez"), ("stop", "arrête")]), 0.5),
    ],
    cases=_splits(),
    expected=_by_pairs,
    wrong=[
        Wrong(
            whole_pairs,
            "This finds only pairs that are the same on both sides. Another translation of a "
            "known sentence leaks too.",
        ),
        Wrong(both_sides, "One side is enough: who knows the answer needs no question."),
        Wrong(first_side, "The second side leaks too: look into both."),
        Wrong(second_side, "The first side leaks too: look into both."),
        Wrong(of_training, "This is the share of training. Asked for is that of the test set."),
    ],
)
