"""What an answer has made of the right value: its negative, a multiple, a shifted one, and so on.

Not in the paper. A clause is given only if it holds of all cases.
"""

import contextlib
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from lessonkit.exercises.compare import are_identical, format_value
from lessonkit.exercises.number_arrays import (
    NumberArray,
    all_close,
    flatten_numbers,
    to_number_array_or_none,
)
from lessonkit.exercises.outcome import format_short

MIN_CASES_FOR_A_CLAUSE = 2  # of which something is told: more of them for what may be chance
MAX_RADICAND = 4096  # of which a factor is recognised as the root
DISTINCT_COUNT_SAMPLE_SIZE = 99  # so many numbers of an array are looked at

FIRST, LAST = slice(1), slice(-1, None)
ALL_BUT_FIRST, ALL_BUT_LAST = slice(1, None), slice(-1)

ReturnedAndRight = Sequence[tuple[Any, Any]]  # what an answer returned, and what is right
ArrayPairs = Sequence[tuple[NumberArray, NumberArray]]
CaseFacts = Mapping[str, Any]  # of a case, by what a learner calls them

# What an answer may have made of every right value.
RIGHT_VALUE_TRANSFORMS_BY_CLAUSE: dict[str, Callable[[NumberArray], NumberArray]] = {
    "every number is the negative of the right one": lambda array: array.map(lambda x: -x),
    "every number is 1 minus the right one (True and False are exchanged)": (
        lambda array: array.map(lambda x: 1 - x)
    ),
    "it is transposed: rows and columns are exchanged": NumberArray.transpose,
    "each row is in reverse order": NumberArray.flip_rows,
}
EXPONENTS_BY_POWER_TEMPLATE = {"{}": 1, "1/{}": -1, "sqrt({})": 0.5, "1/sqrt({})": -0.5}
LIST_RELATIONS_BY_CLAUSE: dict[str, Callable[[list[Any], list[Any]], bool]] = {
    "the order is reversed": lambda yours, right: are_identical(yours, right[::-1]),
    "it starts right, but goes on too long": (
        lambda yours, right: are_identical(yours[: len(right)], right)
    ),
    "it starts right, but stops too early": (
        lambda yours, right: are_identical(right[: len(yours)], yours)
    ),
    "the entries are right, but in another order": lambda yours, right: (
        sorted(map(format_value, yours)) == sorted(map(format_value, right))
    ),
}


def clauses_relating_answer_to_right_value(
    pairs: ReturnedAndRight, facts: Sequence[CaseFacts]
) -> Iterator[str]:
    """Yield clauses that hold of all pairs: what an answer has made of the right value.

    Args:
        pairs: What the answer returned, and what is right.
        facts: Of each case.
    """
    yield from _constant_answer_clauses(pairs)
    yield from _returned_list_relation_clauses(pairs)
    numbers = [
        (to_number_array_or_none(yours), to_number_array_or_none(right)) for yours, right in pairs
    ]
    arrays = [(yours, right) for yours, right in numbers if yours is not None and right is not None]
    all_right = all(all_close(yours, right) for yours, right in arrays)  # something else is wrong
    # Anything can be made of a single number.
    if all_right or len(arrays) < len(pairs) or _count_distinct_right_numbers(arrays) < 2:
        return
    for clause, transform in RIGHT_VALUE_TRANSFORMS_BY_CLAUSE.items():
        with contextlib.suppress(IndexError):  # there is no such axis
            if all(all_close(yours, transform(right)) for yours, right in arrays):
                yield clause
    if all(yours.shape == right.shape for yours, right in arrays):
        flat = [(yours.flatten(), right.flatten()) for yours, right in arrays]
        yield from _factor_or_offset_clauses(flat, facts)
        yield from _wrong_position_clauses(arrays)
        if all(all_close(yours.sort(), right.sort()) for yours, right in flat):
            yield "the numbers are right, but in the wrong places"


def one_sided_error_clause(pairs: ReturnedAndRight) -> str:
    """Return to which side all wrong numbers lie, if there are at least three."""
    errors = []
    for yours, right in (
        (flatten_numbers(yours), flatten_numbers(right)) for yours, right in pairs
    ):
        if yours is None or right is None or yours.shape != right.shape:
            return ""
        errors += [
            one.numbers[0] - other.numbers[0]
            for one, other in zip(yours.elements(), right.elements(), strict=True)
            if not all_close(one, other)
        ]
    one_sided = all(error > 0 for error in errors) or all(error < 0 for error in errors)
    if len(errors) <= MIN_CASES_FOR_A_CLAUSE or not one_sided:
        return ""
    return f"every wrong number is too {'large' if errors[0] > 0 else 'small'}"


def _constant_answer_clauses(pairs: ReturnedAndRight) -> Iterator[str]:
    values = [yours for yours, _ in pairs]
    if len(values) > MIN_CASES_FOR_A_CLAUSE and all(
        are_identical(value, values[0]) for value in values
    ):
        yield f"it returns {format_short(values[0])} every time"


