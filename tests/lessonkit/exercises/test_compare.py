"""Two values side by side: the same or not, and in one line."""

import math
from typing import Any

import numpy as np
import pytest
import torch

from lessonkit.exercises.compare import difference, same, show
from lessonkit.exercises.toys import Script
from tests.helpers.odd import Odd

WHOLE = "its numbers are torch.float32, not torch.int64"
INT32 = "its numbers are torch.int32, not torch.int64"
BOOL = "its numbers are torch.float32, not torch.bool"
BOOL_FROM_INT = "its numbers are torch.int64, not torch.bool"
FLOAT = "its numbers are torch.bool, not torch.float32"
FLOAT_FROM_COMPLEX = "its numbers are torch.complex64, not torch.float32"


@pytest.mark.parametrize(
    ("yours", "expected", "says"),
    [
        (2, 2.0, ""),
        (torch.tensor(2.0), 2.0, ""),
        (2.00001, 2.0, ""),
        (2.001, 2.0, "the values differ"),
        (float("nan"), 2.0, "the values differ"),
        (True, 1.0, "it gives a value of type bool, not a number"),
        (2.0, 2, "it gives a value of type float, not a whole number"),
        ((2, 3), [2, 3], ""),
        ([2, 3], [2, 3, 5], "the length is 2, not 3"),
        ([3, "5"], [2, 5], "it gives a value of type str, not a whole number"),
        (torch.zeros(2, 3), torch.zeros(3, 2), "its shape is (2, 3), not (3, 2)"),
        (torch.zeros(2, 3), torch.ones(2, 3), "the values differ"),
        (torch.ones(3, dtype=torch.long), torch.ones(3), ""),
        (torch.tensor([2.0, math.nan]), torch.tensor([2.0, math.nan]), ""),
        (torch.tensor([2.0, math.nan]), torch.tensor([2.0, 3.0]), "the values differ"),
        (torch.ones(3), torch.ones(3, dtype=torch.long), WHOLE),
        (torch.ones(3, dtype=torch.int32), torch.ones(3, dtype=torch.long), INT32),
        (torch.ones(3), torch.ones(3, dtype=torch.bool), BOOL),
        (torch.ones(3, dtype=torch.long), torch.ones(3, dtype=torch.bool), BOOL_FROM_INT),
        (torch.ones(3, dtype=torch.bool), torch.ones(3), FLOAT),
        (torch.ones(3, dtype=torch.complex64), torch.ones(3), FLOAT_FROM_COMPLEX),
        (torch.ones(3, dtype=torch.float64), torch.ones(3), ""),
        (torch.tensor([37_001]), torch.tensor([37_000]), "the values differ"),
        (torch.tensor([True]), torch.tensor([False]), "the values differ"),
        ([torch.ones(3)], [torch.ones(3, dtype=torch.long)], WHOLE),
        ([1.0], torch.ones(1), "it gives a value of type list, not a tensor"),
        (None, torch.ones(1), "it gives None, not a tensor: is there a `return`?"),
        ({"a": 1}, {"a": 1, "b": 2}, "the name 'b' is missing"),
        ({"a": 1, "b": 2}, {"a": 1}, "the name 'b' should not be there"),
        ({"b": 2, "a": 1}, {"a": 1, "b": 2}, ""),
        ([1], {"a": 1}, "it gives a value of type list, not a dict"),
    ],
)
def test_difference(yours: Any, expected: Any, says: str) -> None:
    assert difference(yours, expected) == says


def test_show_is_short_and_the_same_everywhere() -> None:
    value = {"a": [torch.tensor([1 / 3]), (2,), Odd()], "b": (1.0, None, True, "x")}
    assert (
        show(value) == "{'a': [torch.tensor([0.333333]), (2,), <Odd>], 'b': (1.0, None, True, 'x')}"
    )


def test_an_array_is_shown_with_its_numbers() -> None:
    assert show(np.array([[1 / 3, 2.0]])) == "np.array([[0.333333, 2.0]])"
    assert show([np.array([True, False]), np.int64(3)]) == "[np.array([True, False]), 3]"


def test_a_toy_is_shown_as_a_lesson_would_make_it() -> None:
    assert show((Script([4, 3]), 2)) == "(ex.Script([4, 3]), 2)"


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        (torch.tensor([1.0]), torch.tensor([1.0 + 1e-7]), False),  # the next float32
        (torch.tensor([math.nan]), torch.tensor([math.nan]), True),
        (torch.tensor([1]), torch.tensor([1.0]), False),
        (torch.zeros(2), torch.zeros(3), False),
        ([1.0], [1.0 + 1e-12], False),
        ([math.nan], [math.nan], True),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, False),  # an answer may have moved a name
        ({"a": [1, (2,)]}, {"a": [1, (2,)]}, True),
        ([1, 2], [1], False),
        ("a", "b", False),
    ],
)
def test_same_is_exact(one: Any, other: Any, is_same: bool) -> None:
    assert same(one, other) is is_same
