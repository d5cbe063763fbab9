from pathlib import Path

import pytest
import torch
from torch import nn

from transformer.support.errors import UserError
from transformer.trained.checkpoint import save_tensors
from transformer.trained.folder import RunFolder


def folder_with(tmp_path: Path, *steps: int) -> RunFolder:
    folder = RunFolder(tmp_path)
    for step in steps:
        save_tensors(folder.step_file(step), {"a": torch.ones(1)})
    return folder


def test_step_files_come_in_the_order_of_their_steps(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, 500, 1_000_000, 20, 999_999)
    names = ["step_000020", "step_000500", "step_999999", "step_1000000"]
    assert [path.stem for path in folder.step_files()] == names


@pytest.mark.parametrize(
    ("newest", "up_to", "left"),
    [(2, 13, [11, 13]), (2, 12, [7, 11]), (5, 13, [5, 7, 11, 13]), (1, 4, []), (3, 0, [])],
)
def test_only_the_newest_before_a_step_are_left(
    tmp_path: Path, newest: int, up_to: int, left: list[int]
) -> None:
    folder = folder_with(tmp_path, 5, 7, 11, 13)
    folder.drop_step_files(newest=newest, up_to=up_to)
    assert folder.step_files() == [folder.step_file(step) for step in left]


@pytest.mark.parametrize("name", ["last", "best", "model", "step"])
def test_any_weights_are_seen(tmp_path: Path, name: str) -> None:
    folder = RunFolder(tmp_path)
    assert not folder.holds_weights()
    path = folder.step_file(3) if name == "step" else getattr(folder, name)
    save_tensors(path, {"a": torch.ones(1)})
    assert folder.holds_weights()


@pytest.mark.parametrize("resume", [False, True])
def test_no_weights_are_overwritten(tmp_path: Path, resume: bool) -> None:
    folder = RunFolder(tmp_path)
    folder.check(resume)  # nothing is here
    save_tensors(folder.model, {"a": torch.ones(1)})
    with pytest.raises(UserError, match=r"no checkpoints/last\.safetensors to go on from: choose"):
        folder.check(resume)


def test_a_run_is_gone_on_with_only_if_asked_for(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    save_tensors(folder.last, {"a": torch.ones(1)})
    folder.check(resume=True)
    with pytest.raises(UserError, match="already holds a run: resume it"):
        folder.check(resume=False)


def parts(seed: int) -> tuple[nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(3, 5), nn.Dropout(0.5), nn.Linear(5, 2))
    return model, torch.optim.AdamW(model.parameters(), lr=0.1, fused=True)


def learn(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    optimizer.zero_grad()
    model(torch.rand(7, 3)).square().sum().backward()
    optimizer.step()


def test_the_whole_state_comes_back(tmp_path: Path) -> None:
    folder, cpu = RunFolder(tmp_path), torch.device("cpu")
    model, optimizer = parts(seed=3)
    learn(model, optimizer)
    folder.save_state(model, optimizer, cpu, progress={"step": 1})
    learn(model, optimizer)
    other, other_optimizer = parts(seed=5)
    tensors, about = folder.load_state()
    folder.restore(tensors, other, other_optimizer, cpu)
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
    folder, cpu = RunFolder(tmp_path), torch.device("cpu")
    model, optimizer = parts(seed=3)
    folder.save_state(model, optimizer, cpu)
    folder.restore(folder.load_state()[0], *parts(seed=5), cpu)


def test_weights_only_are_no_state(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    save_tensors(folder.last, {"a": torch.ones(1)})
    with pytest.raises(UserError, match="holds weights only"):
        folder.load_state()
