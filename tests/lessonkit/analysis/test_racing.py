"""The race on the embedded corpus: where it ends, what it refuses."""

from typing import Any

import pytest

from lessonkit.analysis import racing
from lessonkit.analysis.racing import FIXED, best, race
from tests.helpers import TINY
from tests.helpers.corpus import small_corpus
from transformer.data import corpora
from transformer.support.errors import UserError

SMALL = {key: value for key, value in TINY.items() if key not in FIXED} | {"steps": "5"}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpora, "load", small_corpus)
    monkeypatch.setattr(racing, "MEASURED", 2)


def run(change: str, seed: int, in_steps: float, reached: bool = True) -> dict[str, Any]:
    return {"change": change, "seed": seed, "in_steps": in_steps, "reached": reached}


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_it_ends_at_the_first_validation_that_reaches_the_target(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines: list[str] = []
    finish = race(SMALL, on_report=lines.append)
    assert (finish.reached, finish.steps) == (False, 5)
    assert len(lines) == 3  # every second step, and the last
    assert finish.loss > racing.TARGET
    assert 0 < finish.in_steps < 100  # the measured steps are of a much larger network
    monkeypatch.setattr(racing, "TARGET", finish.loss + 1e-4)
    again = race(SMALL | {"validate_every": "1"}, on_report=lambda _: None)
    assert again.reached
    assert again.steps <= 5
    assert again.loss <= racing.TARGET


@pytest.mark.parametrize("name", ["vocab_size", "corpus", "tokenizer"])
def test_the_data_is_the_same_for_all(name: str) -> None:
    with pytest.raises(UserError, match=f"{name} is of the data, which all share: leave it out"):
        race({name: "x"})


def test_the_best_has_the_lowest_mean_of_those_that_always_arrive() -> None:
    runs = [run("a", 1, 9.0), run("a", 2, 5.0), run("b", 1, 3.0), run("b", 2, 1.0, reached=False)]
    assert best({"runs": runs}) == ("a", 7.0)
    assert best({"runs": [*runs, run("c", 1, 6.0)]}) == ("c", 6.0)
    with pytest.raises(UserError, match="no run of this record arrived"):
        best({"runs": runs[3:]})
