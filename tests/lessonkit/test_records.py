"""Recorded runs: what lessons read of them, and that every one can be traced."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from lessonkit import records as results
from tests.helpers.records import HASH, sample
from transformer.recipes import find_recipe
from transformer.support.errors import UserError
from transformer.support.files import read_json

READINGS = list(enumerate(results.READINGS.values()))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(results, "results_folder", lambda: tmp_path)
    return tmp_path


def test_origin_in_a_line() -> None:
    for commit, shown in (
        (HASH, "0123456"),
        (f"{HASH} with changes", "0123456 with changes"),
        ("version 0.1.0", "version 0.1.0"),
    ):
        record = sample()
        record["training"]["commit"] = commit
        assert results.describe_run(record) == (
            "Recorded 2017-06-12 on an abacus, 2 threads: 12,345 steps in 62 minutes, seed 7, "
            f"commit {shown}."
        )


def keep(folder: Path, name: str, record: dict[str, Any]) -> dict[str, Any]:
    (folder / f"{name}.json").parent.mkdir(exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(record), encoding="utf-8")
    return record


def test_results_are_loaded_by_name_and_runs_by_precision_and_seed(folder: Path) -> None:
    assert keep(folder, "demo-en-fr", sample()) == results.load_result("demo-en-fr")
    assert keep(folder, "bench/growth", {"axes": 1}) == results.load_result("bench/growth")
    with pytest.raises(UserError, match="unknown recorded run 'demo-fr': did you mean 'demo-en-f"):
        results.load_result("demo-fr")
    for name, seed, bf16 in (("a", 7, False), ("seeds/a-9", 9, True), ("seeds/a-8", 8, False)):
        record = sample()
        record["training"]["seed"], record["recipe"]["training"]["bf16"] = seed, bf16
        keep(folder, name, record)
    runs = results.load_runs("a")
    seeds = {each: [run["training"]["seed"] for run in some] for each, some in runs.items()}
    assert seeds == {"float32": [7, 8], "bfloat16": [9]}
    with pytest.raises(UserError, match="unknown recorded run 'b'"):
        results.load_runs("b")


def test_scores_by_variant_and_reading() -> None:
    runs = [
        {"variant": name, "figures": {way: {"bleu": {"score": score + n}} for n, way in READINGS}}
        for name, score in (("x", 30.0), ("y", 20.0), ("x", 31.0))
    ]
    assert results.scores_by_variant({"runs": runs}) == {"x": [30.0, 31.0], "y": [20.0]}
    assert results.scores_by_variant({"runs": runs}, "last") == {"x": [32.0, 33.0], "y": [22.0]}


def test_every_recorded_run_can_be_traced() -> None:
    folder = results.results_folder()
    for path in sorted(
        [
            path
            for some in ("", "seeds/", "systems/", "own_text/")
            for path in folder.glob(f"{some}*.json")
        ]
    ):
        record = read_json(path)
        kind = "demo-lstm" if record["recipe"].get("network") == "lstm" else "demo"
        known = find_recipe(kind).to_dict()
        gone = {"beta1": 0.9, "weight_decay": 0.0, "patience": 0}  # settings that nobody changed
        gone |= {"accumulate": 1, "bf16": results.precision_of_run(record) == "bfloat16"}
        gone |= {"decay": "inverse_sqrt", "optimizer": "adam", "muon_rate_factor": 1.0}
        gone |= {"cooccurrence_start": False, "cooccurrence_embeddings": False}
        for part in ("data", "model", "training"):
            unknown = record["recipe"][part].keys() - known[part].keys() - {"smooth_over_all"}
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
        assert results.describe_run(record), path.name
