"""What is wrong with an answer, measured: how its values differ from the right ones, and where.

Not in the paper. Nothing here is guessed: a sentence is said where it holds in every case.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from lessonkit.exercises.compare import ABSOLUTE, RELATIVE, same
from lessonkit.exercises.outcome import Args, Outcome

ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")


class Tried(NamedTuple):
    """What an answer did with a case."""

    args: Args  # the case
    right: Any  # its right value
    outcome: Outcome  # what the answer did
    complaint: str  # what is wrong with that, a clause; "" where nothing is


Pairs = list[tuple[Any, Any]]  # what an answer gave, and what is right

# What an answer may have made of every right value.
MADE: dict[str, Callable[[Tensor], Tensor]] = {
    "every number is the negative of the right one": torch.neg,
    "True and False, or what is right and what is left of 1, are exchanged": lambda x: 1 - x,
    "it is transposed: rows are columns": lambda x: x.mT,
    "each row is in reverse order": lambda x: x.flip(-1),
    "the rows are in reverse order": lambda x: x.flip(0),
}


def measured(tries: Sequence[Tried]) -> str:
    """Say in a sentence how an answer's values differ from the right ones; "" if unclear."""
    pairs = [(each.outcome.value, each.right) for each in tries if not each.outcome.stopped]
    if any(right is None for _, right in pairs):  # several are right: the properties decide
        return ""
    which, pairs = _part(pairs)
    how = next(_differences(pairs), "")
    return f"Measured: {which}{how}." if how or which else ""


def _part(pairs: Pairs) -> tuple[str, Pairs]:
    """Of several values look at the only one that is ever wrong, and say which it is."""
    size = max((len(right) for _, right in pairs if isinstance(right, tuple)), default=0)
    values = [value for pair in pairs for value in pair]
    if any(not isinstance(each, tuple | list) or len(each) != size for each in values):
        return "", pairs
    off = [place for place in range(size) if any(not _close(x[place], y[place]) for x, y in pairs)]
    if len(off) != 1 or not 1 < size <= len(ORDINALS):
        return "", pairs
    which = f"of the {size} values only the {ORDINALS[off[0]]} is ever wrong"
    chosen: Pairs = [(x[off[0]], y[off[0]]) for x, y in pairs]
    return which + (": " if next(_differences(chosen), "") else ""), chosen


def _differences(pairs: Pairs) -> Iterator[str]:
    """Give clauses that hold of all pairs, what says most first."""
    yours = [mine for mine, _ in pairs]
    if len(pairs) > 2 and all(same(each, yours[0]) for each in yours[1:]):
        yield "it gives the same in every case"
    tensors = [(_numbers(mine), _numbers(right)) for mine, right in pairs]
    numbers = [(mine, right) for mine, right in tensors if mine is not None and right is not None]
    if len(numbers) == len(pairs):
        yield from _of_numbers(numbers)
    elif all(isinstance(each, list | str) for pair in pairs for each in pair):
        yield from _of_lists(pairs)


def _of_numbers(pairs: list[tuple[Tensor, Tensor]]) -> Iterator[str]:
    told = {round(float(x), 6) for _, right in pairs for x in right.flatten()[:99]}
    if len(told) < 2:  # of one number anything can be made
        return
    if all(_close(mine, right) for mine, right in pairs):  # a whole number that is nearly right
        return
    for says, made in MADE.items():
        if all(_close(mine, _tried(made, right)) for mine, right in pairs):
            yield says
    if any(mine.shape != right.shape for mine, right in pairs):
        return
    flat = [(mine.flatten(), right.flatten()) for mine, right in pairs]
    mine, right = (torch.cat(side) for side in zip(*flat, strict=True))
    off = ~torch.isclose(mine, right, RELATIVE, ABSOLUTE, equal_nan=True)
    largest = right.abs().nan_to_num(0, 0, 0).argmax()
    factor, more = float(mine[largest] / right[largest]), float((mine - right)[largest])
    if math.isfinite(factor) and factor and _close(mine, factor * right):
        yield f"every number is {factor:.6g}{_as_root(factor)} times the right one"
    factors = [float((a * b).sum() / (b * b).sum()) if b.any() else 1.0 for a, b in flat]
    scaled = all(_close(a, each * b) for each, (a, b) in zip(factors, flat, strict=True))
    if scaled and all(len(b) > 1 for _, b in flat) and len(flat) > 1:
        shown = ", ".join(f"{each:.6g}{_as_root(each)}" for each in factors[:3])
        yield f"in each case every number has the same factor, in the first ones {shown}"
    if _close(mine, right + more):
        yield f"every number is {abs(more):.6g} too {'large' if more > 0 else 'small'}"
    yield from _places(pairs)
    if all(_close(a.sort().values, b.sort().values) for a, b in flat):
        yield "the numbers are right, and stand in the wrong places"
    for word, wrong in (("large", mine > right), ("small", mine < right)):
        if int(off.sum()) > 2 and bool(wrong[off].all()):
            yield f"whatever is wrong is too {word}"