def _returned_list_relation_clauses(pairs: ReturnedAndRight) -> Iterator[str]:
    if len(pairs) <= MIN_CASES_FOR_A_CLAUSE:
        return
    if not all(isinstance(yours, list) and isinstance(right, list) for yours, right in pairs):
        return
    for clause, holds in LIST_RELATIONS_BY_CLAUSE.items():
        if all(holds(*pair) and not are_identical(*pair) for pair in pairs):
            yield clause


def _count_distinct_right_numbers(pairs: ArrayPairs) -> int:
    return len(
        {
            round(float(number), 6)
            for _, right in pairs
            for number in right.numbers[:DISTINCT_COUNT_SAMPLE_SIZE]
        }
    )


def _factor_or_offset_clauses(flat: ArrayPairs, facts: Sequence[CaseFacts]) -> Iterator[str]:
    """Yield by which factor or by how much all numbers are wrong, or that some are lost."""
    lost = sum(
        any(
            math.isnan(one) and not math.isnan(other)
            for one, other in zip(yours.numbers, right.numbers, strict=True)
        )
        for yours, right in flat
    )
    if lost:
        yield f"in {lost} of {len(flat)} cases it has a NaN where there should be a number"
        return
    numbers = [
        pair for yours, right in flat for pair in zip(yours.numbers, right.numbers, strict=True)
    ]
    one, largest = max(numbers, key=lambda pair: abs(pair[1]) if math.isfinite(pair[1]) else 0)
    factor = one / largest if largest else math.nan
    has_factor = factor and math.isfinite(factor)
    if has_factor and all(
        all_close(yours, right.map(lambda x: factor * x)) for yours, right in flat
    ):
        yield f"every number is {factor:.6g}{_format_as_root(factor)} times the right one"
    for label in facts[0] if facts else ():
        yield from _off_by_power_of_argument_clauses(
            label, [case.get(label) for case in facts], flat
        )
    error = one - largest
    if math.isfinite(error) and all(
        all_close(yours, right.map(lambda x: x + error)) for yours, right in flat
    ):
        yield f"every number is {abs(error):.6g} too {'large' if error > 0 else 'small'}"


def _off_by_power_of_argument_clauses(
    label: str, sizes: Sequence[Any], flat: ArrayPairs
) -> Iterator[str]:
    """Yield the power of a fact, such as an argument, by which all numbers are wrong."""
    are_positive = all(isinstance(size, int | float) and size > 0 for size in sizes)
    if not are_positive or len(set(sizes)) < 2:
        return
    cases = list(zip(flat, sizes, strict=True))
    for text, power in EXPONENTS_BY_POWER_TEMPLATE.items():
        if all(
            all_close(yours, right.map(partial(operator.mul, size**power)))
            for (yours, right), size in cases
        ):
            yield f"every number is {text.format(label)} times the right one"


def _wrong_position_clauses(pairs: ArrayPairs) -> Iterator[str]:
    """Yield along which axis only some places are wrong, or all are shifted by one."""
    fewest_axes = min(len(right.shape) for _, right in pairs)
    for axis in range(-1, -1 - fewest_axes, -1):
        long = [pair for pair in pairs if pair[1].shape[axis] > 1]
        short = [pair for pair in pairs if pair[1].shape[axis] < 2]
        if not long or not all(all_close(yours, right) for yours, right in short):
            continue
        is_close = partial(_parts_are_close, long, axis)
        place = {-1: "number of each row", -2: "row"}.get(axis, f"of axis {axis}")
        if is_close(ALL_BUT_FIRST, ALL_BUT_LAST):
            yield f"everything is shifted by one: the first {place} is where the second should be"
        if is_close(ALL_BUT_LAST, ALL_BUT_FIRST):
            yield f"everything is shifted by one: the second {place} is where the first should be"
        for word, end, others in (("last", LAST, ALL_BUT_LAST), ("first", FIRST, ALL_BUT_FIRST)):
            if is_close(others, others):
                yield f"only the {word} {place} is ever wrong"
            if is_close(end, end):
                yield f"the {word} {place} is always right, but not all the others are"


def _parts_are_close(pairs: ArrayPairs, axis: int, part: slice, part_of_right: slice) -> bool:
    return all(
        all_close(yours.take(axis, part), right.take(axis, part_of_right)) for yours, right in pairs
    )


def _format_as_root(factor: float) -> str:
    """Write a factor as a root if it is one: " = sqrt(8)"."""
    squared = factor * factor
    inverse = 1 / squared if squared else math.inf
    for text, square in (("sqrt({})", squared), ("1/sqrt({})", inverse)):
        whole = round(min(square, MAX_RADICAND + 1))
        is_root = 2 <= whole <= MAX_RADICAND and math.isclose(square, whole, rel_tol=1e-5)
        if is_root and math.isqrt(whole) ** 2 != whole:
            sign = "-" if factor < 0 else ""
            return f" = {sign}{text.format(whole)}"
    return ""
