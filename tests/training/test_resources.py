"""A model too large for the machine is refused before the work."""

import dataclasses
import shutil
from collections import namedtuple
from pathlib import Path

import pytest
import torch

from tests.helpers import TINY
from transformer.config import ModelConfig, Recipe, RecurrentConfig
from transformer.data.bpe import BPETokenizer
from transformer.models.folder import Description
from transformer.recipes.named import RECIPES
from transformer.support.errors import UserError
from transformer.training import resources
from transformer.training.resources import check_resources, memory
from transformer.training.runner import train_recipe

CPU = torch.device("cpu")
Usage = namedtuple("Usage", "total used free")


def described(recipe: Recipe) -> Description:
    return Description(recipe, BPETokenizer([]), BPETokenizer([]))


def of_width(model: ModelConfig | RecurrentConfig) -> Description:
    return described(dataclasses.replace(RECIPES["demo"], model=model))


SMALL = of_width(ModelConfig(d_model=6, d_ff=7, num_heads=3, num_layers=1, max_len=103))


def bytes_of_weights() -> int:
    return sum(parameter.nbytes for parameter in SMALL.build().parameters())


def test_the_machines_own_memory_is_found(tmp_path: Path) -> None:
    assert memory(CPU) > 100e6
    check_resources(SMALL, tmp_path / "run", CPU)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "model",
    [
        ModelConfig(d_model=2**16, d_ff=2**16, num_layers=1000),
        RecurrentConfig(hidden_size=2**16, embedding_size=2**16),
    ],
)
def test_a_giant_is_refused_without_being_made(
    model: ModelConfig | RecurrentConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resources, "memory", lambda device: 64 * 10**9)
    with pytest.raises(UserError, match=r"needs [\d,.]+ GB of memory .* cpu has 64\.0 GB: give"):
        check_resources(of_width(model), tmp_path, CPU)


@pytest.mark.parametrize("spare", [-1, 0])
def test_the_bounds_by_hand(spare: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    weights, tables = bytes_of_weights(), sum(each.nbytes for each in SMALL.build().buffers())
    monkeypatch.setattr(resources, "memory", lambda device: 4 * weights + tables + spare)
    if spare < 0:
        with pytest.raises(UserError, match="of memory at the least"):
            check_resources(SMALL, tmp_path, CPU)
    else:
        check_resources(SMALL, tmp_path, CPU)
    monkeypatch.setattr(resources, "memory", lambda device: 10**12)
    copies = 3 + 1 + 1 + SMALL.recipe.training.average_last
    usage = Usage(10**12, 0, copies * weights + spare)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage)
    if spare < 0:
        with pytest.raises(UserError, match=f"of checkpoints, and {tmp_path} has"):
            check_resources(SMALL, tmp_path / "not" / "yet", CPU)
        check_resources(SMALL, tmp_path, CPU, new=False)
    else:
        check_resources(SMALL, tmp_path / "not" / "yet", CPU)


@pytest.mark.parametrize(("device", "copies"), [("cpu", 3 * 5), ("cuda", 5)])
def test_several_processes_share_a_machines_memory_but_no_gpus(
    device: str, copies: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights, tables = bytes_of_weights(), sum(each.nbytes for each in SMALL.build().buffers())
    needed = copies * weights + (3 if device == "cpu" else 1) * tables
    monkeypatch.setattr(resources, "memory", lambda device: needed - 1)
    with pytest.raises(UserError, match="of memory at the least"):
        check_resources(SMALL, tmp_path, torch.device(device), processes_here=3)
    monkeypatch.setattr(resources, "memory", lambda device: needed)
    check_resources(SMALL, tmp_path, torch.device(device), processes_here=3)


def test_a_run_is_refused_before_its_first_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resources, "memory", lambda device: 1000)
    recipe = RECIPES["demo"].override({**TINY, "steps": "1"})
    with pytest.raises(UserError, match="of memory at the least"):
        train_recipe(recipe, tmp_path / "run", device=CPU, on_begin=lambda line: None)
    assert not (tmp_path / "run").exists()