def _places(pairs: list[tuple[Tensor, Tensor]]) -> Iterator[str]:
    """Say along which axis only some places are wrong, or all are moved by one."""
    for axis in range(-1, -1 - min(right.ndim for _, right in pairs), -1):
        long = [(a.movedim(axis, 0), b.movedim(axis, 0)) for a, b in pairs if b.shape[axis] > 1]
        if not long or any(b.shape[axis] < 2 and not _close(a, b) for a, b in pairs):
            continue
        called = {-1: "number of each row", -2: "row"}.get(axis, f"of axis {axis}")
        if all(_close(a[1:], b[:-1]) for a, b in long):
            yield f"all is shifted by one: the first {called} stands in the place of the second"
        if all(_close(a[:-1], b[1:]) for a, b in long):
            yield f"all is shifted by one: the second {called} stands in the place of the first"
        for word, kept in (("last", slice(None, -1)), ("first", slice(1, None))):
            if all(_close(a[kept], b[kept]) for a, b in long):
                yield f"only the {word} {called} is wrong"
        for word, kept in (("first", slice(1)), ("last", slice(-1, None))):
            if all(_close(a[kept], b[kept]) for a, b in long):
                yield f"the {word} {called} is right, and others are not"


def _of_lists(pairs: Pairs) -> Iterator[str]:
    if all(map(same, *zip(*pairs, strict=True))):
        return
    if all(same(mine, right[::-1]) for mine, right in pairs):
        yield "the order is reversed"
    if all(same(mine[: len(right)], right) for mine, right in pairs):
        yield "it begins right, and has something too many at the end"
    if all(same(right[: len(mine)], mine) for mine, right in pairs):
        yield "it begins right, and ends too early"
    counts = [(sorted(map(repr, mine)), sorted(map(repr, right))) for mine, right in pairs]
    if all(mine == right for mine, right in counts):
        yield "the right ones are there, in another order"
    if all(set(mine) <= set(right) for mine, right in counts):
        yield "what is there is right, and something is missing or too often there"


def _as_root(factor: float) -> str:
    """Write a factor as a root where it is one."""
    for square, text in ((factor**2, "sqrt({})"), (1 / factor**2 if factor else 0, "1/sqrt({})")):
        whole = round(square) if math.isfinite(square) else 0
        is_root = 2 <= whole <= 4096 and math.isclose(square, whole, rel_tol=1e-4)
        if is_root and math.isqrt(whole) ** 2 != whole:
            return f" = {'-' * (factor < 0)}{text.format(whole)}"
    return ""


def _numbers(value: Any) -> Tensor | None:
    """Give numbers as a tensor; None for anything else."""
    try:
        if isinstance(value, Tensor):
            return value.detach().double()
        if isinstance(value, bool | int | float | list):
            return torch.tensor(value, dtype=torch.float64)
    except (TypeError, ValueError, RuntimeError):
        pass
    return None


def _tried(made: Callable[[Tensor], Tensor], value: Tensor) -> Tensor | None:
    try:
        return made(value)
    except (RuntimeError, IndexError):  # there is no such axis
        return None


def _close(one: Any, other: Any) -> bool:
    one, other = (each if isinstance(each, Tensor) else _numbers(each) for each in (one, other))
    if one is None or other is None:
        return False
    if other.ndim and one.shape != other.shape:
        return False
    return bool(torch.isclose(one.double(), other.double(), RELATIVE, ABSOLUTE, True).all())
