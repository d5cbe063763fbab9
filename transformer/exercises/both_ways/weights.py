"""An exercise of lesson 08: which tensors training has not changed."""

import itertools

import torch
from torch import Tensor

from transformer.exercises.check import Exercise, Wrong


def my_untrained(before: dict[str, Tensor], after: dict[str, Tensor]) -> list[str]:
    """Name the tensors that did not change at all, in alphabetical order."""
    same = [name for name in before if torch.equal(before[name], after[name])]
    return sorted(same)


def changed_ones(before: dict[str, Tensor], after: dict[str, Tensor]) -> list[str]:
    """Name those that did change."""
    return sorted(before.keys() - my_untrained(before, after))


def partly_the_same(before: dict[str, Tensor], after: dict[str, Tensor]) -> list[str]:
    """Count a tensor as soon as one number stayed."""
    return sorted(name for name in before if bool((before[name] == after[name]).any()))


def the_same_sum(before: dict[str, Tensor], after: dict[str, Tensor]) -> list[str]:
    """Compare sums, which may stay while the numbers change."""
    return sorted(name for name in before if bool(before[name].sum() == after[name].sum()))


def nearly_the_same(before: dict[str, Tensor], after: dict[str, Tensor]) -> list[str]:
    """Overlook a change that is small."""
    return sorted(name for name in before if torch.allclose(before[name], after[name]))


def as_they_come(before: dict[str, Tensor], after: dict[str, Tensor]) -> list[str]:
    """Forget the order."""
    return [name for name in before if torch.equal(before[name], after[name])]


def _states() -> list[tuple[dict[str, Tensor], dict[str, Tensor]]]:
    """Tensors unchanged, changed in one place, hardly changed, swapped about, changed whole."""
    ways = ([1.0, 2.0], [1.0, 3.0], [2.0, 1.0], [5.0, 6.0])
    cases = [
        (
            {"w": torch.tensor([1.0, 2.0]), "b": torch.tensor([1.0, 2.0])},
            {"w": torch.tensor(first), "b": torch.tensor(second)},
        )
        for first, second in itertools.product(ways, repeat=2)
    ]
    hardly = {"w": torch.tensor([1e-9, 2.0])}  # one small step of training
    return [*cases, ({"w": torch.tensor([0.0, 2.0])}, hardly)]


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
            "Numbers can change and keep their sum, or change places: compare them one by one.",
        ),
        Wrong(
            nearly_the_same,
            "A small change is a change: one step of training moves a weight very little. Compare "
            "exactly.",
        ),
        Wrong(as_they_come, "The names are asked for in alphabetical order."),
    ],
)
