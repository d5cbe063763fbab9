"""Experiments: what each run changes, what is recorded, and how a stopped one goes on."""

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import TINY
from test_runner import small_corpus

from transformer import experiments
from transformer.data import corpora
from transformer.errors import UserError
from transformer.experiments import EXPERIMENTS, Experiment, add_run, run_experiment, scores
from transformer.files import read_json
from transformer.model_folder import read_recipe
from transformer.training.checkpoint import load_tensors
from transformer.training.log import read_log
from transformer.training.runner import train_recipe

SMALL = Experiment(
    name="small",
    recipe="demo",
    budget=TINY
    | {"steps": "4", "validate_every": "2", "average_last": "2"}
    | {"warmup_steps": "1", "learning_rate_factor": "2"},  # so fast that the last is not the best
    variants={"as it is": {}, "with dropout": {"dropout": "0.5"}},
)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpora, "load", small_corpus)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_each_variant_changes_what_it_says_and_no_more(name: str) -> None:
    experiment = experiments.find(name)
    assert experiment.name == name
    base, *others = experiment.variants
    assert not experiment.variants[base]
    before = experiment.run_recipe(base, seed=7)
    assert before.training.seed == 7
    for variant in others:
        after = experiment.run_recipe(variant, seed=7)
        changed = {
            key
            for section in ("data", "model", "training")
            for key, value in dataclasses.asdict(getattr(after, section)).items()
            if value != getattr(getattr(before, section), key)
        }
        assert changed == set(experiment.variants[variant])


@pytest.mark.usefixtures("quick")
def test_every_run_is_recorded_and_none_is_made_twice(tmp_path: Path) -> None:
    lines: list[str] = []
    record = tmp_path / "records" / "small.json"
    out = tmp_path / "runs"
    assert run_experiment(SMALL, out, record, seeds=[2, 1], on_line=lines.append)
    runs = read_json(record)["runs"]
    assert [(run["variant"], run["seed"]) for run in runs] == [
        ("as it is", 1),
        ("as it is", 2),
        ("with dropout", 1),
        ("with dropout", 2),
    ]
    assert runs[2]["changes"] == {"dropout": "0.5"}
    assert read_recipe(out / "1-1").model.dropout == 0.5
    assert runs[0]["training"]["steps"] == 4
    assert [step for step, _ in runs[0]["validation"]] == [2, 4]
    assert set(runs[0]["figures"]) == {"beam", "greedy", "last"}
    assert [runs[0]["figures"][way]["beam_size"] for way in ("beam", "greedy")] == [4, 1]
    losses = {run["figures"]["greedy"]["loss"] for run in runs}
    assert len(losses) == 4  # other seeds and other settings are other models
    final, last = (runs[0]["figures"][way]["loss"] for way in ("greedy", "last"))
    assert final == pytest.approx(load_tensors(out / "0-1/model.safetensors")[1]["loss"], abs=1e-4)
    assert last == pytest.approx(read_log(out / "0-1/log.jsonl")[-1]["loss"], abs=1e-4)
    assert final != last
    assert any("with dropout, seed 2" in line for line in lines)

    lines.clear()
    written = (out / "0-1" / "model.safetensors").stat().st_mtime_ns
    record.unlink()
    assert run_experiment(SMALL, out, record, seeds=[1], only=["as it is"], on_line=lines.append)
    assert (out / "0-1" / "model.safetensors").stat().st_mtime_ns == written
    assert lines == ["run 1 of 1: as it is, seed 1"]
    assert read_json(record)["runs"] == runs[:1]


@pytest.mark.usefixtures("quick")
def test_faults_are_switched_on_and_recorded(tmp_path: Path) -> None:
    budget = {**SMALL.budget, "average_last": "1"}
    variants = {"as it is": {}, "lost": {}}
    faults = {"lost": ("the decoder's self-attention is lost",)}
    small = dataclasses.replace(SMALL, budget=budget, variants=variants, faults=faults)
    record = tmp_path / "record.json"
    assert run_experiment(small, tmp_path / "runs", record, on_line=lambda _: None)
    sound, lost = read_json(record)["runs"]
    assert (sound["faults"], lost["faults"]) == ([], list(faults["lost"]))
    assert set(lost["figures"]) == {"beam", "greedy"}  # nothing is averaged
    assert sound["figures"]["beam"]["loss"] != lost["figures"]["beam"]["loss"]


@pytest.mark.usefixtures("quick")
def test_a_stopped_run_goes_on(tmp_path: Path) -> None:
    train_recipe(SMALL.run_recipe("as it is", 1), tmp_path / "0-1", stop_after=2)
    record = tmp_path / "record.json"
    run_experiment(SMALL, tmp_path, record, only=["as it is"], on_line=lambda _: None)
    steps = [row["step"] for row in read_log(tmp_path / "0-1" / "log.jsonl")]
    assert max(steps) == 4
    assert steps == sorted(steps)


def run(variant: str, seed: int, score: float) -> dict[str, object]:
    return {
        "variant": variant,
        "seed": seed,
        "figures": {"greedy": {"bleu": {"score": score}}, "beam": {"bleu": {"score": score + 1}}},
    }


def test_a_run_takes_the_place_of_an_earlier_one(tmp_path: Path) -> None:
    record = tmp_path / "record.json"
    for one in (run("with dropout", 1, 30.0), run("as it is", 3, 2.0), run("as it is", 1, 1.0)):
        add_run(record, SMALL, one)
    add_run(record, SMALL, run("with dropout", 1, 31.0))
    assert scores(read_json(record)) == {"as it is": [1.0, 2.0], "with dropout": [31.0]}
    assert scores(read_json(record), "beam") == {"as it is": [2.0, 3.0], "with dropout": [32.0]}


def test_unknown_names(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="did you mean 'captions'"):
        experiments.find("caption")
    with pytest.raises(UserError, match="unknown variant 'with droput': did you mean 'with dropo"):
        run_experiment(SMALL, tmp_path, tmp_path / "record.json", only=["with droput"])
    assert not list(tmp_path.iterdir())


def test_from_the_command_line() -> None:
    command = [sys.executable, "-m", "transformer.experiments"]
    helped = subprocess.run([*command, "--help"], capture_output=True, text=True, check=True)
    assert "captions" in helped.stdout
    refused = subprocess.run([*command, "nothing"], capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert refused.stderr.startswith("error: unknown experiment 'nothing'")
