"""`python -m experiments WHAT`: each is listed, is explained, keeps its record in its place."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from experiments import commands, contrasts, heads, model_records, run, speedrun, split_leaks
from experiments.bench import training
from experiments.command_line import main
from experiments.commands import COMMANDS
from experiments.page_tables import tables_by_page_and_mark
from experiments.plans import Experiment
from tests.helpers import ROOT
from transformer.data import corpora
from transformer.data.parallel import ParallelText
from transformer.models.translator import Translator
from transformer.support.files import read_json

Capture = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch
ARGUMENTS = {
    "train": ["multi30k-de-en-fast"],
    "heads": ["de-en", "de-en"],
    "attributions": ["demo-en-fr", "demo-en-fr"],
    "experiment": ["captions"],
    "bench": ["training"],
    "words": ["de-en"],
    "ship": ["runs/x", "x"],
    "card": ["de-en"],
}
MEASURED = ("leaks", "heads", "attributions")


def never(*_: Any, **__: Any) -> None:
    raise AssertionError("the work was begun")


def stored() -> dict[Path, int]:
    """When each file that a command writes in a checkout was last written."""
    folders = (ROOT / "figures", *(ROOT / "data" / name for name in ("corpus", "results")))
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    assert files
    return {path: path.stat().st_mtime_ns for path in files}


def ends(*arguments: str) -> object:
    """Run a command that its parser ends."""
    with pytest.raises(SystemExit) as ended:
        main([*arguments])
    return ended.value.code


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: Patch) -> Path:
    """The folder data/results of an empty checkout."""
    monkeypatch.setattr(commands, "require_checkout_root", lambda: tmp_path)
    return tmp_path / "data" / "results"


def test_every_command_is_listed_says_how_to_use_it_and_refuses_in_a_line(capsys: Capture) -> None:
    before = stored()
    assert ends("--help") == 0
    listed = " ".join(capsys.readouterr().out.split())
    for name, command in COMMANDS.items():
        assert f" {name} {command.about}" in listed
        assert ends(name, "--help") == 0
        out = capsys.readouterr().out
        assert out.startswith(f"usage: python -m experiments {name} ")
        assert f"example: python -m experiments {name}" in out
        assert ends(name, *ARGUMENTS.get(name, []), "--nonsense") == 2
        out, err = capsys.readouterr()
        assert (out, err[:7], err.count("\n")) == ("", "error: ", 1)
    assert ends("head") == 2
    assert "'heads'" in capsys.readouterr().err
    assert stored() == before


def test_what_is_refused_before_any_work(kept: Path, capsys: Capture, monkeypatch: Patch) -> None:
    monkeypatch.setattr(speedrun, "time_training_command", never)
    monkeypatch.setattr(Translator, "load", never)
    for arguments, told in (
        (["speedrun"], "give --change"),
        (["speedrun", "--change", "new", "--set", "dropout"], "give KEY=VALUE"),
        (["speedrun", "--change", "new", "--processes", "0"], "give 1 or more"),
        (["experiment", "caption"], "unknown experiment 'caption': did you mean 'captions'?"),
        (["bleu", "demo-en-fr", "--record", str(kept.parent)], "is a folder"),
    ):
        kept.mkdir(parents=True, exist_ok=True)
        assert main(arguments) == 2
        assert told in capsys.readouterr().err
    for name in MEASURED:
        (kept / name).touch()
        assert main([name, *ARGUMENTS.get(name, [])]) == 2
        assert "is not a folder" in capsys.readouterr().err
    for name in ("bleu", "contrasts"):  # which have no place of their own
        assert ends(name, "demo-en-fr") == 2
        assert "--record" in capsys.readouterr().err


def test_what_is_measured_is_recorded_with_its_origin(
    tiny_folder: Path, kept: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    error = {"attention weights": {"error": 0.25}}
    pairs, one = [("Go!", "Va !")], {"test": 1}
    for module, work, found in (
        (corpora, "load", ParallelText("en", "fr", ["Go!"], ["Va !"])),
        (corpora, "read_unsplit_pairs", pairs),
        (split_leaks, "split_pairs", {"train": pairs, "test": pairs}),
        (split_leaks, "measure_split", one),
        (heads, "alignment_error_by_attribution", error),
        (training, "measure_all_recipes", {"recipes": one}),
    ):
        monkeypatch.setattr(module, work, lambda *_, found=found: found)
    origin = ["command", "commit", "hardware", "torch", "date"]
    leaks = {"seed": 1, "pairs": 1, "figures": {"random": one, "grouped": one}}
    model = [str(tiny_folder), "tiny"]
    for what, given, file, about in (
        ("leaks", [], "tatoeba", leaks),
        ("attributions", model, "tiny", {"split": "test", "sentences": 1, "figures": error}),
        ("bench", ["training"], "training", {"recipes": one}),
    ):
        monkeypatch.setattr(sys, "argv", ["/x/experiments/__main__.py", what, *given])
        assert main() == 0
        made = read_json(kept / what / f"{file}.json")
        assert list(made)[:5] == origin
        assert made["command"] == " ".join(["python -m experiments", what, *given])
        assert about.items() <= made.items()
    out = capsys.readouterr().out
    assert "attention weights: alignment error 0.250" in out


def test_heads_are_measured_on_the_gpu_if_there_is_one(
    tiny_folder: Path, kept: Path, monkeypatch: Patch
) -> None:
    picked = torch.device("cpu", 0)  # a device that works anywhere and is not the default

    def scores(translator: Translator, source: list[str], target: list[str], others: list[str]):
        assert not set(source) & set(others)
        assert (translator.device, len(source), len(target), len(others)) == (picked, 300, 300, 200)
        return {"whole": 1.0}

    monkeypatch.setattr(heads, "pick_device", lambda: picked)
    monkeypatch.setattr(heads, "scores_without_each_head", scores)
    assert main(["heads", str(tiny_folder), "tiny"]) == 0
    made = read_json(kept / "heads" / "tiny.json")
    assert made["model"] == str(tiny_folder)
    assert (made["split"], made["sentences"], made["means_over"]) == ("validation", 300, 200)
    assert made["figures"] == {"whole": 1.0}


def test_what_a_file_of_ones_own_is_for_is_measured_and_printed(
    tmp_path: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    file, given = tmp_path / "record.json", []
    five: Any = lambda model, file, beam: given.append((model, file, beam)) or {"a": 1.5}  # noqa: E731
    said: Any = lambda model, file: given.append((model, file)) or "negation: 17"  # noqa: E731
    monkeypatch.setattr(model_records, "record_bleu_five_ways", five)
    monkeypatch.setattr(contrasts, "record_contrasts", said)
    assert main(["bleu", "a-model", "--record", str(file), "--beam", "3"]) == 0
    assert json.loads(capsys.readouterr().out) == {"a": 1.5}
    assert main(["contrasts", "a-model", "--record", str(file)]) == 0
    assert capsys.readouterr().out == "negation: 17\n"
    assert given == [("a-model", file, 3), ("a-model", file)]


def test_the_tables_are_put_where_they_stand(
    tmp_path: Path, monkeypatch: Patch, capsys: Capture
) -> None:
    pages = {place: f"new {place[1]}" for place in tables_by_page_and_mark(ROOT)}
    for name, _ in pages:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    monkeypatch.setattr("experiments.page_tables.tables_by_page_and_mark", lambda root: pages)
    monkeypatch.setattr(commands, "require_checkout_root", lambda: tmp_path)
    assert main(["tables"]) == 0
    assert capsys.readouterr().out.splitlines() == [f"{page}: {mark}" for page, mark in pages]
    for page, mark in pages:
        assert f"\n<!-- {mark} -->\nnew {mark}\n<!--" in (tmp_path / page).read_text()


def test_an_experiment_has_its_own_places_or_others(
    kept: Path, tmp_path: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    asked: list[Any] = []

    def stopped(experiment: Experiment, *places: Path, **which: Any) -> None:
        asked.append((experiment.name, *places, which))
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "run_experiment", stopped)
    file, out = tmp_path / "own.json", tmp_path / "runs"
    others = ["--seeds", "1", "2", "--only", "whole words", "--out", str(out)]
    for typed, expected in (
        ([], (Path("runs/captions"), kept / "experiments" / "captions.json", [1], [])),
        ([*others, "--record", str(file)], (out, file, [1, 2], ["whole words"])),
        (["--only", "whole words"], None),
    ):
        assert main(["experiment", "captions", *typed]) == 130
        if expected:
            *places, seeds, only = expected
            assert asked.pop() == ("captions", *places, {"seeds": seeds, "only": only})
    again = "python -m experiments experiment captions --only 'whole words'"
    assert capsys.readouterr().err.splitlines()[-1] == f"stopped; go on with: {again}"
