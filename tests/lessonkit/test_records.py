"""Recorded runs: whole, traceable, and the very figures that README gives."""

import json
import re
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lessonkit import records as results
from lessonkit.records import COLUMNS, SYSTEM_COLUMNS
from lessonkit.reported import PUBLISHED
from tests.helpers import ROOT
from transformer.evaluation.compare import difference_interval, mean_interval, verdict
from transformer.recipes.earlier_systems import SYSTEMS
from transformer.recipes.named import find_recipe
from transformer.support import paths
from transformer.support.errors import UserError
from transformer.support.files import read_json

HASH = "0123456789abcdef0123456789abcdef01234567"


def sample() -> dict[str, Any]:
    return {
        "recipe": {"name": "demo", "training": {"bf16": False}},
        "training": {
            "date": "2017-06-12",
            "hardware": "an abacus, 2 threads",
            "steps": 12345,
            "minutes": 61.7,
            "seed": 7,
            "commit": HASH,
        },
        "figures": {
            "corpus": "embedded",
            "split": "test_long",
            "src_lang": "en",
            "tgt_lang": "fr",
            "bleu": {"score": 37.8, "interval": [36.11, 39.5], "signature": "s"},
            "chrf": {"score": 61.26, "interval": [60.0, 62.0], "signature": "s"},
            "bleu_tokenised_lowercased": 39.4,
            "perplexity": 4.567,
            "loss": 1.5189,
            "beam_size": 4,
            "parameters": 9038341,
        },
    }


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(results, "results_folder", lambda: tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("commit", "shown"),
    [
        (HASH, "0123456"),
        (f"{HASH} with changes", "0123456 with changes"),
        ("version 0.1.0", "version 0.1.0"),
    ],
)
def test_origin_in_a_line(commit: str, shown: str) -> None:
    record = sample()
    record["training"]["commit"] = commit
    assert results.origin(record) == (
        "Recorded 2017-06-12 on an abacus, 2 threads: 12,345 steps in 62 minutes, seed 7, "
        f"commit {shown}."
    )


def test_table_has_a_row_for_each_run(folder: Path) -> None:
    quick = sample()
    quick["training"]["minutes"] = 1.26
    (folder / "b.json").write_text(json.dumps(sample()), encoding="utf-8")
    (folder / "a.json").write_text(json.dumps(quick), encoding="utf-8")
    heading, rule, first, second = results.table().splitlines()
    assert heading.count("|") == rule.count("|") == first.count("|") == len(COLUMNS) + 1
    assert second == (
        "| `demo` | embedded test_long, en-fr | 37.80 (36.11 to 39.50) | 39.40 | 61.26 | 4.57 "
        "| 4 | 9,038,341 | 62 | an abacus, 2 threads | 2017-06-12 |"
    )
    assert first == second.replace("| 62 |", "| 1.3 |")


def test_another_length_penalty_than_the_papers_is_shown(folder: Path) -> None:
    for name, alpha in (("a", 0.6), ("b", 1.0), ("c", 1.5)):
        record = sample()
        record["figures"]["alpha"] = alpha
        (folder / f"{name}.json").write_text(json.dumps(record), encoding="utf-8")
    beams = [row.split(" | ")[6] for row in results.table().splitlines()[2:]]
    assert beams == ["4", "4, alpha 1", "4, alpha 1.5"]


def test_no_runs_no_table(folder: Path) -> None:
    assert results.table() == "No run is recorded yet."
    assert results.seeds_table() == "No recipe is recorded with several seeds yet."


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
    _, _, row = results.seeds_table().splitlines()
    # mean (37.8 + 38.8 + 37.0) / 3; deviations -1/15, 14/15 and -13/15: 0.902 a run, 0.521 of
    # the mean, times 4.303
    assert row == (
        "| `demo` | embedded test_long, en-fr | 7, 8, 9 | float32 | 37.87 | 35.63 to 40.11 "
        "| 37.00 to 38.80 | 39.40 | 4 |"
    )
    assert len(results.table().splitlines()) == 2 + (2 if first == "a" else 1)


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
    _, _, *rows = results.seeds_table().splitlines()
    assert [row.split(" | ")[2:4] for row in rows] == told
    groups = [[run["training"]["seed"] for run in group] for group in results.load_seeds("a")]
    assert [seeds for seeds, _ in told] == [", ".join(map(str, each)) for each in groups]
    runs = results.load_runs("a")
    assert [len(runs.get(name, [])) for name in ("bfloat16", "float32")] == [
        bf16.count(True),
        bf16.count(False),
    ]


