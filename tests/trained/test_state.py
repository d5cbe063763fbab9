"""A run's state: saved and taken up again."""

from pathlib import Path

import pytest
import torch
from torch import nn

from transformer.support.errors import UserError
from transformer.trained.checkpoint import save_tensors
from transformer.trained.state import load_state, restore, save_state


def parts(seed: int) -> tuple[nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(3, 5), nn.Dropout(0.5), nn.Linear(5, 2))
    return model, torch.optim.AdamW(model.parameters(), lr=0.1, fused=True)


def learn(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    optimizer.zero_grad()
    model(torch.rand(7, 3)).square().sum().backward()
    optimizer.step()


def test_the_whole_state_comes_back(tmp_path: Path) -> None:
    path, cpu = tmp_path / "last.safetensors", torch.device("cpu")
    model, optimizer = parts(seed=3)
    learn(model, optimizer)
    save_state(path, model, optimizer, cpu, progress={"step": 1})
    learn(model, optimizer)
    other, other_optimizer = parts(seed=5)
    tensors, about = load_state(path)
    restore(tensors, other, other_optimizer, cpu, path)
    assert about == {"progress": {"step": 1}}
    learn(other, other_optimizer)
    pairs = zip(model.parameters(), other.parameters(), strict=True)
    assert all(torch.equal(one, two) for one, two in pairs)
    assert torch.equal(torch.rand(3), _after_two_steps())


def _after_two_steps() -> torch.Tensor:
    model, optimizer = parts(seed=3)
    learn(model, optimizer)
    learn(model, optimizer)
    return torch.rand(3)


def test_state_before_the_first_step(tmp_path: Path) -> None:
    path, cpu = tmp_path / "last.safetensors", torch.device("cpu")
    model, optimizer = parts(seed=3)
    save_state(path, model, optimizer, cpu)
    restore(load_state(path)[0], *parts(seed=5), cpu, path)


def test_weights_only_are_no_state(tmp_path: Path) -> None:
    path = tmp_path / "last.safetensors"
    save_tensors(path, {"a": torch.ones(1)})
    with pytest.raises(UserError, match="holds weights only"):
        load_state(path)
