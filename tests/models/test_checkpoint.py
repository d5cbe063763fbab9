"""Weights: saved and loaded as they were, refused where they do not fit, averaged by hand."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from transformer.models.checkpoint import (
    average,
    load_tensors,
    load_weights,
    save_tensors,
    weights,
)
from transformer.support.errors import UserError


class Tied(nn.Module):
    """An embedding whose weight is the output's too, and a buffer."""

    def __init__(self, vocab_size: int = 7, tie: bool = True) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, 5)
        self.output = nn.Linear(5, vocab_size, bias=False)
        if tie:
            self.output.weight = self.embedding.weight
        self.register_buffer("count", torch.tensor(3))


def path_of(folder: Path, **tensors: Tensor) -> Path:
    path = folder / "-".join(tensors) / f"{len(list(folder.rglob('*')))}.safetensors"
    save_tensors(path, tensors)
    return path


def test_tensors_and_what_is_said_come_back(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.safetensors"
    tensors = {
        "float": torch.randn(2, 3).T,
        "narrow": torch.randn(5).bfloat16(),
        "bytes": torch.arange(7, dtype=torch.uint8),
        "count": torch.tensor(11),
        "empty": torch.zeros(0, 13),
    }
    about = {"step": 17, "loss": 0.1 + 0.2, "nothing": None, "deep": {"a": [1.5, "é"]}}
    save_tensors(path, tensors, **about)
    loaded, said = load_tensors(path)
    assert said == about
    assert loaded.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert loaded[name].dtype == tensor.dtype
        assert torch.equal(loaded[name], tensor)


def test_tied_weights_are_saved_once_and_stay_tied(tmp_path: Path) -> None:
    model, other = Tied(), Tied()
    assert set(weights(model)) == {"embedding.weight", "count"}
    path = tmp_path / "tied.safetensors"
    save_tensors(path, weights(model))
    load_weights(other, load_tensors(path)[0], path)
    assert torch.equal(other.output.weight, model.embedding.weight)
    assert other.output.weight is other.embedding.weight


@pytest.mark.parametrize(
    ("saved", "given", "problem"),
    [
        (Tied(7), Tied(7, tie=False), "output.weight is missing"),
        (Tied(7, tie=False), Tied(7), "output.weight is unknown here"),
        (Tied(7), Tied(11), r"embedding.weight has shape \(7, 5\) there and \(11, 5\) here"),
    ],
)
def test_weights_of_another_model(saved: Tied, given: Tied, problem: str) -> None:
    before = {name: tensor.clone() for name, tensor in given.state_dict().items()}
    with pytest.raises(UserError, match=f"a.safetensors does not fit this model: {problem}"):
        load_weights(given, weights(saved), Path("a.safetensors"))
    assert all(torch.equal(before[name], tensor) for name, tensor in given.state_dict().items())


def test_a_runs_whole_state_is_not_its_weights() -> None:
    state = {"model/embedding.weight": torch.ones(7, 5), "random/cpu": torch.ones(3)}
    with pytest.raises(
        UserError, match=r"last\.safetensors holds a run's state: give best\.safetensors or a step_"
    ):
        load_weights(Tied(), state, Path("last.safetensors"))


def test_what_is_no_whole_file_is_not_read(tmp_path: Path) -> None:
    whole = path_of(tmp_path, a=torch.randn(101), b=torch.randn(103)).read_bytes()
    path = tmp_path / "model.safetensors"
    with pytest.raises(UserError, match=r"no file .*model\.safetensors"):
        load_tensors(path)
    shares = [whole[: int(share * len(whole))] for share in (0, 0.001, 0.1, 0.5, 0.999)]
    for content in (*shares, b"\x80\x04pickled", b"PK\x03\x04" * 50, b"{}", b"\xff" * 99):
        path.write_bytes(content)
        with pytest.raises(UserError, match="is cut short or not a safetensors file"):
            load_tensors(path)
    save_file({"a": torch.ones(3)}, path, {"about": "half"})
    with pytest.raises(UserError, match="is cut short or not a safetensors file"):
        load_tensors(path)


def test_equal_weights_make_equal_files(tmp_path: Path) -> None:
    # The library writes the entries of the metadata in an order that chance decides.
    files = [tmp_path / f"{number}.safetensors" for number in range(7)]
    for path in files:
        save_tensors(path, {"a": torch.ones(3)}, step=17, loss=0.25, kept="best", seed=1)
    assert len({path.read_bytes() for path in files}) == 1


def test_half_precision_is_loaded() -> None:
    model = Tied()
    halves = {name: t.half() if t.is_floating_point() else t for name, t in weights(model).items()}
    load_weights(model, halves, Path("a.safetensors"))
    assert torch.equal(model.embedding.weight, halves["embedding.weight"].float())


def test_average_by_hand(tmp_path: Path) -> None:
    paths = [path_of(tmp_path, a=torch.tensor([x, 2 * x])) for x in (1.0, 2.0, 6.0)]
    assert torch.equal(average(paths)["a"], torch.tensor([3.0, 6.0]))
    assert torch.equal(average(paths[:1])["a"], torch.tensor([1.0, 2.0]))


def test_average_keeps_small_differences(tmp_path: Path) -> None:
    # In float32 each sum with 2 ** 24 would lose the ones.
    paths = [path_of(tmp_path, a=torch.tensor([x])) for x in (2.0**24, 1.0, 1.0, 2.0)]
    mean = average(paths)["a"]
    assert mean.dtype == torch.float32
    assert mean.item() == (2**24 + 4) / 4
