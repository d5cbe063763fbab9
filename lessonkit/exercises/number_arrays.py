"""Numbers with their shape in plain Python, of which an answer's error is measured.

Not in the paper. A page has no PyTorch, and measures the same as a notebook.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from lessonkit.exercises.array_libraries import Tensor
from lessonkit.exercises.compare import ABSOLUTE_TOLERANCE, RELATIVE_TOLERANCE

WHOLE_NUMBER_TOLERANCE = 1e-9


class NumberArray(NamedTuple):
    """The numbers of a tensor, of a list of numbers, or a number alone."""

    shape: tuple[int, ...]
    numbers: list[float]  # row by row, the last axis fastest
    has_floats: bool

    def map(self, function: Callable[[float], float]) -> "NumberArray":
        """Return the floats that a function makes of the numbers."""
        return self._replace(numbers=[function(x) for x in self.numbers], has_floats=True)

    def flatten(self) -> "NumberArray":
        """Return the numbers in one row."""
        return self._replace(shape=(len(self.numbers),))

    def elements(self) -> "list[NumberArray]":
        """Return each number as an array without axes."""
        return [NumberArray((), [number], self.has_floats) for number in self.numbers]

    def take(self, axis: int, part: slice) -> "NumberArray":
        """Return a part along an axis: `numbers.take(-1, slice(1))` has the first of each row."""
        axis %= len(self.shape)
        places = range(self.shape[axis])[part]
        inner = math.prod(self.shape[axis + 1 :])
        starts = range(0, len(self.numbers), self.shape[axis] * inner) if self.numbers else ()
        taken = [
            number
            for start in starts
            for place in places
            for number in self.numbers[start + place * inner : start + (place + 1) * inner]
        ]
        shape = (*self.shape[:axis], len(places), *self.shape[axis + 1 :])
        return self._replace(shape=shape, numbers=taken)

    def flip_rows(self) -> "NumberArray":
        """Return each row in reverse order; a number alone stays as it is."""
        return self.take(-1, slice(None, None, -1)) if self.shape else self

    def transpose(self) -> "NumberArray":
        """Exchange the last two axes; raise IndexError if there are fewer."""
        if len(self.shape) < 2:
            raise IndexError(f"{len(self.shape)} axes cannot be exchanged")
        *others, rows, columns = self.shape
        size = rows * columns
        numbers = [
            number
            for start in range(0, len(self.numbers), size or 1)
            for column in range(columns)
            for number in self.numbers[start + column : start + size : columns]
        ]
        return self._replace(shape=(*others, columns, rows), numbers=numbers)

    def sort(self) -> "NumberArray":
        """Return the numbers in one row, from the least on, NaN last."""
        ordered = sorted(self.numbers, key=lambda x: (math.isnan(x), x))
        return NumberArray((len(ordered),), ordered, self.has_floats)


def to_number_array_or_none(value: Any) -> NumberArray | None:
    """Return a tensor, a number or a list of numbers as an array; None for anything else."""
    if isinstance(value, Tensor):
        if value.is_complex():
            return None
        numbers = value.detach().flatten().tolist()
        return NumberArray(tuple(value.shape), numbers, value.is_floating_point())
    numbers = value if isinstance(value, list) else [value]
    if not numbers or not all(isinstance(number, bool | int | float) for number in numbers):
        return None
    if not all(isinstance(number, float) or abs(number) < 2**63 for number in numbers):
        return None
    shape = (len(numbers),) if isinstance(value, list) else ()
    return NumberArray(shape, numbers, any(isinstance(number, float) for number in numbers))


def flatten_numbers(value: Any) -> NumberArray | None:
    """Return all numbers of a value in one row; None if there is anything else in it."""
    if isinstance(value, list | tuple | dict):
        items = value.values() if isinstance(value, dict) else value
        rows = [row for item in items if (row := flatten_numbers(item)) is not None]
        if not rows or len(rows) < len(value):
            return None
        joined = [number for row in rows for number in row.numbers]
        return NumberArray((len(joined),), joined, any(row.has_floats for row in rows))
    numbers = to_number_array_or_none(value)
    return None if numbers is None else numbers.flatten()


def combine(
    function: Callable[[float, float], float], one: NumberArray, other: NumberArray
) -> NumberArray:
    """Return the floats that a function makes of the numbers of two arrays of one shape."""
    numbers = [function(x, y) for x, y in zip(one.numbers, other.numbers, strict=True)]
    return NumberArray(one.shape, numbers, has_floats=True)


def all_close(yours: NumberArray, right: NumberArray) -> bool:
    """Return whether numbers are equal: integers exactly, others as far as a check asks.

    NaN equals NaN.
    """
    if yours.shape != right.shape:
        return False
    largest = max((abs(x) for x in right.numbers if math.isfinite(x)), default=0.0)
    relative, absolute = RELATIVE_TOLERANCE, ABSOLUTE_TOLERANCE * min(1.0, largest)
    if not (yours.has_floats and right.has_floats):
        relative, absolute = 0.0, WHOLE_NUMBER_TOLERANCE
    return all(
        x == y
        or (math.isfinite(y) and abs(x - y) <= absolute + relative * abs(y))
        or (math.isnan(x) and math.isnan(y))
        for x, y in zip(yours.numbers, right.numbers, strict=True)
    )
