"""Time to BLEU: the runs that are timed, what counts as reached, and the table of records."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from experiments import speedrun
from experiments.speedrun import (
    GOAL,
    record_runs,
    records_table,
    train_for_time,
)
from lessonkit import records
from lessonkit.records import PUBLISHED, load_speed_runs, standing
from tests.helpers import ROOT
from transformer.data import corpora
from transformer.data.parallel import ParallelText
from transformer.evaluation.compare import chance_of
from transformer.support.errors import UserError
from transformer.support.files import read_json

LOAD = corpora.load


def runs(*scores: float, seconds: float = 60.0) -> list[dict[str, Any]]:
    return [
        {"seed": seed, "seconds": seconds + seed, "bleu": score}
        for seed, score in enumerate(scores, start=1)
    ]


def record(*scores: float, processes: int = 1) -> dict[str, Any]:
    about: dict[str, Any] = {
        "date": "2026-11-22",
        "goal": GOAL,
        "change": "all is new",
        "hardware": "a chip, 1 thread",
    }
    about |= {"processes": processes, "recipe": {"training": {"bf16": processes > 1}}}
    return about | {"runs": runs(*scores)}


def some_sentences(*which: str) -> ParallelText:
    text = LOAD(*which)
    return replace(text, src=text.src[:20], tgt=text.tgt[:20], alignments=None)


def test_the_goal_is_what_was_published() -> None:
    assert f"BLEU {GOAL} (cell)" in PUBLISHED["multi30k"].figures


@pytest.mark.parametrize(("factor", "chance"), [(2.920, 0.05), (6.965, 0.01), (1.886, 0.10)])
def test_chance_by_the_printed_table_of_t(factor: float, chance: float) -> None:
    # Two degrees of freedom. Scores 1 apart: their mean's standard error is 1 / sqrt(3).
    goal = 5.0 - factor / 3**0.5
    assert chance_of([4.0, 5.0, 6.0], goal) == pytest.approx(chance, abs=2e-4)
    assert chance_of([4.0, 5.0, 6.0], 10.0 - goal) == pytest.approx(1 - chance, abs=2e-4)


def test_chance_where_all_runs_are_equal() -> None:
    assert [chance_of([5.0, 5.0], goal) for goal in (4.0, 5.0, 6.0)] == [0.0, 0.5, 1.0]


def test_one_run_tells_nothing_of_chance() -> None:
    with pytest.raises(UserError, match="the spread of one cannot be told"):
        chance_of([36.0], GOAL)


def test_the_table_shows_what_was_not_reached_in_brackets() -> None:
    first, second = records_table(
        [record(35.0, 35.1, 35.2), record(36.0, 36.1, 36.2, processes=2)]
    )[:].splitlines()[2:]
    assert "| (62.0) | 61, 62, 63 | 35.10 |" in first
    assert second.startswith("| 2 | 2026-11-22 | all is new | 62.0 |")
    assert first.endswith("| a chip, 1 thread, float32 |")
    assert second.endswith("| a chip, 2 processes, bfloat16 |")


@pytest.mark.parametrize("seeds", [(1, 2, 2), (1, 2, 3, 3)])
def test_two_seeds_are_too_few_and_each_counts_once(seeds: tuple[int, ...]) -> None:
    with pytest.raises(UserError, match="give three or more, each once"):
        record_runs("haste", seeds=seeds)


def test_a_training_that_fails_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speedrun, "RECIPE", "demo")
    with pytest.raises(UserError, match="ended with 2 and said: error: steps is 0"):
        train_for_time(["steps=0"], 1, 1, tmp_path / "run")


@pytest.mark.slow
def test_runs_are_trained_scored_and_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(speedrun, "RECIPE", "demo")  # its text is at hand everywhere
    monkeypatch.setattr(speedrun, "SPLIT", "test")
    for module in (records, speedrun):
        monkeypatch.setattr(module, "results_folder", lambda: tmp_path)
    monkeypatch.setattr(speedrun.corpora, "load", some_sentences)  # untrained, it runs on and on
    settings = ["steps=5", "warmup_steps=2", "validate_every=5"]
    said: list[str] = []
    file = record_runs("a try", settings, (1, 2, 3), on_line=said.append)
    assert (file, len(said)) == (tmp_path / "records" / "01.json", 3)
    held = read_json(file)
    assert [run["seed"] for run in held["runs"]] == [1, 2, 3]
    assert all(run["seconds"] > 1 and 0 <= run["bleu"] < GOAL for run in held["runs"])
    assert (held["processes"], held["recipe"]["training"]["steps"]) == (1, 5)
    assert load_speed_runs() == [held]
    assert not standing(held)[3]


@pytest.mark.slow
def test_two_processes_share_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speedrun, "RECIPE", "demo")
    train_for_time(["steps=3", "warmup_steps=2"], 1, 2, tmp_path / "run")
    assert read_json(tmp_path / "run" / "run.json")["processes"] == 2


def test_the_page_has_the_table_of_todays_records() -> None:
    page = (ROOT / "docs" / speedrun.PAGE).read_text(encoding="utf-8")
    shown = re.findall(r"<!-- records -->\n(.*?)\n<!-- /records -->", page, re.DOTALL)
    assert shown == [records_table(load_speed_runs())]