def test_systems_stand_beside_their_own_reports(folder: Path) -> None:
    assert list(PUBLISHED) == [recipe.name for recipe in SYSTEMS]
    (folder / "systems").mkdir()
    record = sample()
    record["training"]["validation_loss"] = 1.5
    record["log"] = [{"tokens_per_second": speed} for speed in (1000.0, None, 3000.0, 1500.0)]
    (folder / "systems" / "multi30k.json").write_text(json.dumps(record), encoding="utf-8")
    heading, rule, *rows = results.systems_table().splitlines()
    assert {line.count("|") for line in (heading, rule, *rows)} == {len(SYSTEM_COLUMNS) + 1}
    # exp(1.5) = 4.482
    assert rows[4] == (
        "| `multi30k` | BLEU 35.53 (cell) or 36.52 (prose), validation perplexity 5.06 | "
        "Multi30k, German to English, 10 epochs, greedy, lower-cased tokens | "
        "37.80 (36.11 to 39.50) | 39.40 | 1.52 | 4.57 | 4.48 | embedded test_long, en-fr, "
        "12,345 steps, beam 4 | 9,038,341 | 1,500 | 62 | an abacus, 2 threads |"
    )
    assert all("not run yet" in row for row in rows[:4] + rows[5:])
    narrow = results.systems_table(["minutes", "recipe"]).splitlines()
    assert narrow[0] == "| recipe | minutes |"
    assert narrow[6] == "| `multi30k` | 62 |"


def test_load_result(folder: Path) -> None:
    (folder / "demo-en-fr.json").write_text(json.dumps(sample()), encoding="utf-8")
    assert results.load_result("demo-en-fr") == sample()
    with pytest.raises(
        UserError, match="unknown recorded run 'demo-fr': did you mean 'demo-en-fr'"
    ):
        results.load_result("demo-fr")


def test_seeds_of_an_unknown_recipe_are_refused(folder: Path) -> None:
    (folder / "demo.json").write_text(json.dumps(sample()), encoding="utf-8")
    assert results.load_seeds("demo") == [[sample()]]
    with pytest.raises(UserError, match="unknown recorded run 'dmo': did you mean 'demo'"):
        results.load_seeds("dmo")


@pytest.mark.parametrize("table", [results.table, results.seeds_table, results.systems_table])
def test_without_a_folder_of_records_there_is_no_table(
    table: Callable[[], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "PACKAGE", tmp_path / "transformer")
    with pytest.raises(UserError, match="or install again"):
        table()


@pytest.mark.parametrize(
    ("mark", "table"),
    [
        ("results", results.table),
        ("seeds", results.seeds_table),
        ("systems", results.systems_table),
    ],
)
def test_readme_gives_the_recorded_figures(mark: str, table: Callable[[], str]) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.findall(rf"^<!-- {mark} -->\n(.*?)\n<!-- /{mark} -->$", readme, re.M | re.S)
    assert shown == [table()], "paste what `python -m experiments tables` prints"


def test_readme_says_of_multi30k_what_is_recorded() -> None:
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    folder = results.results_folder()
    ways = read_json(folder / "loss_ways" / "multi30k.json")
    plain = read_json(folder / "systems" / "multi30k-plain.json")
    run = read_json(folder / "systems" / "multi30k.json")
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


def test_every_recorded_run_can_be_traced() -> None:
    folder = results.results_folder()
    for path in sorted(
        [*folder.glob("*.json"), *folder.glob("seeds/*.json"), *folder.glob("systems/*.json")]
    ):
        record = read_json(path)
        kind = "demo-lstm" if record["recipe"].get("network") == "lstm" else "demo"
        known = find_recipe(kind).to_dict()
        gone = {"beta1": 0.9, "weight_decay": 0.0, "patience": 0}  # settings that nobody changed
        gone |= {"decay": "inverse_sqrt", "optimizer": "adam", "muon_rate_factor": 1.0}
        gone |= {"cooccurrence_start": False, "cooccurrence_embeddings": False}
        for part in ("data", "model", "training"):
            unknown = record["recipe"][part].keys() - known[part].keys()
            assert all(record["recipe"][part][key] == gone[key] for key in unknown), path.name
        assert isinstance(record["training"]["seed"], int), path.name
        for part in ("training", "evaluation"):
            came = record[part]
            assert all(came[key] for key in ("command", "hardware", "torch")), path.name
            assert re.match(r"[0-9a-f]{40}\b|version \d", came["commit"]), path.name
            assert re.fullmatch(r"\d{4}-\d\d-\d\d", came["date"]), path.name
            strange = re.findall(r"(?:^|[\s=])/\S+", came["command"])
            assert not strange, f"{path.name}: paths of one machine: {strange}"
        steps = [report["step"] for report in record["log"]]
        assert steps == sorted(steps), path.name
        assert {report["kind"] for report in record["log"]} == {"training", "validation"}
        low, high = record["figures"]["bleu"]["interval"]
        assert low <= record["figures"]["bleu"]["score"] <= high, path.name
        assert results.origin(record), path.name
