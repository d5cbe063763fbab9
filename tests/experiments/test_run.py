"""Experiments, races and timed runs: what each changes, what is recorded, how one goes on."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import torch

from experiments import run as running
from experiments.plans import EXPERIMENTS, Experiment
from experiments.run import add_run_to_record, run_experiment
from lessonkit.records import scores_by_variant
from tests.helpers import TINY
from tests.helpers.corpus import small_corpus
from transformer.data import corpora
from transformer.data.tokenizers import BPETokenizer
from transformer.model import count_parameters
from transformer.models.folder import ModelDescription, read_recipe
from transformer.models.weights import load_tensors
from transformer.support.errors import UserError
from transformer.support.files import read_json, write_json
from transformer.training import devices
from transformer.training.devices import Precision
from transformer.training.recipe import train_recipe
from transformer.training.report import read_log

SMALL = Experiment(
    name="small",
    recipe="demo",
    budget=TINY
    | {"steps": "4", "validate_every": "2", "average_last": "2"}
    | {"warmup_steps": "1", "learning_rate_factor": "2"},  # so fast that the last is not the best
    variants={"as it is": {}, "with dropout": {"dropout": "0.5"}},
    measures=["beam", "greedy", "last", "test"],
)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpora, "load", small_corpus)


def test_each_variant_changes_what_it_says_and_no_more() -> None:
    for name, experiment in EXPERIMENTS.items():
        assert experiment.name == name
        base, *others = experiment.variants
        assert not experiment.variants[base]
        before = experiment.recipe_and_options(base, seed=7)[0]
        assert before.training.seed == 7
        options_before = experiment.recipe_and_options(base, seed=7)[1]
        for variant in others:
            after, options = experiment.recipe_and_options(variant, seed=7)
            changed = {
                key
                for section in ("data", "model", "training")
                for key, value in dataclasses.asdict(getattr(after, section)).items()
                if value != getattr(getattr(before, section), key)
            }
            changed |= {"parts"} if after.parts != before.parts else set()
            changed |= {
                key
                for key, value in dataclasses.asdict(options).items()
                if value != getattr(options_before, key)
            }
            own = set(experiment.variants[variant])
            if "recipe" in own:  # whose settings differ too
                own |= {"parts", "num_layers"}
            assert changed == own - {"precision", "recipe"}


def test_variants_of_equal_parameters_have_them_to_one_percent() -> None:
    tokenizer = BPETokenizer([])
    for name in ("modern", "modern_multi30k"):
        counts = {}
        with torch.device("meta"):
            for variant in EXPERIMENTS[name].variants:
                recipe, _ = EXPERIMENTS[name].recipe_and_options(variant, seed=1)
                network = ModelDescription(recipe, tokenizer, tokenizer).build()
                counts[variant] = count_parameters(network)
        base = next(iter(counts.values()))
        assert all(abs(count / base - 1) < 0.01 for count in counts.values()), counts


def test_what_is_recorded_as_bfloat16_is_not_computed_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No gain, with them or without.
    monkeypatch.setattr(devices, "_matrix_product_seconds", lambda numbers: 1.0)
    short = dataclasses.replace(SMALL, variants={"as it is": {}, "short": {"precision": "bf16"}})
    record = tmp_path / "record.json"
    with pytest.raises(UserError, match="'small' computes in bfloat16, for which this processor"):
        run_experiment(short, tmp_path / "runs", record)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_every_run_is_recorded_and_none_is_made_twice(tmp_path: Path) -> None:
    lines: list[str] = []
    record, out = tmp_path / "records" / "small.json", tmp_path / "runs"
    run_experiment(SMALL, out, record, seeds=[2, 1], on_line=lines.append)
    runs = read_json(record)["runs"]
    assert [(run["variant"], run["seed"]) for run in runs] == [
        (variant, seed) for variant in SMALL.variants for seed in (1, 2)
    ]
    assert runs[2]["changes"] == {"dropout": "0.5"}
    assert read_recipe(out / "1-1").model.dropout == 0.5
    assert runs[0]["training"]["steps"] == 4
    assert [step for step, _ in runs[0]["validation"]] == [2, 4]
    figures = runs[0]["figures"]
    beams = {way: each["beam_size"] for way, each in figures.items()}
    assert beams == {"beam": 4, "greedy": 1, "last": 1, "test": 4}
    assert len({run["figures"]["greedy"]["loss"] for run in runs}) == 4  # each another model
    final, last = (figures[way]["loss"] for way in ("greedy", "last"))
    assert final == pytest.approx(load_tensors(out / "0-1/model.safetensors")[1]["loss"], abs=1e-4)
    assert last == pytest.approx(read_log(out / "0-1/log.jsonl")[-1]["loss"], abs=1e-4)
    assert final != last

    lines.clear()
    written = (out / "0-1" / "model.safetensors").stat().st_mtime_ns
    record.unlink()
    run_experiment(SMALL, out, record, seeds=[1], only=["as it is"], on_line=lines.append)
    assert (out / "0-1" / "model.safetensors").stat().st_mtime_ns == written
    assert lines == ["run 1 of 1: as it is, seed 1"]
    assert read_json(record)["runs"] == runs[:1]


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_faults_are_switched_on_and_recorded(tmp_path: Path) -> None:
    budget = {**SMALL.budget, "average_last": "1"}
    variants: dict[str, dict[str, str]] = {"as it is": {}, "lost": {}}
    faults = {"lost": ("the decoder's self-attention is lost",)}
    small = dataclasses.replace(SMALL, budget=budget, variants=variants, faults=faults)
    record = tmp_path / "record.json"
    run_experiment(small, tmp_path / "runs", record, on_line=lambda _: None)
    sound, lost = read_json(record)["runs"]
    assert (sound["faults"], lost["faults"]) == ([], list(faults["lost"]))
    assert set(lost["figures"]) == {"beam", "greedy", "test"}  # nothing is averaged
    assert sound["figures"]["beam"]["loss"] != lost["figures"]["beam"]["loss"]
    told = [read_json(tmp_path / "runs" / folder / "faults.json") for folder in ("0-1", "1-1")]
    assert told == [sound["faults"], lost["faults"]]
    lines: list[str] = []
    run_experiment(small, tmp_path / "runs", record, on_line=lines.append)
    assert len(lines) == 2  # nothing is trained again
    (tmp_path / "runs" / "1-1" / "faults.json").unlink()
    with pytest.raises(UserError, match="1-1 holds another run than 'lost' with seed 1: choose"):
        run_experiment(small, tmp_path / "runs", record)


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_a_stopped_run_goes_on(tmp_path: Path) -> None:
    recipe, _ = SMALL.recipe_and_options("as it is", 1)
    train_recipe(recipe, tmp_path / "0-1", stop_after=2, precision=Precision.FLOAT32)
    record = tmp_path / "record.json"
    run_experiment(SMALL, tmp_path, record, only=["as it is"], on_line=lambda _: None)
    steps = [row["step"] for row in read_log(tmp_path / "0-1" / "log.jsonl")]
    assert max(steps) == 4
    assert steps == sorted(steps)


@pytest.mark.usefixtures("quick")
def test_a_folder_of_another_run_is_refused_before_any_training(tmp_path: Path) -> None:
    recipe = SMALL.recipe_and_options("as it is", 1)[0]
    reworded = dataclasses.replace(recipe, about="the same in other words")
    train_recipe(reworded, tmp_path / "0-1", stop_after=1)
    running.check_run_folder(tmp_path / "0-1", SMALL, "as it is", 1)
    lines: list[str] = []
    others: list[tuple[dict[str, Any], str]] = [
        ({"variants": {"new": {"dropout": "0.3"}, **SMALL.variants}}, "new"),
        ({"budget": {**SMALL.budget, "steps": "6"}}, "as it is"),
        ({"faults": {"as it is": ("padding is attended to",)}}, "as it is"),
    ]
    for changes, variant in others:
        other, record = dataclasses.replace(SMALL, **changes), tmp_path / "record.json"
        with pytest.raises(UserError, match=f"0-1 holds another run than '{variant}' with seed 1"):
            run_experiment(other, tmp_path, record, seeds=[2, 1], on_line=lines.append)
    assert not lines
    assert [path.name for path in tmp_path.iterdir()] == ["0-1"]
    write_json(tmp_path / "0-1" / "faults.json", ["padding is attended to"])
    with pytest.raises(UserError, match="0-1 holds another run"):
        running.check_run_folder(tmp_path / "0-1", SMALL, "as it is", 1)


def run(variant: str, seed: int, score: float) -> dict[str, object]:
    return {
        "variant": variant,
        "seed": seed,
        "figures": {"greedy": {"bleu": {"score": score}}, "beam": {"bleu": {"score": score + 1}}},
    }


def test_a_run_takes_the_place_of_an_earlier_one(tmp_path: Path) -> None:
    record, dropped = tmp_path / "record.json", "with dropout"
    for one in ((dropped, 1, 30.0), ("as it is", 3, 2.0), ("as it is", 1, 1.0), (dropped, 1, 31.0)):
        add_run_to_record(record, SMALL, run(*one))
    assert scores_by_variant(read_json(record), "greedy") == {
        "as it is": [1.0, 2.0],
        dropped: [31.0],
    }


def test_a_record_that_does_not_fit_is_refused_before_any_training(tmp_path: Path) -> None:
    today = "no record of 'small' with its recipe and budget of today"
    refused: list[tuple[dict[str, Any], str]] = [
        ({"variants": {"as it was": {}}}, "a run of 'as it was', which is no variant of 'small'"),
        ({"budget": {"steps": "3"}}, today),
        ({"name": "large"}, today),
    ]
    for number, (earlier, message) in enumerate(refused):
        other = dataclasses.replace(SMALL, **earlier)
        record = tmp_path / f"{number}.json"
        add_run_to_record(record, other, run(next(iter(other.variants)), 1, 1.0))
        before = record.read_bytes()
        with pytest.raises(UserError, match=message):
            run_experiment(SMALL, tmp_path / "runs", record)
        assert record.read_bytes() == before
    write_json(tmp_path / "list.json", [])
    for record, message in (
        (tmp_path / "list.json", r"list\.json is no record of 'small'"),
        (tmp_path, "is a folder or a device: give"),
    ):
        with pytest.raises(UserError, match=message):
            run_experiment(SMALL, tmp_path / "runs", record)
    with pytest.raises(UserError, match="unknown variant 'with droput': did you mean 'with dropo"):
        run_experiment(SMALL, tmp_path / "runs", tmp_path / "new.json", only=["with droput"])
    assert not (tmp_path / "runs").exists()
