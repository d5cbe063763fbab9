"""Every small change of a reference is refused, but for those that are known to be right.

A change that passes shows that an exercise's cases are too poor: add one that it fails. If
there is none, because the change leaves the answer right, `equivalents.toml` names it with
its reason.
"""

import tomllib
import warnings
from pathlib import Path

import pytest

from lessonkit.exercises.check import Exercise
from tests.helpers.exercise_walk import ALL
from tests.helpers.mutants import mutants

EQUIVALENT = tomllib.loads((Path(__file__).parent / "equivalents.toml").read_text(encoding="utf-8"))


def passing(exercise: Exercise) -> list[str]:
    """The changes of a reference with which it still passes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about shapes and kinds, from nonsense
        changed = mutants(exercise.reference)
        return [change for change, answer in changed if exercise.accepts(answer)]


@pytest.mark.slow  # all of them together: 4,800 changes in 20 seconds
@pytest.mark.parametrize("name", ALL)
def test_a_change_of_the_reference_is_refused_or_known_to_be_right(name: str) -> None:
    known = [change for changes in EQUIVALENT.get(name, {}).values() for change in changes]
    assert len(known) == len(set(known))
    assert sorted(passing(ALL[name])) == sorted(known)


def test_the_list_names_exercises_that_there_are() -> None:
    assert set(EQUIVALENT) <= set(ALL)


def half(values):
    """Give every other value, doubled."""
    doubled: list[int] = []
    place = 0
    while place < len(values):
        doubled.append(2 * values[place])
        place += 2
    return doubled


def test_changes_are_made_in_every_kind_of_place() -> None:
    assert half([1, 2, 3]) == [2, 6]
    changes = dict(mutants(half))
    assert changes["place < len(values) -> place <= len(values)"] is not half
    assert changes["2 -> 3"]([5, 7, 9]) == [10]  # the step, which stands higher up
    assert changes["2 * values[place] -> values[place]"]([5, 7, 9]) == [5, 9]
    assert changes["0 -> 1"]([5, 7, 9]) == [14]
    with pytest.raises(IndexError):
        changes["place < len(values) -> place <= len(values)"]([5, 7])


def test_a_loop_without_end_is_ended() -> None:
    changes = dict(mutants(half))
    with pytest.raises(RuntimeError, match="turns"):
        changes["place += 2 -> place = 2"]([5, 7, 9])
    with pytest.raises(RuntimeError, match="turns"):
        changes["place += 2 -> pass"]([5])
