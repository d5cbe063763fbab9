"""Every small change of a reference is refused, but for those that are known to be right.

A change that passes shows that an exercise's cases are too poor: add one that it fails. If
there is none, because the change leaves the answer right, `equivalents.toml` names it with
its reason.
"""

import tomllib
import warnings
from pathlib import Path

import pytest

from tests.helpers.exercise_walk import ALL
from tests.helpers.mutants import mutants

EQUIVALENT = tomllib.loads((Path(__file__).parent / "equivalents.toml").read_text(encoding="utf-8"))


@pytest.mark.slow  # all of them together: 4,800 changes in 20 seconds
@pytest.mark.parametrize("name", ALL)
def test_a_change_of_the_reference_is_refused_or_known_to_be_right(name: str) -> None:
    known = [change for changes in EQUIVALENT.get(name, {}).values() for change in changes]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about shapes and kinds, from nonsense
        changed = dict(mutants(ALL[name].reference))
        passing = [change for change, answer in changed.items() if ALL[name].accepts(answer)]
    assert len(changed) > 5  # of a reference of one line too
    assert sorted(passing) == sorted(known)


def test_the_list_names_exercises_that_there_are() -> None:
    assert set(EQUIVALENT) <= set(ALL)
