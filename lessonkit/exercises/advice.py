"""Which named mistakes an answer makes, told by what it does in every case.

Not in the paper.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from types import CodeType, FunctionType
from typing import NamedTuple

from lessonkit.exercises.outcome import Answer, Outcome, alike


class Deed(NamedTuple):
    """What was done with a case.

    Attributes:
        outcome: That.
        is_wrong: Whether it is wrong.
    """

    outcome: Outcome
    is_wrong: bool


class Found(NamedTuple):
    """The mistakes of an answer.

    Attributes:
        places: Where they stand in the list of mistakes: none, one or two of them.
        is_all: Whether they explain everything that the answer does.
    """

    places: tuple[int, ...]
    is_all: bool


def find_mistakes(
    mine: Sequence[Deed],
    mistakes: Sequence[Sequence[Deed]],
    both: Callable[[int, int], Iterator[Outcome] | None],
) -> Found:
    """Find the mistake that an answer makes, or the two; or one among others.

    Args:
        mine: What the answer did with each case.
        mistakes: The same of each mistake.
        both: Gives what the second mistake on top of the first does with each case; None where
            the two cannot be made together.
    """
    outcomes = [deed.outcome for deed in mine]
    for place, made in enumerate(mistakes):
        if all(alike(one, deed.outcome) for one, deed in zip(outcomes, made, strict=True)):
            return Found((place,), is_all=True)
    for first, second in itertools.permutations(range(len(mistakes)), 2):
        together = both(first, second)
        if together is not None and all(map(alike, outcomes, together)):
            return Found((first, second), is_all=True)
    for first, second in itertools.combinations(range(len(mistakes)), 2):
        if _act_apart(mine, mistakes[first], mistakes[second]):
            return Found((first, second), is_all=True)
    acting = [_cases_explained(mine, made) for made in mistakes]
    if acting and 2 * max(acting) > sum(deed.is_wrong for deed in mine):
        return Found((acting.index(max(acting)),), is_all=False)
    return Found((), is_all=False)


def on_top(outer: Answer, inner: Answer, reference: Answer) -> Answer | None:
    """Make a mistake on top of another one, if it is written around the reference.

    Args:
        outer: Calls the reference by its name, and does something wrong before or after that.
        inner: What it shall call instead.
        reference: The right answer.

    Returns:
        An answer with both mistakes; None if `outer` does not call the reference.
    """
    if not isinstance(outer, FunctionType) or reference.__name__ not in _names(outer.__code__):
        return None
    names = {**outer.__globals__, reference.__name__: inner}
    return FunctionType(outer.__code__, names, outer.__name__, outer.__defaults__)


def _names(code: CodeType) -> set[str]:
    """Collect the names that a function looks up, also those of functions inside it."""
    inside = [_names(each) for each in code.co_consts if isinstance(each, CodeType)]
    return set(code.co_names).union(*inside)


def _act_apart(mine: Sequence[Deed], first: Sequence[Deed], second: Sequence[Deed]) -> bool:
    """Whether one does what two mistakes do that show, each by itself, in some of the cases."""
    alone = [0, 0]
    for own, one, other in zip(mine, first, second, strict=True):
        if one.is_wrong and other.is_wrong:
            fits = own.is_wrong
        elif one.is_wrong or other.is_wrong:
            fits = alike(own.outcome, (one if one.is_wrong else other).outcome)
            alone[other.is_wrong] += 1
        else:
            fits = not own.is_wrong
        if not fits:
            return False
    return min(alone) > 0


def _cases_explained(mine: Sequence[Deed], made: Sequence[Deed]) -> int:
    """Count the cases in which a mistake shows; 0 if the answer does otherwise in one of them."""
    shows = [(own, deed) for own, deed in zip(mine, made, strict=True) if deed.is_wrong]
    return len(shows) if all(alike(own.outcome, deed.outcome) for own, deed in shows) else 0
