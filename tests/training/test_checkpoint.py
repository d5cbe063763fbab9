"""A run's state: saved and taken up again, or refused before anything is changed for good."""

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from transformer.config import TrainingConfig
from transformer.models.folder import load_tensors
from transformer.support.errors import UserError
from transformer.training.checkpoint import State, require_same
from transformer.training.devices import Precision
from transformer.training.loop import new_state

SETTINGS = {"steps": 3, "d_model": 5}


def fresh(seed: int) -> State:
    """A network, of which no loss depends on one parameter, and what it is trained with."""
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(3, 5), nn.Dropout(0.5), nn.Linear(5, 2))
    model.idle = nn.Parameter(torch.ones(7))
    state = new_state(model, TrainingConfig(), Precision.FP16)
    state.optimizer.param_groups[0]["lr"] = 0.1
    return state


def learn(state: State) -> Tensor:
    state.model.zero_grad()
    state.scaler.scale(state.model(torch.rand(7, 3)).square().sum()).backward()
    state.scaler.step(state.optimizer)
    state.scaler.update(new_scale=state.scaler.get_scale() / 2)
    return torch.rand(3)


def saved(path: Path, steps: int = 1) -> State:
    state = fresh(seed=3)
    for _ in range(steps):
        learn(state)
    state.progress.step, state.progress.best_loss = steps, 1.5
    state.save(path, SETTINGS)
    return state


@pytest.mark.parametrize("steps", [0, 1])
def test_the_whole_state_comes_back(tmp_path: Path, steps: int) -> None:
    path = tmp_path / "last.safetensors"
    state = saved(path, steps)
    drawn, other = learn(state), fresh(seed=5)
    other.restore(*load_tensors(path), path)
    assert other.progress == state.progress
    assert torch.equal(learn(other), drawn)
    assert other.scaler.get_scale() == state.scaler.get_scale() == 2**16 / 2 ** (steps + 1)
    for one, two in zip(state.model.parameters(), other.model.parameters(), strict=True):
        assert torch.equal(one, two)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"name": "b", "model": {"d_model": 8}}, "begun with name=a and cannot go on with name=b"),
        ({"name": "a", "model": {"d_model": 7}}, "d_model=8 and cannot go on with d_model=7"),
        ({"name": "a", "model": {"d_model": 8}, "new": 1}, "new=None and cannot go on with new=1"),
        ({"model": {"d_model": 8}}, "name=a and cannot go on with name=None"),
    ],
)
def test_only_the_steps_may_be_others(given: dict[str, object], message: str) -> None:
    begun = {"name": "a", "model": {"d_model": 8}}
    require_same(begun | {"steps": 5}, begun | {"steps": 7})
    with pytest.raises(UserError, match=message):
        require_same(begun, given)
