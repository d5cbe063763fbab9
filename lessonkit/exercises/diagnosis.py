"""What is wrong with an answer, measured: where it is right, what it makes of the right value.

Not in the paper. Nothing here is guessed: a sentence says what was so in all the cases that it
names, or what became of cases of which one argument was altered.
"""

import contextlib
import math
import operator
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from torch import Tensor

from lessonkit.exercises.compare import ABSOLUTE, RELATIVE, plain, same, show
from lessonkit.exercises.outcome import Args, Outcome, shown, try_difference

FEW = 2  # cases are enough to be told of
MAX_ALTERED_CASES = 12  # cases of which each argument is altered
MAX_SQUARE = 4096  # what a factor may be the root of


class Tried(NamedTuple):
    """What an answer did with a case."""

    args: Args  # the case
    right: Any  # its right value
    outcome: Outcome  # what the answer did
    complaint: str  # what is wrong with that, a clause; "" where nothing is


Pairs = list[tuple[Any, Any]]  # what an answer gave, and what is right
Numbers = list[tuple[Tensor, Tensor]]
Facts = dict[str, Any]  # of a case
Again = Callable[..., Tried]  # tries an answer on other arguments; raises where these are no case

# What an answer may have made of every right value.
MADE: dict[str, Callable[[Tensor], Tensor]] = {
    "every number is the negative of the right one": lambda x: -1.0 * x,
    "True and False, or what is right and what is left of 1, are exchanged": lambda x: 1 - 1.0 * x,
    "it is transposed: rows are columns": lambda x: x.transpose(-1, -2),
    "each row is in reverse order": lambda x: x.flip(-1),
}
POWERS = {"{}": 1, "1/{}": -1, "sqrt({})": 0.5, "1/sqrt({})": -0.5}
LISTS: dict[str, Callable[[Any, Any], bool]] = {
    "the order is reversed": lambda mine, right: same(mine, right[::-1]),
    "it begins right, and goes on too long": lambda mine, right: same(mine[: len(right)], right),
    "it begins right, and ends too early": lambda mine, right: same(right[: len(mine)], mine),
    "the right ones are there, in another order": lambda mine, right: (
        sorted(map(show, mine)) == sorted(map(show, right))
    ),
}


def measured(tries: Sequence[Tried], names: Sequence[str], again: Again) -> str:
    """Say in a sentence what can be measured of an answer; "" where nothing is clear.

    Args:
        tries: What it did with every case.
        names: Of the arguments.
        again: Tries it on other arguments.
    """
    facts = [dict(_facts(each, names)) for each in tries]
    ended = [both for both in zip(tries, facts, strict=True) if not both[0].outcome.stopped]
    which, pairs = _part([(each.outcome.value, each.right) for each, _ in ended])
    said = next(_relations(pairs, [each for _, each in ended]), "")
    clauses = [which, f"where it ends, {said}" if said and len(ended) < len(tries) else said]
    if not said:
        off = [pair for pair, (each, _) in zip(pairs, ended, strict=True) if each.complaint]
        said = next(_relations(off, []), "") if len(off) > FEW else ""
        clauses += [_where(tries, facts), said and f"where its value is wrong, {said}"]
    if not any(clauses):
        clauses = [_altered([each for each, _ in ended], names, again) or _tendency(pairs)]
    said = "; ".join(filter(None, clauses))
    return f"Measured: {said}." if said else ""


