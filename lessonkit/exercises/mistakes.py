"""Wrong answers that have a name, and which of them an answer makes, told by what it does.

Not in the paper.
"""

import inspect
import itertools
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from lessonkit.exercises.outcome import Answer, Args, Outcome, alike


class Tried(NamedTuple):
    """What an answer did with a case."""

    args: Args  # the case
    right: Any  # its right value
    outcome: Outcome  # what the answer did
    complaint: str  # what is wrong with that, a clause; "" where nothing is


def edited(thing: Any, *edits: str) -> Any:
    """Give a function or class with its text changed: old texts, each found once, and new ones."""
    source = textwrap.dedent(inspect.getsource(thing))
    for old, new in zip(edits[::2], edits[1::2], strict=True):
        if source.count(old) != 1:
            number = source.count(old)
            raise ValueError(f"{old!r} stands {number} times in {thing.__name__}, not once")
        source = source.replace(old, new)
    names = dict(vars(sys.modules[thing.__module__]))
    exec(compile(source, "<edited>", "exec"), names)
    return names[thing.__name__]


def composed(outer: Answer, inner: Answer, reference: Answer) -> Answer | None:
    """Let a mistake that is written around the reference call another one in its place.

    None where `outer` does not call the reference by its name.
    """
    if not isinstance(outer, FunctionType) or reference.__name__ not in _names(outer.__code__):
        return None
    names = {**outer.__globals__, reference.__name__: inner}
    return FunctionType(outer.__code__, names, outer.__name__, outer.__defaults__)


def _names(code: CodeType) -> set[str]:
    """Collect the names that a function looks up, also those of functions inside it."""
    inside = [_names(each) for each in code.co_consts if isinstance(each, CodeType)]
    return set(code.co_names).union(*inside)


def find_mistakes(
    mine: Sequence[Tried],
    mistakes: Mapping[str, Sequence[Tried]],
    both: Callable[[str, str], Iterable[Tried] | None],
) -> tuple[list[str], bool]:
    """Find the mistake that an answer makes, or the two; or one among others.

    Args:
        mine: What the answer did with each case.
        mistakes: The same of each mistake, by name.
        both: Tries each case with the second mistake on top of the first; None where the two
            cannot be made together.

    Returns:
        The names, none or one or two; and whether they explain all that the answer does.
    """
    for name, made in mistakes.items():
        if all(map(_alike, mine, made)):
            return [name], True
    for first, second in itertools.permutations(mistakes, 2):
        together = both(first, second)
        if together is not None and all(map(_alike, mine, together)):
            return [first, second], True
    for first, second in itertools.combinations(mistakes, 2):
        if _act_apart(mine, mistakes[first], mistakes[second]):
            return [first, second], True
    explained = {name: _cases_explained(mine, made) for name, made in mistakes.items()}
    most = max(explained, key=lambda name: explained[name], default="")
    if most and 2 * explained[most] > sum(bool(tried.complaint) for tried in mine):
        return [most], False
    return [], False


def _alike(one: Tried, other: Tried) -> bool:
    return alike(one.outcome, other.outcome)


def _act_apart(mine: Sequence[Tried], first: Sequence[Tried], second: Sequence[Tried]) -> bool:
    """Whether one does what two mistakes do that show, each by itself, in some of the cases."""
    alone = [0, 0]
    for own, one, other in zip(mine, first, second, strict=True):
        if one.complaint and other.complaint:
            fits = bool(own.complaint)
        elif one.complaint or other.complaint:
            fits = _alike(own, one if one.complaint else other)
            alone[bool(other.complaint)] += 1
        else:
            fits = not own.complaint
        if not fits:
            return False
    return min(alone) > 0


def _cases_explained(mine: Sequence[Tried], made: Sequence[Tried]) -> int:
    """Count the cases in which a mistake shows; 0 if the answer does otherwise in one of them."""
    shows = [(own, tried) for own, tried in zip(mine, made, strict=True) if tried.complaint]
    return len(shows) if all(_alike(own, tried) for own, tried in shows) else 0
