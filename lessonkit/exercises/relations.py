"""What an answer has made of the right value: its negative, a multiple, a shifted one, and so on.

Not in the paper. A clause is given only if it holds of all cases.
"""

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from lessonkit.exercises.array_libraries import Tensor, torch
from lessonkit.exercises.compare import (
    ABSOLUTE_TOLERANCE,
    RELATIVE_TOLERANCE,
    are_identical,
    format_value,
)
from lessonkit.exercises.outcome import format_short

MIN_CASES_FOR_A_CLAUSE = 2  # of which something is told: more of them for what may be chance
MAX_RADICAND = 4096  # of which a factor is recognised as the root
DISTINCT_COUNT_SAMPLE_SIZE = 99  # so many numbers of a tensor are looked at

ReturnedAndRight = Sequence[tuple[Any, Any]]  # what an answer returned, and what is right
TensorPairs = Sequence[tuple[Tensor, Tensor]]
CaseFacts = Mapping[str, Any]  # of a case, by what a learner calls them

# What an answer may have made of every right value.
RIGHT_VALUE_TRANSFORMS_BY_CLAUSE: dict[str, Callable[[Tensor], Tensor]] = {
    "every number is the negative of the right one": lambda x: -1.0 * x,
    "every number is 1 minus the right one (True and False are exchanged)": lambda x: 1 - 1.0 * x,
    "it is transposed: rows and columns are exchanged": lambda x: x.transpose(-1, -2),
    "each row is in reverse order": lambda x: x.flip(-1),
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
    numbers = [(to_tensor_or_none(yours), to_tensor_or_none(right)) for yours, right in pairs]
    tensors = [
        (yours, right) for yours, right in numbers if yours is not None and right is not None
    ]
    all_right = all(all_close(yours, right) for yours, right in tensors)  # something else is wrong
    # Anything can be made of a single number.
    if all_right or len(tensors) < len(pairs) or _count_distinct_right_numbers(tensors) < 2:
        return
    for clause, transform in RIGHT_VALUE_TRANSFORMS_BY_CLAUSE.items():
        with contextlib.suppress(RuntimeError, IndexError):  # there is no such axis
            if all(all_close(yours, transform(right)) for yours, right in tensors):
                yield clause
    if all(yours.shape == right.shape for yours, right in tensors):
        flat = [(yours.flatten(), right.flatten()) for yours, right in tensors]
        yield from _factor_or_offset_clauses(flat, facts)
        yield from _wrong_position_clauses(tensors)
        if all(all_close(yours.sort().values, right.sort().values) for yours, right in flat):
            yield "the numbers are right, but in the wrong places"


def one_sided_error_clause(pairs: ReturnedAndRight) -> str:
    """Return to which side all wrong numbers lie, if there are at least three."""
    flat = [(flatten_to_tensor(yours), flatten_to_tensor(right)) for yours, right in pairs]
    errors = []
    for yours, right in flat:
        if yours is None or right is None or yours.shape != right.shape:
            return ""
        errors += [
            float(one - other)
            for one, other in zip(yours, right, strict=True)
            if not all_close(one, other)
        ]
    one_sided = all(error > 0 for error in errors) or all(error < 0 for error in errors)
    if len(errors) <= MIN_CASES_FOR_A_CLAUSE or not one_sided:
        return ""
    return f"every wrong number is too {'large' if errors[0] > 0 else 'small'}"


def to_tensor_or_none(value: Any) -> Tensor | None:
    """Return a tensor, a number or a list of numbers as a tensor; None for anything else.

    Without PyTorch everything is something else.
    """
    if torch is None:
        return None
    if isinstance(value, Tensor):
        return value.long() if value.dtype == torch.bool else value.detach()
    numbers = value if isinstance(value, list) else [value]
    if not numbers or not all(isinstance(number, bool | int | float) for number in numbers):
        return None
    has_float = any(isinstance(number, float) for number in numbers)
    return torch.tensor(value, dtype=torch.float64 if has_float else torch.int64)


def flatten_to_tensor(value: Any) -> Tensor | None:
    """Return all numbers of a value in one row; None if there is anything else in it."""
    if isinstance(value, list | tuple | dict):
        items = value.values() if isinstance(value, dict) else value
        rows = [row for item in items if (row := flatten_to_tensor(item)) is not None]
        return torch.cat(rows) if rows and len(rows) == len(value) else None
    numbers = to_tensor_or_none(value)
    return None if numbers is None else numbers.flatten()


def all_close(yours: Tensor, right: Tensor) -> bool:
    """Return whether numbers are equal: integers exactly, others as far as a check asks."""
    if yours.shape != right.shape:
        return False
    largest = float(right.double().abs().nan_to_num(0, 0, 0).max()) if right.numel() else 0.0
    relative, absolute = RELATIVE_TOLERANCE, ABSOLUTE_TOLERANCE * min(1.0, largest)
    if not (yours.is_floating_point() and right.is_floating_point()):
        relative, absolute = 0.0, 1e-9
    equal = torch.isclose(yours.double(), right.double(), relative, absolute, equal_nan=True)
    return bool(equal.all())


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


def _count_distinct_right_numbers(pairs: TensorPairs) -> int:
    numbers = [
        number for _, right in pairs for number in right.flatten()[:DISTINCT_COUNT_SAMPLE_SIZE]
    ]
    return len({round(float(number), 6) for number in numbers})


def _factor_or_offset_clauses(flat: TensorPairs, facts: Sequence[CaseFacts]) -> Iterator[str]:
    """Yield by which factor or by how much all numbers are wrong, or that some are lost."""
    lost = sum(bool((yours.isnan() & ~right.isnan()).any()) for yours, right in flat)
    if lost:
        yield f"in {lost} of {len(flat)} cases it has a NaN where there should be a number"
        return
    all_yours = torch.cat([yours for yours, _ in flat]).double()
    all_right = torch.cat([right for _, right in flat]).double()
    largest = all_right.abs().nan_to_num(0, 0, 0).argmax()
    factor = float(all_yours[largest] / all_right[largest])
    has_factor = factor and math.isfinite(factor)
    if has_factor and all(all_close(yours, factor * right) for yours, right in flat):
        yield f"every number is {factor:.6g}{_format_as_root(factor)} times the right one"
    for label in facts[0] if facts else ():
        yield from _off_by_power_of_argument_clauses(
            label, [case.get(label) for case in facts], flat
        )
    error = float((all_yours - all_right)[largest])
    if math.isfinite(error) and all(all_close(yours, right + error) for yours, right in flat):
        yield f"every number is {abs(error):.6g} too {'large' if error > 0 else 'small'}"


def _off_by_power_of_argument_clauses(
    label: str, sizes: Sequence[Any], flat: TensorPairs
) -> Iterator[str]:
    """Yield the power of a fact, such as an argument, by which all numbers are wrong."""
    are_positive = all(isinstance(size, int | float) and size > 0 for size in sizes)
    if not are_positive or len(set(sizes)) < 2:
        return
    cases = list(zip(flat, sizes, strict=True))
    for text, power in EXPONENTS_BY_POWER_TEMPLATE.items():
        if all(all_close(yours, right * size**power) for (yours, right), size in cases):
            yield f"every number is {text.format(label)} times the right one"


def _wrong_position_clauses(pairs: TensorPairs) -> Iterator[str]:
    """Yield along which axis only some places are wrong, or all are shifted by one."""
    fewest_axes = min(right.ndim for _, right in pairs)
    for axis in range(-1, -1 - fewest_axes, -1):
        long = [
            (yours.movedim(axis, 0), right.movedim(axis, 0))
            for yours, right in pairs
            if right.shape[axis] > 1
        ]
        short = [(yours, right) for yours, right in pairs if right.shape[axis] < 2]
        if not long or not all(all_close(yours, right) for yours, right in short):
            continue
        place = {-1: "number of each row", -2: "row"}.get(axis, f"of axis {axis}")
        if all(all_close(yours[1:], right[:-1]) for yours, right in long):
            yield f"everything is shifted by one: the first {place} is where the second should be"
        if all(all_close(yours[:-1], right[1:]) for yours, right in long):
            yield f"everything is shifted by one: the second {place} is where the first should be"
        ends = {"last": (slice(-1, None), slice(-1)), "first": (slice(1), slice(1, None))}
        for word, (end, others) in ends.items():
            if all(all_close(yours[others], right[others]) for yours, right in long):
                yield f"only the {word} {place} is ever wrong"
            if all(all_close(yours[end], right[end]) for yours, right in long):
                yield f"the {word} {place} is always right, but not all the others are"


def _format_as_root(factor: float) -> str:
    """Write a factor as a root if it is one: " = sqrt(8)"."""
    for text, square in (("sqrt({})", factor**2), ("1/sqrt({})", factor**-2)):
        whole = round(min(square, MAX_RADICAND + 1))
        is_root = 2 <= whole <= MAX_RADICAND and math.isclose(square, whole, rel_tol=1e-5)
        if is_root and math.isqrt(whole) ** 2 != whole:
            sign = "-" if factor < 0 else ""
            return f" = {sign}{text.format(whole)}"
    return ""