def _facts(tried: Tried, names: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Give what may count in a case, under what a learner calls it."""
    for name, value in zip(names, tried.args, strict=False):
        if isinstance(value, bool | int | float | str):
            yield f"`{name}`", value
        elif isinstance(value, Tensor):
            yield from ((f"`{name}.shape[{i}]`", value.shape[i]) for i in range(-value.ndim, 0))
            if not value.is_floating_point():
                yield f"`(0 in {name})`", bool((value == 0).any())
        elif isinstance(value, list | tuple | dict):
            each = list(value.values() if isinstance(value, dict) else value)
            yield f"`len({name})`", len(each)
            yield f"the number of different ones in `{name}`", len(set(map(show, each)))
            if all(isinstance(x, list | tuple) for x in each):
                yield f"the number of different lengths in `{name}`", len(set(map(len, each)))
    right = plain(tried.right)
    if right is None or isinstance(right, bool | int | str):
        yield "the right value", right


def _where(tries: Sequence[Tried], facts: Sequence[Facts]) -> str:
    """Say under which condition an answer is always right, and mostly wrong without it."""
    most, said = 0.5, ""
    for label in facts[0]:
        values = [each.get(label, ...) for each in facts]
        for says, holds in _conditions(values) if ... not in values else ():
            wrong: dict[bool, list[bool]] = {True: [], False: []}
            for each, value in zip(tries, values, strict=True):
                wrong[holds(value)].append(bool(each.complaint))
            there, others = wrong[True], wrong[False]
            if len(there) >= FEW and not any(there) and sum(others) > most * len(others):
                most = sum(others) / len(others)
                rest = f"wrong in {sum(others)} of the {len(others)} others"
                said = f"it is right in all {len(there)} cases where {label} is {says}, and {rest}"
    return said


def _conditions(values: Sequence[Any]) -> Iterator[tuple[str, Callable[[Any], bool]]]:
    """Give what can be said of some of the values and not of others."""
    for each in {show(each): each for each in values}.values():
        yield show(each), partial(same, each)
        yield f"not {show(each)}", lambda value, each=each: not same(value, each)  # type: ignore[misc]
    if all(type(each) in (int, float) for each in values):
        for low, high in pairwise(sorted(set(values))):
            yield f"{show(low)} or less", partial(operator.ge, low)
            yield f"{show(high)} or more", partial(operator.le, high)


def _altered(ended: Sequence[Tried], names: Sequence[str], again: Again) -> str:
    """Alter one argument after the other: say which of them an answer does not follow."""
    some = ended[:: len(ended) // MAX_ALTERED_CASES + 1]
    alike: dict[bool, list[str]] = {True: [], False: []}
    for place, name in enumerate(names):
        asked = [(each, new) for each in some for new in _with_another(each, place, some, again)]
        right = sum(_differ(old.right, new.right) for old, new in asked)
        mine = sum(_differ(old.outcome.value, new.outcome.value) for old, new in asked)
        if max(mine, right) >= FEW and not (mine and right):
            often = f"the right value {right} times and yours {mine} times"
            return f"another `{name}`, tried {len(asked)} times, changes {often}"
        if right >= FEW:
            alike[all(_change_alike(*both) for both in asked)].append(f"`{name}`")
    if not all(alike.values()):
        return ""
    so, not_so = (" or ".join(alike[each]) for each in (True, False))
    return f"with another {so} it changes as the right value does, with another {not_so} not"


def _with_another(tried: Tried, place: int, some: Sequence[Tried], again: Again) -> Iterator[Tried]:
    """Try a case again with other values of one argument, where these make a case."""
    value = tried.args[place]
    shape = getattr(value, "shape", None)
    alike = [x for x in (each.args[place] for each in some) if type(x) is type(value)]
    others = [x for x in alike if getattr(x, "shape", None) == shape and not same(x, value)][:2]
    if isinstance(value, bool):
        others = [not value]
    elif isinstance(value, int | float) or (shape and value.is_floating_point()):
        others += [value + 1, 2 * value]
    elif isinstance(value, list):
        others += [value[::-1], value[:-1]]
    for other in others:
        with contextlib.suppress(Exception):  # no case: there is no right value
            new = again(*tried.args[:place], other, *tried.args[place + 1 :])
            if not new.outcome.stopped:
                yield new


def _differ(one: Any, other: Any) -> bool:
    return bool(try_difference(one, other))


def _change_alike(old: Tried, new: Tried) -> bool:
    """Whether an answer's numbers change as the right ones do: by as much, or as many times."""
    values = (old.outcome.value, new.outcome.value, old.right, new.right)
    found = [each.double() for value in values if (each := _flat(value)) is not None]
    if len(found) < len(values) or len({each.shape for each in found}) > 1:
        return False
    mine, mine_new, right, right_new = found
    return _close(mine_new - mine, right_new - right) or _close(mine_new * right, right_new * mine)


def _part(pairs: Pairs) -> tuple[str, Pairs]:
    """Of several values look at the only one that is ever wrong, and say which it is."""
    several = [x if isinstance(x, dict) else _numbered(x) for pair in pairs for x in pair]
    names = list(several[0]) if several else []
    if len(names) < 2 or any(list(each) != names for each in several):
        return "", pairs
    both = list(zip(several[::2], several[1::2], strict=True))
    off = [name for name in names if any(_differ(x[name], y[name]) for x, y in both)]
    if len(off) != 1:
        return "", pairs
    which = f"of the {len(names)} values that it gives only {off[0]} is ever wrong"
    return which, [(x[off[0]], y[off[0]]) for x, y in both]


def _numbered(value: Any) -> dict[str, Any]:
    several = value if isinstance(value, tuple | list) else ()
    return {f"number {place}": each for place, each in enumerate(several, start=1)}


def _relations(pairs: Pairs, facts: Sequence[Facts]) -> Iterator[str]:
    """Give clauses that hold of all pairs: what an answer has made of the right value."""
    yours = [mine for mine, _ in pairs]
    if len(pairs) > FEW and all(same(each, yours[0]) for each in yours):
        yield f"it gives {shown(yours[0])} each time"
    if len(pairs) > FEW and all(isinstance(each, list) for pair in pairs for each in pair):
        for says, holds in LISTS.items():
            if all(holds(*pair) and not same(*pair) for pair in pairs):
                yield says
    numbers = [(_numbers(mine), _numbers(right)) for mine, right in pairs]
    tensors = [(a, b) for a, b in numbers if a is not None and b is not None]
    told = {round(float(x), 6) for _, right in tensors for x in right.flatten()[:99]}
    is_right = all(_close(mine, right) for mine, right in tensors)  # and something else is wrong
    if is_right or len(tensors) < len(pairs) or len(told) < 2:  # of one number all can be made
        return
    for says, made in MADE.items():
        with contextlib.suppress(RuntimeError, IndexError):  # there is no such axis
            if all(_close(mine, made(right)) for mine, right in tensors):
                yield says
    if all(mine.shape == right.shape for mine, right in tensors):
        flat = [(mine.flatten(), right.flatten()) for mine, right in tensors]
        yield from _scaled(flat, facts)
        yield from _places(tensors)
        if all(_close(mine.sort().values, right.sort().values) for mine, right in flat):
            yield "the numbers are right, and stand in the wrong places"


def _scaled(flat: Numbers, facts: Sequence[Facts]) -> Iterator[str]:
    """Say by which factor all numbers are wrong, or by how much; and where there are none."""
    lost = sum(bool((mine.isnan() & ~right.isnan()).any()) for mine, right in flat)
    if lost:
        yield f"in {lost} of {len(flat)} cases it has a nan where the right value has none"
        return
    mine, right = (torch.cat(side).double() for side in zip(*flat, strict=True))
    largest = right.abs().nan_to_num(0, 0, 0).argmax()
    factor, more = float(mine[largest] / right[largest]), float((mine - right)[largest])
    if factor and math.isfinite(factor) and all(_close(a, factor * b) for a, b in flat):
        yield f"every number is {factor:.6g}{_as_root(factor)} times the right one"
    for label in facts[0] if facts else ():
        sizes: list[Any] = [each.get(label) for each in facts]
        if not all(isinstance(x, int | float) and x > 0 for x in sizes) or len(set(sizes)) < 2:
            continue
        for text, power in POWERS.items():
            if all(_close(a, b * x**power) for (a, b), x in zip(flat, sizes, strict=True)):
                yield f"every number is {text.format(label)} times the right one"
    if math.isfinite(more) and all(_close(a, b + more) for a, b in flat):
        yield f"every number is {abs(more):.6g} too {'large' if more > 0 else 'small'}"


def _places(pairs: Numbers) -> Iterator[str]:
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
        ends = {"last": (slice(-1, None), slice(-1)), "first": (slice(1), slice(1, None))}
        for word, (end, others) in ends.items():
            if all(_close(a[others], b[others]) for a, b in long):
                yield f"only the {word} {called} is ever wrong"
            if all(_close(a[end], b[end]) for a, b in long):
                yield f"the {word} {called} is always right, and not all others are"


def _tendency(pairs: Pairs) -> str:
    """Say to which side the wrong ones of at least three numbers lie."""
    flat = [(_flat(mine), _flat(right)) for mine, right in pairs]
    both = [(a, b) for a, b in flat if a is not None and b is not None and a.shape == b.shape]
    off = [float(x - y) for a, b in both for x, y in zip(a, b, strict=True) if not _close(x, y)]
    is_one_side = all(each > 0 for each in off) or all(each < 0 for each in off)
    if len(both) < len(pairs) or len(off) <= FEW or not is_one_side:
        return ""
    return f"whatever is wrong is too {'large' if off[0] > 0 else 'small'}"


def _as_root(factor: float) -> str:
    """Write a factor as a root where it is one."""
    for text, square in (("sqrt({})", factor**2), ("1/sqrt({})", factor**-2)):
        whole = round(min(square, MAX_SQUARE + 1))
        is_root = 2 <= whole <= MAX_SQUARE and math.isclose(square, whole, rel_tol=1e-5)
        if is_root and math.isqrt(whole) ** 2 != whole:
            return f" = {'-' * (factor < 0)}{text.format(whole)}"
    return ""


def _numbers(value: Any) -> Tensor | None:
    """Give a tensor, a number or a list of numbers as a tensor; None for anything else."""
    if isinstance(value, Tensor):
        return value.long() if value.dtype == torch.bool else value.detach()
    each = value if isinstance(value, list) else [value]
    if not each or not all(isinstance(x, bool | int | float) for x in each):
        return None
    has_float = any(isinstance(x, float) for x in each)
    return torch.tensor(value, dtype=torch.float64 if has_float else torch.int64)


def _flat(value: Any) -> Tensor | None:
    """Give all numbers of a value in one row; None where there is anything else in it."""
    if isinstance(value, list | tuple | dict):
        parts = [_flat(each) for each in (value.values() if isinstance(value, dict) else value)]
        found = [each for each in parts if each is not None]
        return torch.cat(found) if found and len(found) == len(parts) else None
    numbers = _numbers(value)
    return None if numbers is None else numbers.flatten()


def _close(mine: Tensor, right: Tensor) -> bool:
    """Whether numbers are the same: whole ones to the last digit, others as far as a check asks."""
    if mine.shape != right.shape:
        return False
    largest = float(right.double().abs().nan_to_num(0, 0, 0).max()) if right.numel() else 0.0
    has_whole = not (mine.is_floating_point() and right.is_floating_point())
    limits = (0.0, 1e-9) if has_whole else (RELATIVE, ABSOLUTE * min(1.0, largest))
    return bool(torch.isclose(mine.double(), right.double(), *limits, equal_nan=True).all())
