"""A checkpoint that was edited is refused in a line, before anything of it is restored.

The optimizer is not the fused one: where a check is missing, it raises an error or goes on.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from tests.helpers.tiny_training import Tiny, assert_same_runs, file_contents, run_tiny
from transformer.models.folder import LAST
from transformer.models.weights import load_tensors, save_tensors
from transformer.support.errors import UserError
from transformer.training.checkpoint_checks import optimizer_state_specs, settings_form_problem
from transformer.training.devices import Precision

Tensors = dict[str, Tensor]
About = dict[str, Any]
Edit = Callable[[Tensors, About], Any]


def slow_adam(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.Adam(model.parameters(), lr=0.0, foreach=False)


OPTIONS: dict[str, Any] = {"optimizer": slow_adam, "schedule": lambda step: 0.01}


@pytest.fixture(scope="module")
def stopped_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run that was stopped after 4 of its 12 steps."""
    out = tmp_path_factory.mktemp("stopped")
    run_tiny(out, Tiny(), stop_after=4, **OPTIONS)
    return out


def change(name: str, edit: Callable[[Tensor], Tensor]) -> Edit:
    return lambda tensors, about: tensors.update({name: edit(tensors[name]).contiguous()})


def first(value: float) -> Callable[[Tensor], Tensor]:
    """Return what puts a value in a tensor's first place."""
    return lambda tensor: tensor.index_fill(0, torch.tensor(0), value)


def say(*path: str, value: Any) -> Edit:
    def edit(tensors: Tensors, about: About) -> None:
        for key in path[:-1]:
            about = about[key]
        about[path[-1]] = value

    return edit


