"""The tables of recorded runs: rows by hand, and the very figures that README gives."""

import json
import re
import statistics
from pathlib import Path

import pytest

from experiments import tables
from experiments.tables import COLUMNS, load_seeds, runs_table, seeds_table
from lessonkit import records as results
from tests.helpers import ROOT
from tests.helpers.records import sample
from transformer.evaluation.compare import difference_interval, mean_interval, verdict


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for module in (results, tables):
        monkeypatch.setattr(module, "results_folder", lambda: tmp_path)
    return tmp_path


def test_table_has_a_row_for_each_run(folder: Path) -> None:
    quick = sample()
    quick["training"]["minutes"] = 1.26
    (folder / "b.json").write_text(json.dumps(sample()), encoding="utf-8")
    (folder / "a.json").write_text(json.dumps(quick), encoding="utf-8")
    heading, rule, first, second = runs_table().splitlines()
    assert heading.count("|") == rule.count("|") == first.count("|") == len(COLUMNS) + 1
    assert second == (
        "| `demo` | embedded test_long, en-fr | 37.80 (36.11 to 39.50) | 39.40 | 61.26 | 4.57 "
        "| 4 | 9,038,341 | 62 | an abacus, 2 threads | 2017-06-12 |"
    )
    assert first == second.replace("| 62 |", "| 1.3 |")


@pytest.mark.parametrize("first", ["a", "systems/a"])
def test_seeds_are_told_together(first: str, folder: Path) -> None:
    (folder / "seeds").mkdir()
    (folder / "systems").mkdir()
    for name, seed, score in ((first, 7, 37.8), ("seeds/a-8", 8, 38.8), ("seeds/a-9", 9, 37.0)):
        record = sample()
        record["training"]["seed"] = seed
        record["figures"]["bleu"]["score"] = score
        (folder / f"{name}.json").write_text(json.dumps(record), encoding="utf-8")
    (folder / "a-greedy.json").write_text(json.dumps(sample()), encoding="utf-8")
    _, _, row = seeds_table().splitlines()
    # mean (37.8 + 38.8 + 37.0) / 3; deviations -1/15, 14/15 and -13/15: 0.902 a run, 0.521 of
    # the mean, times 4.303
    assert row == (
        "| `demo` | embedded test_long, en-fr | 7, 8, 9 | float32 | 37.87 | 35.63 to 40.11 "
        "| 37.00 to 38.80 | 39.40 | 4 |"
    )
    assert len(runs_table().splitlines()) == 2 + (2 if first == "a" else 1)


@pytest.mark.parametrize(
    ("bf16", "told"),
    [
        ([False, True, False], [["1, 2, 3", "bfloat16 (2); float32 (1, 3)"]]),
        ([True, False, False, False], [["2, 3, 4", "float32"]]),
        ([True, False, True, False, True, True], [["1, 3, 5, 6", "bfloat16"]]),
        (
            [False, True, True, False, True, False],
            [["1, 4, 6", "float32"], ["2, 3, 5", "bfloat16"]],
        ),
    ],
)
def test_a_mean_is_of_one_precision_where_three_runs_have_it(
    bf16: list[bool], told: list[list[str]], folder: Path
) -> None:
    (folder / "seeds").mkdir()
    for seed, rounded in enumerate(bf16, start=1):
        record = sample()
        record["training"]["seed"] = seed
        record["recipe"]["training"]["bf16"] = rounded
        name = "a" if seed == 1 else f"seeds/a-{seed}"
        (folder / f"{name}.json").write_text(json.dumps(record), encoding="utf-8")
    _, _, *rows = seeds_table().splitlines()
    assert [row.split(" | ")[2:4] for row in rows] == told
    groups = [[run["training"]["seed"] for run in group] for group in load_seeds("a")]
    assert [seeds for seeds, _ in told] == [", ".join(map(str, each)) for each in groups]


def test_readme_gives_the_recorded_figures() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    made = {"results": runs_table, "seeds": seeds_table, "systems": results.systems_table}
    for mark, table in made.items():
        shown = re.findall(rf"^<!-- {mark} -->\n(.*?)\n<!-- /{mark} -->$", readme, re.M | re.S)
        assert shown == [table()], "paste what `python -m experiments tables` prints"


def test_readme_says_of_multi30k_what_is_recorded() -> None:
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    ways = results.load_result("loss_ways/multi30k")
    plain = results.load_result("systems/multi30k-plain")
    run = results.load_result("systems/multi30k")
    assert ways["training"] == run["training"]
    assert f"ours is {ways['perplexity']['mean over batches']:.2f} (" in text
    assert f"it has {plain['figures']['bleu_tokenised_lowercased']:.2f} (" in text


def test_the_page_of_records_tells_the_whole_recipe_as_recorded() -> None:
    page = " ".join((ROOT / "docs/records.md").read_text(encoding="utf-8").split())
    runs = results.load_runs("multi30k-de-en")
    timed = [run for run in runs["bfloat16"] if run["training"]["seed"] >= 6]
    for run in timed:
        seed, minutes = run["training"]["seed"], run["training"]["minutes"]
        assert f"| {seed} | {minutes:.1f} | {run['figures']['bleu']['score']:.2f} |" in page
    groups = (timed, runs["bfloat16"], runs["float32"])
    scores = [[run["figures"]["bleu"]["score"] for run in group] for group in groups]
    for found in scores:
        low, high = mean_interval(found)
        assert f"{statistics.mean(found):.2f} ({low:.2f} to {high:.2f})" in page
    _, short, full = scores
    between = difference_interval(full, short)
    assert verdict(between, worth=1) == "not shown"
    assert f"({between.low:+.1f} to {between.high:+.1f})".replace("-", "−") in page
