"""The tables of recorded and timed runs: rows by hand, and the very figures that pages give."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from stamping import readme

from attention_laws.laws import MODEL_LAWS, PIPELINE_LAWS
from experiments import speedrun, tables
from experiments.page_tables import tables_by_page_and_mark
from lessonkit import records as results
from lessonkit.analysis.significance import one_sided_t_test
from lessonkit.museum import FAULTS
from lessonkit.museum.fault import BROKEN_LAWS_RECORD
from tests.helpers import ROOT
from tests.helpers.records import sample
from transformer.data import corpora
from transformer.data.parallel import ParallelText
from transformer.recipes import EARLIER_SYSTEM_RECIPES
from transformer.support.errors import UserError
from transformer.support.files import read_json
from transformer.support.folders import results_folder

LOAD = corpora.load


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for module in (results, tables, speedrun):
        monkeypatch.setattr(module, "results_folder", lambda: tmp_path)
    return tmp_path


def keep(folder: Path, name: str, seed: int, score: float = 37.8, bf16: bool = False) -> None:
    made = sample()
    made["training"]["seed"], made["recipe"]["training"]["bf16"] = seed, bf16
    made["figures"]["bleu"]["score"] = score
    (folder / f"{name}.json").parent.mkdir(exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(made), encoding="utf-8")


def test_table_has_a_row_for_each_run(folder: Path) -> None:
    quick = sample()
    quick["training"]["minutes"] = 1.26
    (folder / "b.json").write_text(json.dumps(sample()), encoding="utf-8")
    (folder / "a.json").write_text(json.dumps(quick), encoding="utf-8")
    heading, rule, first, second = tables.runs_table().splitlines()
    assert heading.count("|") == rule.count("|") == first.count("|") == len(tables.COLUMNS) + 1
    assert second == (
        "| `demo` | embedded test_long, en-fr | 37.80 (36.11 to 39.50) | 39.40 | 4.57 "
        "| 4 | 9,038,341 | 62 | an abacus, 2 threads | 2017-06-12 |"
    )
    assert first == second.replace("| 62 |", "| 1.3 |")


def test_a_shipped_model_stands_beside_what_needs_no_model(folder: Path) -> None:
    measured = {"hardware": "an abacus", "date": "2017-06-13"}
    made = {"model": "x", "evaluation": measured} | sample()
    made["training"]["precision"] = "bf16"
    of_others = json.loads(json.dumps(made)) | {"model": "y"}
    of_others["figures"]["corpus"] = "multi30k"
    (folder / "shipped").mkdir()
    for record in (made, of_others):
        (folder / "shipped" / f"{record['model']}.json").write_text(json.dumps(record))
    _, _, row, second = tables.shipped_models_table().splitlines()
    assert row == (
        "| `x` | embedded test_long, en-fr | bfloat16 | 37.80 (36.11 to 39.50) | 61.26 (60.00 to "
        "62.00) | 1.25, 14.50 | 22.50, 40.00 | 4.57 | an abacus, 2017-06-13 |"
    )
    assert second == row.replace("`x`", "`y`").replace("embedded", "multi30k")


@pytest.mark.parametrize("first", ["a", "systems/a"])
def test_seeds_are_told_together(first: str, folder: Path) -> None:
    for name, seed, score in ((first, 7, 37.8), ("seeds/a-8", 8, 38.8), ("seeds/a-9", 9, 37.0)):
        keep(folder, name, seed, score)
    keep(folder, "a-greedy", 7)
    newer = folder / "seeds" / "a-8.json"
    newer.write_text(newer.read_text("utf-8").replace(sample()["training"]["commit"], "newer"))
    _, _, row = tables.seeds_table().splitlines()
    # mean (37.8 + 38.8 + 37.0) / 3; deviations -1/15, 14/15 and -13/15: 0.902 a run, 0.521 of
    # the mean, times 4.303
    assert row == (
        "| `demo` | embedded test_long, en-fr | 7, 8, 9 | float32 | 2 | 37.87 | 35.63 to 40.11 "
        "| 37.00 to 38.80 | 39.40 | 4 |"
    )
    assert len(tables.runs_table().splitlines()) == 2 + (2 if first == "a" else 1)


@pytest.mark.parametrize(
    ("bf16", "told"),
    [
        ("010", [["1, 2, 3", "bfloat16 (2); float32 (1, 3)"]]),
        ("1000", [["2, 3, 4", "float32"]]),
        ("101011", [["1, 3, 5, 6", "bfloat16"]]),
        ("011010", [["1, 4, 6", "float32"], ["2, 3, 5", "bfloat16"]]),
    ],
)
def test_a_mean_is_of_one_precision_where_three_runs_have_it(
    bf16: str, told: list[list[str]], folder: Path
) -> None:
    for seed, rounded in enumerate(bf16, start=1):
        keep(folder, "a" if seed == 1 else f"seeds/a-{seed}", seed, bf16=rounded == "1")
    _, _, *rows = tables.seeds_table().splitlines()
    assert [row.split(" | ")[2:4] for row in rows] == told


def test_pages_give_the_recorded_figures() -> None:
    for (file, mark), table in tables_by_page_and_mark(ROOT).items():
        text = (ROOT / file).read_text(encoding="utf-8")
        text = readme.stamped(text, None) if mark == "lessons" else text  # not a fork's links
        shown = re.findall(rf"^<!-- {mark} -->\n(.*?)\n<!-- /{mark} -->$", text, re.M | re.S)
        assert shown == [table], "`python -m experiments tables` puts them in"


def test_the_museum_is_of_todays_laws_and_faults() -> None:
    record = read_json(results_folder() / BROKEN_LAWS_RECORD)
    names = {law.name for law in (*MODEL_LAWS, *PIPELINE_LAWS)}
    assert {*record["laws"]} <= names, "run: python -m experiments museum"
    assert list(record["faults"]) == [each.name for each in FAULTS]


def record(*scores: float, processes: int = 1) -> dict[str, Any]:
    about = {"date": "2026-11-22", "goal": speedrun.GOAL, "change": "all is new"}
    about |= {"hardware": "a chip, 1 thread", "processes": processes}
    runs = [{"seconds": 61.0 + place, "bleu": bleu} for place, bleu in enumerate(scores)]
    return about | {"recipe": {"training": {"bf16": processes > 1}}, "runs": runs}


def some_sentences(*which: str) -> ParallelText:
    text = LOAD(*which)
    return replace(text, src=text.src[:20], tgt=text.tgt[:20], alignments=None)


def test_chance_by_the_printed_table_of_t() -> None:
    # Two degrees of freedom. Scores 1 apart: their mean's standard error is 1 / sqrt(3).
    for factor, chance in ((2.920, 0.05), (6.965, 0.01), (1.886, 0.10)):
        goal = 5.0 - factor / 3**0.5
        assert one_sided_t_test([4.0, 5.0, 6.0], goal) == pytest.approx(chance, abs=2e-4)
        assert one_sided_t_test([4.0, 5.0, 6.0], 10.0 - goal) == pytest.approx(1 - chance, abs=2e-4)
    assert [one_sided_t_test([5.0, 5.0], goal) for goal in (4.0, 5.0, 6.0)] == [0.0, 0.5, 1.0]


def test_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="give 2 or more"):
        one_sided_t_test([36.0], speedrun.GOAL)
    for seeds in ((1, 2, 2), (1, 2, 3, 3)):
        with pytest.raises(UserError, match="give three or more, each once"):
            speedrun.record_speed_runs("haste", (), seeds)
    monkeypatch.setattr(speedrun, "RECIPE_NAME", "demo")
    with pytest.raises(UserError, match="ended with 2 and said: error: steps is 0"):
        speedrun.time_training_command(["steps=0"], 1, 1, tmp_path / "run")


def test_the_table_shows_what_was_not_reached_in_brackets() -> None:
    two = [record(35.0, 35.1, 35.2), record(36.0, 36.1, 36.2, processes=2)]
    first, second = speedrun.speed_records_table(two).splitlines()[2:]
    assert "| (62.0) | 61, 62, 63 | 35.10 |" in first
    assert second.startswith("| 2 | 2026-11-22 | all is new | 62.0 |")
    assert second.endswith("| a chip, 2 processes, bfloat16 |")


@pytest.mark.weekly
def test_runs_are_trained_scored_and_recorded(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(speedrun, "RECIPE_NAME", "demo")  # its text is at hand everywhere
    monkeypatch.setattr(speedrun, "TEST_SPLIT", "test")
    monkeypatch.setattr(speedrun.corpora, "load", some_sentences)  # untrained, it runs on and on
    settings = ["steps=5", "warmup_steps=2", "validate_every=5"]
    file = speedrun.record_speed_runs("a try", settings, (1, 2, 3), on_line=lambda _: None)
    assert file == folder / "records" / "01.json"
    held = read_json(file)
    assert [run["seed"] for run in held["runs"]] == [1, 2, 3]
    assert all(run["seconds"] > 1 and 0 <= run["bleu"] < speedrun.GOAL for run in held["runs"])
    assert (held["processes"], held["recipe"]["training"]["steps"]) == (1, 5)
    assert speedrun.load_speed_records() == [held]


@pytest.mark.weekly
def test_two_processes_share_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speedrun, "RECIPE_NAME", "demo")
    speedrun.time_training_command(["steps=3", "warmup_steps=2"], 1, 2, tmp_path / "run")
    assert read_json(tmp_path / "run" / "run.json")["processes"] == 2


def test_a_goal_is_reached_when_chance_is_small() -> None:
    seconds, score, chance, reached = speedrun.means_and_goal_reached(record(36.0, 36.1, 36.2))
    assert (seconds, reached) == (62.0, True)
    assert score == pytest.approx(36.1)
    assert chance < 0.01
    # their mean is above, and may be so by chance
    assert not speedrun.means_and_goal_reached(record(35.0, 36.0, 36.5))[3]
    assert not speedrun.means_and_goal_reached(record(35.0, 35.1, 35.2))[3]
    near = record(36.9, 37.1, 37.3)  # p against the second goal is 0.019
    assert speedrun.means_and_goal_reached(near)[3]
    assert not speedrun.means_and_goal_reached(near | {"goal": speedrun.HIGHER_GOAL})[3]
    assert speedrun.describe_machine(record(36.0)) == "a chip, 1 thread, float32"
    assert speedrun.describe_machine(record(36.0, processes=2)) == "a chip, 2 processes, bfloat16"
    goals = {each["goal"] for each in speedrun.load_speed_records()}
    assert all(
        str(goal) in tables.PUBLISHED_FIGURES_BY_SYSTEM["multi30k"]["published"] for goal in goals
    )


def test_systems_stand_beside_their_own_reports(folder: Path) -> None:
    assert list(tables.PUBLISHED_FIGURES_BY_SYSTEM) == [
        recipe.name for recipe in EARLIER_SYSTEM_RECIPES
    ]
    made = sample()
    made["training"]["validation_loss"] = 1.5
    made["log"] = [{"tokens_per_second": speed} for speed in (1000.0, None, 3000.0, 1500.0)]
    (folder / "systems").mkdir()
    (folder / "systems" / "multi30k.json").write_text(json.dumps(made), encoding="utf-8")
    heading, rule, *rows = tables.earlier_systems_table().splitlines()
    assert {line.count("|") for line in (heading, rule, *rows)} == {len(tables.SYSTEM_COLUMNS) + 1}
    # exp(1.5) = 4.482
    assert rows[4] == (
        "| `multi30k` | BLEU 36.52 (an older copy: 35.53), validation perplexity 5.06 | "
        "Multi30k, German to English, 10 epochs, greedy, lower-cased tokens | "
        "37.80 (36.11 to 39.50) | 39.40 | 1.52 | 4.57 | 4.48 | embedded test_long, en-fr, "
        "12,345 steps, beam 4 | 9,038,341 | 1,500 | 62 | an abacus, 2 threads |"
    )
    assert all("not run yet" in row for row in rows[:4] + rows[5:])


def test_the_search_in_words() -> None:
    found = [tables.describe_search({"beam_size": 4, "alpha": alpha}) for alpha in (0.6, 1.0, 1.5)]
    assert [*found, tables.describe_search({"beam_size": 4})] == [
        "4",
        "4, alpha 1",
        "4, alpha 1.5",
        "4",
    ]