MOMENT, SQUARE, STEP = (f"optimizer/1/{key}" for key in ("exp_avg", "exp_avg_sq", "step"))
EDITS: dict[str, tuple[Edit, str]] = {
    "a moment with a row too few": (
        change(MOMENT, lambda t: t[1:]), r"parameter 1: exp_avg is float32 of shape \(22, 16\), not"
    ),
    "a moment turned over": (change(MOMENT, lambda t: t.T), r"exp_avg is .*\(16, 23\)"),
    "a moment in halves": (change(MOMENT, Tensor.half), "exp_avg is float16 .*, not float32"),
    "a moment of nan": (change(MOMENT, first(torch.nan)), "parameter 1: exp_avg holds nan"),
    "an infinite moment": (change(SQUARE, first(torch.inf)), "exp_avg_sq holds an infinite"),
    "a square below 0": (change(SQUARE, first(-1.0)), "exp_avg_sq, .*, holds a number below 0"),
    "a counter below 0": (change(STEP, lambda t: t - 9), r"step is -5\.0, .* done 4 steps"),
    "a counter past the run": (change(STEP, lambda t: t + 1), r"step is 5\.0, .* done 4 steps"),
    "a broken counter": (change(STEP, lambda t: t - 0.5), r"step is 3\.5, .* done 4 steps"),
    "a counter as a list": (change(STEP, lambda t: t.reshape(1)), r"step is .*\(1,\), not float"),
    "no moment": (lambda t, a: t.pop(MOMENT), "parameter 1: exp_avg is missing"),
    "no state of a parameter": (
        lambda t, a: [t.pop(name) for name in (MOMENT, SQUARE, STEP)],
        "parameter 1: exp_avg is missing",
    ),
    "a moment too many": (
        lambda t, a: t.update({"optimizer/1/speed": torch.ones(7)}),
        "parameter 1: speed is unknown here",
    ),
    "a parameter too many": (
        lambda t, a: t.update({"optimizer/29/exp_avg": torch.ones(7)}), "there are 4 parameters"
    ),
    "a foreign tensor": (lambda t, a: t.update({"other": torch.ones(7)}), "'other' is unknown"),
    "a weight in 64 bits": (
        change("model/mix.weight", Tensor.double), r"mix\.weight is torch\.float64, not"
    ),
    "a weight of nan": (change("model/mix.bias", first(torch.nan)), r"mix\.bias holds nan"),
    "no generator": (lambda t, a: t.pop("random/cpu"), "random/cpu is missing"),
    "a short generator": (change("random/cpu", lambda t: t[1:]), "random/cpu is uint8 of shape"),
    "a generator of zeros": (
        change("random/cpu", torch.zeros_like), "random/cpu is no state of a random generator"
    ),
    "a scaler": (say("scaler", value={"scale": 2.0}), "scaler is .*'scale': 2.0"),
    "no progress": (lambda t, a: a.pop("progress"), "progress is None"),
    "a step below 0": (say("progress", "step", value=-1), "step is -1"),
    "a step as text": (say("progress", "step", value="4"), "step is '4'"),
    "more batches than steps": (say("progress", "batch", value=5), "batch is 5 after 4 steps"),
    "a best step to come": (say("progress", "best_step", value=7), "best_step is 7 after 4"),
    "a best loss of no step": (say("progress", "best_step", value=None), "best_loss is .* after 4"),
    "averages out of order": (say("progress", "to_average", value=[4, 3]), r"to_average is \[4, 3"),
    "an unknown count": (say("progress", "speed", value=1), "progress has speed, which is unknown"),
    "no count": (lambda t, a: a["progress"].pop("seconds"), "no seconds"),
    "settings as a list": (say("settings", value=[]), r"settings are \[\]"),
    "plain numbers as text": (say("plain_numbers", value="x"), "plain_numbers is 'x'"),
    "a vector as a plain number": (
        say("plain_numbers", value=[MOMENT, STEP]), r"step is 4\.0, not float32"
    ),
    "words for the parameters without state": (
        say("without_state", value=["x"]), r"without_state is \['x'\]"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EDITS)
def test_an_edited_checkpoint_is_refused_and_nothing_restored(
    stopped_run: Path, tmp_path: Path, name: str
) -> None:
    edit, message = EDITS[name]
    tensors, about = load_tensors(stopped_run / LAST)
    edit(tensors, about)
    save_tensors(tmp_path / LAST, tensors, **about)
    before, model = file_contents(tmp_path), Tiny()
    with pytest.raises(UserError, match=rf"last\.safetensors .*{message}") as refusal:
        run_tiny(tmp_path, model, resume=True, **OPTIONS)
    assert "\n" not in str(refusal.value)
    assert file_contents(tmp_path) == before
    assert all(
        torch.equal(a, b) for a, b in zip(model.parameters(), Tiny().parameters(), strict=True)
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [("scale", 0.0), ("scale", "big"), ("growth_factor", 3.0), ("_growth_tracker", -1)],
)
def test_a_scaler_that_was_edited_is_refused(tmp_path: Path, name: str, value: Any) -> None:
    options = OPTIONS | {"precision": Precision.FP16}
    run_tiny(tmp_path, Tiny(), stop_after=2, **options)
    tensors, about = load_tensors(tmp_path / LAST)
    about["scaler"][name] = value
    save_tensors(tmp_path / LAST, tensors, **about)
    with pytest.raises(UserError, match=rf"last\.safetensors .*the scaler's {name} is {value!r}"):
        run_tiny(tmp_path, Tiny(), resume=True, **options)


@pytest.mark.parametrize("where", ["tensor", "tensor, without the sum", "metadata"])
def test_values_that_fit_but_were_changed_by_another_program_are_refused(
    stopped_run: Path, tmp_path: Path, where: str
) -> None:
    tensors = load_file(stopped_run / LAST)
    with safe_open(stopped_run / LAST, framework="pt") as file:
        about = json.loads(file.metadata()["about"])
    (tmp_path / LAST).parent.mkdir()
    if where.startswith("tensor"):
        tensors[MOMENT] *= 2
    if where.endswith("without the sum"):
        del about["sha256"]
    if where == "metadata":
        about["progress"]["best_loss"] /= 2
    save_file(tensors, tmp_path / LAST, {"about": json.dumps(about)})
    with pytest.raises(UserError, match=r"last\.safetensors is damaged: .* check sum"):
        run_tiny(tmp_path, Tiny(), resume=True, **OPTIONS)


def test_looking_at_what_an_optimizer_keeps_changes_nothing(tmp_path: Path) -> None:
    model = Tiny()
    model.mix.bias.requires_grad_(False)
    groups = [
        {"params": [model.embedding.weight], "lr": 0.7},
        {"params": [model.mix.weight, model.mix.bias], "lr": 0.3},
    ]
    optimizer = torch.optim.AdamW(groups, weight_decay=0.5)
    model.embedding.weight.grad = torch.ones_like(model.embedding.weight)
    optimizer.step()
    before = optimizer.state_dict()
    weights = [parameter.detach().clone() for parameter in model.parameters()]
    specs = optimizer_state_specs(optimizer)
    assert [sorted(spec) for spec in specs] == [["exp_avg", "exp_avg_sq", "step"]] * 2 + [[]]
    assert specs[1]["exp_avg_sq"] == ((16, 32), torch.float32)
    assert optimizer.state_dict()["param_groups"] == before["param_groups"]
    assert optimizer.state_dict()["state"].keys() == {0}
    assert optimizer.state[model.embedding.weight]["step"] == 1
    assert all(map(torch.equal, model.parameters(), weights))


def test_settings_of_a_wrong_form_are_not_compared() -> None:
    fit: dict[str, Any] = {"d_model": 8, "precision": "float32"}
    fit |= {"parameter_groups": [{"eps": 1e-8}], "learning_rates": {"1": 0.5}}
    assert settings_form_problem(fit) == ""
    for name, value in (
        ("parts", []), ("extra_settings", "x"), ("parameter_groups", ["x"]),
        ("learning_rates", {"one": 0.5}), ("learning_rates", {"1": "fast"}),
    ):  # fmt: skip
        assert name in settings_form_problem(fit | {name: value})
    assert "d_model" in settings_form_problem({"precision": "float32"})


def test_a_checkpoint_from_before_check_sums_is_resumed(stopped_run: Path, tmp_path: Path) -> None:
    run_tiny(tmp_path / "1", Tiny(), **OPTIONS)
    run_tiny(tmp_path / "2", Tiny(), stop_after=4, **OPTIONS)
    tensors, about = load_tensors(tmp_path / "2" / LAST)
    assert "sha256" not in about
    # A file with a format version has a sum.
    del about["format"]
    save_file(tensors, tmp_path / "2" / LAST, {"about": json.dumps(about)})
    run_tiny(tmp_path / "2", Tiny(), resume=True, **OPTIONS)
    assert_same_runs(tmp_path / "1", tmp_path / "2")
