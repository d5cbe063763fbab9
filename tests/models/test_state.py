"""A run's state: saved and taken up again."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from transformer.config import Optimizer, TrainingConfig
from transformer.models.checkpoint import load_tensors, save_tensors
from transformer.models.state import load_state, restore, save_state
from transformer.support.errors import UserError
from transformer.training.optimizers import make_optimizers, set_rate

Optimizers = tuple[torch.optim.Optimizer, ...]
ADAM = TrainingConfig(learning_rate=0.1)
MUON = TrainingConfig(learning_rate=0.1, optimizer=Optimizer.MUON)


def parts(seed: int, config: TrainingConfig = ADAM) -> tuple[nn.Module, Optimizers]:
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(3, 5), nn.Dropout(0.5), nn.Linear(5, 2))
    return model, make_optimizers(model, config)


def learn(model: nn.Module, optimizers: Optimizers) -> None:
    model.zero_grad()
    model(torch.rand(7, 3)).square().sum().backward()
    set_rate(optimizers, 0.1)
    for optimizer in optimizers:
        optimizer.step()


@pytest.mark.parametrize("config", [ADAM, MUON])
def test_the_whole_state_comes_back(tmp_path: Path, config: TrainingConfig) -> None:
    path, cpu = tmp_path / "last.safetensors", torch.device("cpu")
    model, optimizers = parts(3, config)
    learn(model, optimizers)
    save_state(path, model, optimizers, cpu, progress={"step": 1})
    learn(model, optimizers)
    other, other_optimizers = parts(5, config)
    tensors, about = load_state(path)
    restore(tensors, other, other_optimizers, cpu, path, steps=1)
    assert about == {"progress": {"step": 1}}
    learn(other, other_optimizers)
    pairs = zip(model.parameters(), other.parameters(), strict=True)
    assert all(torch.equal(one, two) for one, two in pairs)
    assert torch.equal(torch.rand(3), _after_two_steps(config))


def _after_two_steps(config: TrainingConfig) -> torch.Tensor:
    model, optimizers = parts(3, config)
    learn(model, optimizers)
    learn(model, optimizers)
    return torch.rand(3)


def test_state_before_the_first_step(tmp_path: Path) -> None:
    path, cpu = tmp_path / "last.safetensors", torch.device("cpu")
    model, optimizers = parts(seed=3)
    save_state(path, model, optimizers, cpu)
    restore(load_state(path)[0], *parts(seed=5), cpu, path, steps=0)


def test_weights_only_are_no_state(tmp_path: Path) -> None:
    path = tmp_path / "last.safetensors"
    save_tensors(path, {"a": torch.ones(1)})
    with pytest.raises(UserError, match="holds weights only"):
        load_state(path)


Change = Callable[[dict[str, Tensor]], object]
NAN = float("nan")
DAMAGES: dict[str, tuple[Change, str]] = {
    "a shorter moment": (
        lambda t: t.update({"optimizer/0/exp_avg": t["optimizer/0/exp_avg"][:1].clone()}),
        r"optimizer/0/exp_avg has shape \(1, 3\) there and \(5, 3\) here",
    ),
    "a moment of another kind": (
        lambda t: t.update({"optimizer/1/exp_avg_sq": t["optimizer/1/exp_avg_sq"].half()}),
        r"optimizer/1/exp_avg_sq is torch.float16 there and torch.float32 here",
    ),
    "a moment that is no number": (
        lambda t: t["optimizer/2/exp_avg"].fill_(NAN),
        "optimizer/2/exp_avg holds a value that is not a finite number",
    ),
    "a moment too few": (lambda t: t.pop("optimizer/3/exp_avg"), "optimizer/3/exp_avg is missing"),
    "a moment of no parameter": (
        lambda t: t.update({"optimizer/17/step": torch.ones(())}),
        "optimizer/17/step is unknown here",
    ),
    "a step that is no number": (
        lambda t: t.update({"optimizer/0/step": torch.ones(2)}),
        r"optimizer/0/step has shape \(2,\) there",
    ),
    "a foreign part": (lambda t: t.update({"scaler": torch.ones(1)}), "scaler is unknown here"),
    "a weight of another kind": (
        lambda t: t.update({"model/0.bias": t["model/0.bias"].half()}),
        "0.bias is torch.float16 there",
    ),
    "a weight that is no number": (lambda t: t["model/0.bias"].fill_(NAN), "0.bias holds a value"),
    "short random numbers": (
        lambda t: t.update({"random/cpu": t["random/cpu"][:7].clone()}),
        r"random/cpu has shape \(7,\) there",
    ),
    "foreign random numbers": (lambda t: t["random/cpu"].fill_(255), "random numbers are not tor"),
}


def state_of(path: Path, model: nn.Module, optimizers: Optimizers) -> dict[str, Tensor]:
    save_state(path, model, optimizers, torch.device("cpu"))
    return {name: tensor.clone() for name, tensor in load_tensors(path)[0].items()}


@pytest.mark.parametrize("damage", DAMAGES)
def test_nothing_is_restored_of_a_state_that_does_not_fit(tmp_path: Path, damage: str) -> None:
    # A moment that is too short was written past its end: the process died.
    path, cpu = tmp_path / "last.safetensors", torch.device("cpu")
    model, optimizers = parts(seed=3)
    learn(model, optimizers)
    change, message = DAMAGES[damage]
    tensors = state_of(path, model, optimizers)
    change(tensors)
    other, other_optimizers = parts(seed=5)
    learn(other, other_optimizers)
    before = state_of(path, other, other_optimizers)
    with pytest.raises(UserError, match=f"last.safetensors .*{message}"):
        restore(tensors, other, other_optimizers, cpu, path, steps=1)
    after = state_of(path, other, other_optimizers)
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_a_state_without_its_optimizer_is_not_begun_anew(tmp_path: Path) -> None:
    path, cpu = tmp_path / "last.safetensors", torch.device("cpu")
    model, optimizers = parts(seed=3)
    learn(model, optimizers)
    tensors = state_of(path, model, optimizers)
    none = {name: tensor for name, tensor in tensors.items() if "optimizer" not in name}
    with pytest.raises(UserError, match="has no moments of the optimizer: put the run's own"):
        restore(none, *parts(seed=5), cpu, path, steps=1)


def test_a_state_with_one_parameters_moments_lost(tmp_path: Path) -> None:
    path = tmp_path / "last.safetensors"
    model, optimizers = parts(seed=3)
    learn(model, optimizers)
    save_state(path, model, optimizers, torch.device("cpu"))
    tensors, about = load_tensors(path)
    some = {name: tensor for name, tensor in tensors.items() if "optimizer/2" not in name}
    save_tensors(path, some, **about)
    with pytest.raises(UserError, match="has lost a part of its optimizer"):
        load_state(path)


def test_a_parameter_that_no_loss_depends_on_has_no_moments(tmp_path: Path) -> None:
    path, cpu = tmp_path / "last.safetensors", torch.device("cpu")

    def with_one_idle() -> tuple[nn.Module, Optimizers]:
        model, _ = parts(seed=3)
        model.idle = nn.Parameter(torch.ones(7))
        return model, make_optimizers(model, ADAM)

    model, optimizers = with_one_idle()
    learn(model, optimizers)
    save_state(path, model, optimizers, cpu)
    other, other_optimizers = with_one_idle()
    restore(load_state(path)[0], other, other_optimizers, cpu, path, steps=1)
    assert len(other_optimizers[0].state_dict()["state"]) == 4


def test_a_state_of_another_optimizer_is_refused(tmp_path: Path) -> None:
    path, cpu = tmp_path / "last.safetensors", torch.device("cpu")
    tensors = state_of(path, *_learned(MUON))
    with pytest.raises(UserError, match="optimizer/2/exp_avg is missing"):
        restore(tensors, *parts(seed=5), cpu, path, steps=1)


def _learned(config: TrainingConfig) -> tuple[nn.Module, Optimizers]:
    model, optimizers = parts(3, config)
    learn(model, optimizers)
    return model, optimizers
