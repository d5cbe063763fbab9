"""The race on the embedded corpus: where it ends, what it refuses, what is recorded."""

from pathlib import Path
from typing import Any

import pytest

from experiments import race as racing
from experiments.race import FIXED, TRIED, best, race, record_races
from tests.helpers import TINY
from tests.helpers.corpus import small_corpus
from transformer.data import corpora
from transformer.recipes.named import find_recipe
from transformer.support.errors import UserError
from transformer.support.files import read_json, write_json

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


def test_what_is_tried_can_be() -> None:
    for settings in TRIED.values():
        assert not FIXED & settings.keys()
        find_recipe(racing.RECIPE).override(settings)


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_each_run_is_recorded_once(tmp_path: Path) -> None:
    file, lines = tmp_path / "race.json", []
    tried = {"small": SMALL, "shorter": SMALL | {"steps": "3"}}
    record_races(file, seeds=[2], tried={"small": SMALL}, on_line=lines.append)
    record_races(file, seeds=[2], tried=tried, on_line=lines.append)
    runs = read_json(file)["runs"]
    assert [(each["change"], each["seed"], each["steps"]) for each in runs] == [
        ("small", 2, 5),
        ("shorter", 2, 3),
    ]
    assert runs[1]["settings"]["steps"] == "3"
    assert {"commit", "hardware", "date"} <= runs[0]["origin"].keys()
    assert lines.count("small, seed 2") == 1
    write_json(file, read_json(file) | {"target": 7})
    with pytest.raises(UserError, match="has the target 7: remove it, or move it"):
        record_races(file)


def test_the_best_has_the_lowest_mean_of_those_that_always_arrive() -> None:
    runs = [run("a", 1, 9.0), run("a", 2, 5.0), run("b", 1, 3.0), run("b", 2, 1.0, reached=False)]
    assert best({"runs": runs}) == ("a", 7.0)
    assert best({"runs": [*runs, run("c", 1, 6.0)]}) == ("c", 6.0)
    with pytest.raises(UserError, match="no run of this record arrived"):
        best({"runs": runs[3:]})
