"""Exercises of lesson 12 that need no PyTorch: the fewest places to hide."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lessonkit.exercises.exercise import Exercise
from lessonkit.exercises.toys import BaseToy
from lessonkit.exercises.wording import read_lesson_wording

lesson_wording = read_lesson_wording("12")


@dataclass(repr=False)
class RedundantEvidenceModel(BaseToy):
    """A toy model that says "La" while one of its witnesses is whole, and "Le" if none is.

    A witness is a list of places; hide one of them, and it tells nothing any more.
    """

    witnesses: list[list[int]]

    def __call__(self, hidden: Sequence[int]) -> str:
        """Return the article that is said with some places hidden."""
        return "La" if any(set(each).isdisjoint(hidden) for each in self.witnesses) else "Le"


def my_fewest_places_to_hide(answer: Callable[[list[int]], str], places: list[int]) -> list[int]:
    """Return the fewest places whose hiding changes the answer."""
    whole = answer([])
    for size in range(1, len(places) + 1):
        for hidden in itertools.combinations(places, size):
            if answer(list(hidden)) != whole:
                return list(hidden)
    return []


def _fewest_places_to_hide_by_subsets(
    answer: Callable[[list[int]], str], places: list[int]
) -> list[int]:
    """Try every set there is, written in bits, and sort those that change something."""
    sets = [[p for i, p in enumerate(places) if n >> i & 1] for n in range(2 ** len(places))]
    changing = [each for each in sets if answer(each) != answer([])]
    return min(changing, key=lambda each: (len(each), each), default=[])


_EVIDENCE_PLACES_OF_CASES: tuple[list[list[int]], ...] = (
    [[2]],
    [[1, 2], [2, 3]],
    [[0], [2]],
    [[0, 1], [2, 3]],
    [[0], [1], [3]],
    [[1, 3], [0, 3], [0, 1]],
    [],
)
fewest_places_to_hide = Exercise(
    my_fewest_places_to_hide,
    lesson_wording,
    worked=[
        ((RedundantEvidenceModel([[1]]), [0, 1]), [1]),
        ((RedundantEvidenceModel([[0], [1]]), [0, 1]), [0, 1]),  # either alone is not needed
        ((RedundantEvidenceModel([]), [0, 1]), []),
    ],
    cases=[
        (RedundantEvidenceModel(each), list(range(n)))
        for each in _EVIDENCE_PLACES_OF_CASES
        for n in (4, 5)
    ]
    + [(RedundantEvidenceModel([[2, 4]]), [4, 5])],
    expected=_fewest_places_to_hide_by_subsets,
)
