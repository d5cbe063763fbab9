"""`record`: every WHAT is listed, says how to use it, keeps its record in its place, or refuses."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from experiments import figures, run, speedrun
from experiments.__main__ import main
from experiments.bench.tables import readme_table
from experiments.commands import command as commands
from experiments.commands.command import Command
from experiments.commands.record import WHATS
from experiments.grammar import build
from experiments.plans import EXPERIMENTS
from lessonkit import records as results
from lessonkit.analysis import (
    attribution_scores,
    contrasts,
    head_table,
    leaks,
    removals,
    text_figures,
    ways_of_counting,
)
from tests.helpers import ROOT
from transformer.data import corpora
from transformer.models.translator import Translator
from transformer.support import paths
from transformer.support.files import read_json

Capture = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch
ARGUMENTS = {
    "train": ["multi30k-de-en-fast"],
    "heads": ["de-en", "de-en"],
    "roles": ["demo-en-fr", "demo-en-fr"],
    "attributions": ["demo-en-fr", "demo-en-fr"],
    "experiment": ["captions"],
    "export": ["de-en"],
    "decoding": ["de-en"],
}
IN_THE_CHECKOUT = [
    *("corpus", "figures", "text", "leaks"),
    *("heads", "roles", "attributions", "experiment", "museum", "specimens", "bench"),
    *("race", "export", "decoding", "speedrun"),
]


def stored() -> dict[Path, int]:
    """When each file that a command writes in a checkout was last written."""
    folders = (ROOT / "figures", *(ROOT / "data" / name for name in ("corpus", "results")))
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    assert files
    return {path: path.stat().st_mtime_ns for path in files}


def ends(*arguments: str) -> object:
    """Run a command that its parser ends; it writes nothing."""
    before = stored()
    with pytest.raises(SystemExit) as ended:
        main([*arguments])
    assert stored() == before
    return ended.value.code


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: Patch) -> Path:
    """An empty folder in the place of data/results."""
    monkeypatch.setattr(commands, "results_folder", lambda: tmp_path)
    return tmp_path


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: Patch) -> Path:
    """The package as pip leaves it: apart from its checkout, with its data inside."""
    package = tmp_path / "site" / "transformer"
    for name in ("corpus", "models", "results"):
        (package / "_data" / name).mkdir(parents=True)
    monkeypatch.setattr(paths, "PACKAGE", package)
    return package


def test_every_what_is_listed_with_a_line(capsys: Capture) -> None:
    assert ends("--help") == 0
    told = " ".join(capsys.readouterr().out.split())
    assert len(WHATS) == 24
    for what in WHATS:
        assert f" {what.name} {what.about}" in told


@pytest.mark.parametrize("what", WHATS, ids=lambda what: what.name)
def test_help_shows_how_to_use_it_and_does_nothing(what: Command, capsys: Capture) -> None:
    assert ends(what.name, "--help") == 0
    out = capsys.readouterr().out
    assert out.startswith(f"usage: python -m experiments {what.name} ")
    assert f"example: python -m experiments {what.name}" in out


@pytest.mark.parametrize("what", WHATS, ids=lambda what: what.name)
def test_an_unknown_option_is_refused(what: Command, capsys: Capture) -> None:
    assert ends(what.name, *ARGUMENTS.get(what.name, []), "--nonsense") == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1


def test_an_unknown_what_is_refused(capsys: Capture) -> None:
    assert ends("head") == 2
    assert "'heads'" in capsys.readouterr().err


@pytest.mark.parametrize("what", IN_THE_CHECKOUT)
def test_an_installed_package_keeps_no_records(
    what: str, installed: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("the work was begun")

    monkeypatch.setattr(build, "build", never)
    monkeypatch.setattr(figures, "render", never)
    monkeypatch.setattr(text_figures, "multi30k_figures", never)
    monkeypatch.setattr(corpora, "all_tatoeba_pairs", never)
    monkeypatch.setattr(Translator, "load", never)
    monkeypatch.setattr(run, "run_experiment", never)
    assert main([what, *ARGUMENTS.get(what, [])]) == 2
    assert capsys.readouterr().err.count("clone the repository") == 1
    assert not [path for path in installed.rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [(["--set", "dropout"], "give KEY=VALUE"), (["--processes", "0"], "give 1 or more")],
)
def test_a_speedrun_refuses_before_it_trains(
    arguments: list[str], told: str, capsys: Capture, monkeypatch: Patch
) -> None:
    def never(*_: Any) -> None:
        raise AssertionError("the work was begun")

    monkeypatch.setattr(speedrun, "record_runs", never)
    assert main(["speedrun", "--change", "new", *arguments]) == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("what", ["text", "leaks", "heads", "roles", "attributions"])
def test_where_nothing_can_be_written_nothing_is_measured(
    what: str, kept: Path, capsys: Capture
) -> None:
    (kept / what).touch()
    assert main([what, *ARGUMENTS.get(what, [])]) == 2
    assert "is not a folder" in capsys.readouterr().err


def test_the_corpus_is_drawn_to_its_place(tmp_path: Path, monkeypatch: Patch) -> None:
    written: list[Path] = []
    monkeypatch.setattr(build, "write", written.append)
    assert main(["corpus"]) == 0
    assert written == [ROOT / "data" / "corpus" / "sentences.tsv.gz"]


def test_the_figures_are_drawn_to_their_place(monkeypatch: Patch) -> None:
    written: list[Path] = []
    monkeypatch.setattr(figures, "write_all", written.append)
    assert main(["figures"]) == 0
    assert written == [ROOT / "figures"]


def test_a_text_is_recorded_with_its_origin(
    kept: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    monkeypatch.setattr(text_figures, "multi30k_figures", lambda: {"sizes": [1]})
    monkeypatch.setattr(sys, "argv", ["/x/experiments/__main__.py", "text"])
    assert main() == 0
    assert capsys.readouterr().out == f"{kept / 'text' / 'multi30k.json'}\n"
    made = read_json(kept / "text" / "multi30k.json")
    origin = ["command", "commit", "hardware", "torch", "date", "seed"]
    assert list(made) == [*origin, "figures"]
    assert made["command"] == "python -m experiments text"
    assert (made["seed"], made["figures"]) == (1, {"sizes": [1]})


def test_leaks_are_recorded_with_their_origin(
    kept: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    split = {"test": 1000, "leak": {"either": 0.605}, "bleu": {"score": 41.5}}
    monkeypatch.setattr(corpora, "all_tatoeba_pairs", lambda: [("Go!", "Va !")])
    monkeypatch.setattr(leaks, "measure_splits", lambda pairs: {"random": split})
    assert main(["leaks"]) == 0
    said = "random: 60.5% of 1,000 test pairs have a side in training; memory alone scores 41.50"
    assert said in capsys.readouterr().out
    made = read_json(kept / "leaks" / "tatoeba.json")
    assert (made["pairs"], made["figures"]) == (1, {"random": split})
    assert {"command", "commit", "hardware", "date", "seed"} < set(made)


def test_heads_are_measured_on_the_gpu_if_there_is_one(
    tiny_folder: Path, kept: Path, monkeypatch: Patch
) -> None:
    measured: list[tuple[torch.device, int, int, int]] = []

    def scores(translator: Translator, *texts: list[str]) -> dict[str, float]:
        source, target, others = texts
        assert not set(source) & set(others)
        measured.append((translator.device, len(source), len(target), len(others)))
        return {"whole": 1.0}

    picked = torch.device("cpu", 0)  # a device that works anywhere and is not the default
    monkeypatch.setattr("transformer.support.machine.pick_device", lambda: picked)
    monkeypatch.setattr(removals, "removal_scores", scores)
    assert main(["heads", str(tiny_folder), "tiny"]) == 0
    assert measured == [(picked, 300, 300, 200)]
    made = read_json(kept / "heads" / "tiny.json")
    assert made["model"] == str(tiny_folder)
    assert (made["split"], made["sentences"], made["means_over"]) == ("validation", 300, 200)
    assert made["figures"] == {"whole": 1.0}


def test_roles_and_attributions_are_recorded_with_their_origin(
    tiny_folder: Path, kept: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    figures = {"attention weights": {"error": 0.25}}
    monkeypatch.setattr(attribution_scores, "attribution_scores", lambda *_: figures)
    monkeypatch.setattr(head_table, "named_roles", lambda _: {"cross 1.1": {"score": 1.0}})
    for what in ("attributions", "roles"):
        assert main([what, str(tiny_folder), "tiny"]) == 0
    assert "attention weights: alignment error 0.250" in capsys.readouterr().out
    made = read_json(kept / "attributions" / "tiny.json")
    assert (made["split"], made["sentences"], made["figures"]) == ("test", 1000, figures)
    made = read_json(kept / "roles" / "tiny.json")
    assert (made["chosen_on"], made["scored_on"]) == ("validation", "test")
    assert made["figures"] == {"cross 1.1": {"score": 1.0}}
    assert {"command", "commit", "hardware", "date", "model"} < set(made)


@pytest.mark.parametrize(
    ("what", "options", "passed", "measured", "printed"),
    [
        ("bleu", ["--beam", "3"], [3], {"points": {"sacreBLEU 13a": 1.5}}, ["points"]),
        ("loss", [], [], {"loss": {"a": 1.5}, "perplexity": {"a": 4.5}}, ["loss", "perplexity"]),
    ],
)
def test_a_figure_counted_in_several_ways(
    what: str,
    options: list[str],
    passed: list[int],
    measured: dict[str, Any],
    printed: list[str],
    tmp_path: Path,
    capsys: Capture,
    monkeypatch: Patch,
) -> None:
    given: list[Any] = []

    def measure(*arguments: Any) -> dict[str, Any]:
        given.extend(arguments)
        return {"recipe": "demo", **measured}

    name = {"bleu": "record_five_ways", "loss": "record_two_ways"}[what]
    monkeypatch.setattr(ways_of_counting, name, measure)
    file = tmp_path / "ways.json"
    assert main([what, "a-model", "--record", str(file), *options]) == 0
    assert given == ["a-model", file, *passed]
    shown = json.loads(capsys.readouterr().out)
    assert shown == (measured["points"] if what == "bleu" else measured)


@pytest.mark.parametrize("what", ["bleu", "loss", "contrasts"])
def test_what_has_no_place_of_its_own_needs_a_file(what: str, capsys: Capture) -> None:
    assert ends(what, "demo-en-fr") == 2
    assert "--record" in capsys.readouterr().err


def test_contrasts_are_recorded_and_shown(
    tmp_path: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    asked: list[Any] = []

    def measured(*given: Any) -> dict[str, Any]:
        asked.extend(given)
        ways = {way: {"both": place} for place, way in enumerate(contrasts.WAYS, start=17)}
        return {"phenomena": {"negation": {"pairs": 23} | ways}}

    monkeypatch.setattr(contrasts, "record_contrasts", measured)
    file = tmp_path / "record.json"
    assert main(["contrasts", "demo-en-fr", "--record", str(file)]) == 0
    assert asked == ["demo-en-fr", file]
    both = "says 17, prefers 18, prefers_per_token 19"
    assert capsys.readouterr().out == f"negation: both sides right in {both} of 23 pairs\n"


def test_the_tables_are_those_of_the_records(capsys: Capture) -> None:
    before = stored()
    assert main(["tables"]) == 0
    assert stored() == before
    tables = (results.table(), results.seeds_table(), results.systems_table(), readme_table())
    assert capsys.readouterr().out == "\n\n".join(tables) + "\n"


# --- experiments -------------------------------------------------------------------------------


@pytest.fixture
def asked(monkeypatch: Patch) -> list[Any]:
    """What `run_experiment` is called with; it does nothing."""
    given: list[Any] = []

    def done(*arguments: Any, **options: Any) -> bool:
        given.extend([*arguments, options])
        return True

    monkeypatch.setattr(run, "run_experiment", done)
    return given


def test_an_experiment_has_its_own_places(asked: list[Any], kept: Path) -> None:
    assert main(["experiment", "captions"]) == 0
    record_file = kept / "experiments" / "captions.json"
    options = {"seeds": [1], "only": []}
    assert asked == [EXPERIMENTS["captions"], Path("runs/captions"), record_file, options]


def test_an_experiment_takes_other_places(
    asked: list[Any], installed: Path, tmp_path: Path
) -> None:
    out, file = tmp_path / "runs", tmp_path / "record.json"
    options = ["--seeds", "1", "2", "--only", "whole words", "--out", str(out)]
    assert main(["experiment", "captions", *options, "--record", str(file)]) == 0
    wanted = {"seeds": [1, 2], "only": ["whole words"]}
    assert asked == [EXPERIMENTS["captions"], out, file, wanted]


def test_an_unknown_experiment(capsys: Capture) -> None:
    assert main(["experiment", "caption"]) == 2
    assert "unknown experiment 'caption': did you mean 'captions'?" in capsys.readouterr().err


def stopped() -> bool:
    """As after one Ctrl-C."""
    return False


def stopped_at_once() -> bool:
    """As after the second one, or outside of training."""
    raise KeyboardInterrupt


@pytest.mark.parametrize("press", [stopped, stopped_at_once])
def test_ctrl_c_names_the_command_that_goes_on(
    press: Callable[[], bool], kept: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    monkeypatch.setattr(run, "run_experiment", lambda *_, **__: press())
    command = ["experiment", "captions", "--only", "whole words"]
    assert main(command) == 130
    out, err = capsys.readouterr()
    again = "python -m experiments experiment captions --only 'whole words'"
    if press is stopped:
        assert (out, err) == (f"stopped, all is kept; go on with: {again}\n", "")
    else:
        said = f"stopped at once; go on from what was last saved with: {again}\n"
        assert (out, err) == ("", said)
