"""A model's folder: read back as written, or refused for a reason."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from transformer.data import tokenizers
from transformer.models import folder as model_folder
from transformer.models.folder import WEIGHTS
from transformer.models.weights import (
    average_weights,
    load_tensors,
    load_weights,
    model_weights,
    save_tensors,
)
from transformer.recipes import find_recipe
from transformer.support import files
from transformer.support.errors import UserError
from transformer.support.files import read_json, write_json
from transformer.support.folders import find_model_folder
from transformer.support.formats import FORMAT_VERSION

SENTENCE = "The old woman is reading a book."


@pytest.fixture
def folder(tiny_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_folder, tmp_path / "model"))


def test_a_description_comes_back_as_it_was_written_and_its_sides_are_not_mixed_up(
    tmp_path: Path,
) -> None:
    recipe = find_recipe("demo").override(
        {"vocab_size": "293", "joint_vocabulary": "false", "tie_source_target": "false"}
    )
    src, tgt = tokenizers.train(recipe.data, ["a dog sleeps"] * 3, ["le chat noir dort"] * 3)
    folder = tmp_path / "new" / "folder"
    model_folder.write_description(folder, model_folder.ModelDescription(recipe, src, tgt))
    again = model_folder.read_description(folder)
    assert again.recipe == recipe
    assert again.src_tokenizer.to_dict() == src.to_dict()
    assert again.src_tokenizer.to_dict() != again.tgt_tokenizer.to_dict() == tgt.to_dict()


def test_a_model_is_read_with_its_weights_ready_to_use(tiny_folder: Path) -> None:
    _, model = model_folder.read_model(tiny_folder)
    saved, _ = load_tensors(tiny_folder / WEIGHTS)
    read = model_weights(model)
    assert read.keys() == saved.keys()
    assert all(torch.equal(read[name], saved[name]) for name in saved)
    assert not model.training


SAVER = """
import sys, time
from pathlib import Path
import torch
from transformer.models import folder
from transformer.models.weights import model_weights, save_tensors
out = Path(sys.argv[1])
description = folder.read_description(out)
weights = model_weights(description.build())
for seed in range(10_000):
    recipe = description.recipe.override({"seed": str(seed)})
    folder.write_description(out, description._replace(recipe=recipe))
    same = {name: torch.full_like(tensor, seed) for name, tensor in weights.items()}
    save_tensors(out / folder.WEIGHTS, same)
    folder.write_manifest(out)
    if seed == 0: print("saved", flush=True)
    time.sleep(float(sys.argv[2]))
"""


@pytest.mark.weekly
@pytest.mark.filterwarnings("ignore:.* was being saved while it was read")
def test_a_reader_beside_a_saver_gets_one_model_whole(folder: Path) -> None:
    """Recipe and weights hold one number. What cannot be read is never called damaged."""
    command = [sys.executable, "-c", SAVER, str(folder), "0.7"]
    right = 0
    with subprocess.Popen(command, stdout=subprocess.PIPE) as saver:
        assert saver.stdout is not None
        assert saver.stdout.readline() == b"saved\n"
        try:
            for _ in range(40):
                try:
                    description, model = model_folder.read_model(folder)
                except UserError as error:
                    assert "is being saved by another process" in str(error)  # noqa: PT017
                else:
                    numbers = {float(tensor.unique()) for tensor in model_weights(model).values()}
                    assert numbers == {description.recipe.training.seed}
                    right += 1
        finally:
            saver.kill()
    assert right > 10


@pytest.mark.filterwarnings("error")
def test_what_is_damaged_while_nothing_is_saved_is_refused_at_once(folder: Path) -> None:
    (folder / WEIGHTS).write_bytes(b"")
    with pytest.raises(UserError, match=r"model\.safetensors is damaged"):
        model_folder.read_model(folder)


def test_one_flipped_bit_is_seen(
    tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "SECONDS_TO_SEE_A_SAVE", 0.0)  # for each of many damages
    unfinished = Path(shutil.copytree(tiny_folder, tmp_path / "unfinished"))
    (unfinished / WEIGHTS).unlink()
    model_folder.write_description(unfinished, model_folder.read_description(tiny_folder))
    for source in (tiny_folder, find_model_folder("demo-parser"), unfinished):
        folder = Path(shutil.copytree(source, tmp_path / f"{source.name} copied"))
        read = model_folder.read_description if source is unfinished else model_folder.read_model
        read(folder)
        for name in (*model_folder.FILES_IN_MANIFEST, model_folder.MANIFEST):
            if not (folder / name).is_file():
                continue
            content = (folder / name).read_bytes()
            for place in range(3, len(content), len(content) // 7):
                flipped = bytearray(content)
                flipped[place] ^= 1 << (place % 8)
                (folder / name).write_bytes(flipped)
                with pytest.raises(UserError, match=r"\.json|model\.safetensors"):
                    read(folder)
            (folder / name).write_bytes(content)


def test_a_run_that_has_not_ended_has_no_final_weights(folder: Path) -> None:
    (folder / WEIGHTS).unlink()
    with pytest.raises(UserError, match=r"training has not ended.*--resume"):
        model_folder.read_model(folder)
    assert model_folder.holds_run(folder)


def test_a_file_of_a_later_version_is_refused_by_name(folder: Path) -> None:
    # The manifest comes first, because a recipe with another check sum is damaged.
    for name in (model_folder.MANIFEST, model_folder.RECIPE):
        values = read_json(folder / name)
        assert values["format"] == FORMAT_VERSION
        write_json(folder / name, values | {"format": FORMAT_VERSION + 1})
        reads = f"reads formats up to {FORMAT_VERSION}: install a later version"
        with pytest.raises(UserError, match=f"{name} is of format {FORMAT_VERSION + 1}, .*{reads}"):
            model_folder.read_model(folder)
        (folder / name).unlink()


def test_a_recipe_of_an_earlier_version_is_read_or_refused_with_what_can_be_done(
    folder: Path,
) -> None:
    (folder / model_folder.MANIFEST).unlink()
    recipe, values = model_folder.read_recipe(folder), read_json(folder / model_folder.RECIPE)
    del values["format"]
    values["training"]["smooth_over_all"] = True
    write_json(folder / model_folder.RECIPE, values)
    assert model_folder.read_recipe(folder) == recipe
    values["model"]["depth"] = 3
    write_json(folder / model_folder.RECIPE, values)
    write_json(folder / model_folder.RUN, {"commit": "5eed"})
    message = r"recipe\.json cannot be read .*model has no 'depth'.*that wrote it, commit 5eed, or"
    with pytest.raises(UserError, match=message):
        model_folder.read_recipe(folder)


def test_a_tokenizer_of_another_model(folder: Path) -> None:
    """It is refused if the sizes differ; tied embeddings need one size on both sides."""
    # Without a manifest, as in a run that has not ended, no check sum is compared.
    (folder / model_folder.MANIFEST).unlink()
    recipe = find_recipe("demo").override({"vocab_size": "271"})
    small, _ = tokenizers.train(recipe.data, [SENTENCE], [SENTENCE])
    write_json(folder / model_folder.SRC_TOKENIZER, small.to_dict())
    with pytest.raises(UserError):
        model_folder.read_model(folder)
    write_json(folder / model_folder.TGT_TOKENIZER, small.to_dict())
    with pytest.raises(UserError, match=r"model\.safetensors does not fit this model"):
        model_folder.read_model(folder)


def test_the_steps_to_average_are_those_of_whole_files_of_ours(tmp_path: Path) -> None:
    for step in (500, 1_000_000, 20, 999_999):
        save_tensors(model_folder.step_weights_path(tmp_path, step), {"a": torch.ones(1)})
    for name in ("step_000020 (1)", "step_", "step_best", "step_0000021", "step_00002\u0660"):
        model_folder.step_weights_path(tmp_path, 0).with_stem(name).write_text("mine")
    model_folder.step_weights_path(tmp_path, 7).mkdir()
    assert model_folder.saved_steps(tmp_path) == [20, 500, 999_999, 1_000_000]


# --- weights -------------------------------------------------------------------------------


class Tied(nn.Module):
    """An embedding whose weight is the output's too, and a buffer."""

    def __init__(self, vocab_size: int = 7, tie: bool = True) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, 5)
        self.output = nn.Linear(5, vocab_size, bias=False)
        if tie:
            self.output.weight = self.embedding.weight
        self.register_buffer("count", torch.tensor(3))


def test_tensors_and_what_is_known_about_them_come_back(tmp_path: Path) -> None:
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
    loaded, loaded_about = load_tensors(path)
    assert loaded_about == about
    assert loaded.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert loaded[name].dtype == tensor.dtype
        assert torch.equal(loaded[name], tensor)


def test_tied_weights_are_saved_once_and_stay_tied(tmp_path: Path) -> None:
    model, other = Tied(), Tied()
    assert set(model_weights(model)) == {"embedding.weight", "count"}
    path = tmp_path / "tied.safetensors"
    save_tensors(path, model_weights(model))
    load_weights(other, load_tensors(path)[0], path)
    assert torch.equal(other.output.weight, model.embedding.weight)
    assert other.output.weight is other.embedding.weight


@pytest.mark.parametrize(
    ("saved", "model", "problem"),
    [
        (Tied(7), Tied(7, tie=False), "output.weight is missing"),
        (Tied(7, tie=False), Tied(7), "output.weight is unknown here"),
        (Tied(7), Tied(11), r"embedding.weight has shape \(7, 5\) there and \(11, 5\) here"),
    ],
)
def test_weights_of_another_model(saved: Tied, model: Tied, problem: str) -> None:
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    with pytest.raises(UserError, match=f"a.safetensors does not fit this model: {problem}"):
        load_weights(model, model_weights(saved), Path("a.safetensors"))
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())


@pytest.mark.parametrize("value", [torch.nan, torch.inf, -torch.inf])
def test_weights_that_are_no_finite_numbers_are_refused(value: float) -> None:
    model, weights = Tied(), model_weights(Tied())
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    for dtype in (torch.float32, torch.float16):
        damaged = weights["embedding.weight"].detach().to(dtype, copy=True)
        damaged[3, 2] = value
        with pytest.raises(
            UserError, match=r"a\.safetensors .*embedding\.weight holds (nan|an inf)"
        ):
            load_weights(model, weights | {"embedding.weight": damaged}, Path("a.safetensors"))
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())


def test_weights_of_another_kind_are_refused_but_for_other_floats() -> None:
    model, weights = Tied(), model_weights(Tied())
    load_weights(model, weights | {"embedding.weight": weights["embedding.weight"].half()}, Path())
    with pytest.raises(
        UserError, match=r"embedding\.weight is torch\.int64 there and torch\.float32"
    ):
        load_weights(model, weights | {"embedding.weight": torch.ones(7, 5).long()}, Path())


def test_an_infinite_buffer_that_is_so_by_design_is_loaded() -> None:
    model = Tied()
    model.register_buffer("mask", torch.tensor([0.0, -torch.inf]))
    load_weights(model, model_weights(model), Path())


def test_no_flipped_bit_makes_other_tensors_of_those_that_were_saved(tmp_path: Path) -> None:
    path, tensors = tmp_path / "a.safetensors", {"a": torch.randn(7, 5), "b": torch.tensor(3)}
    save_tensors(path, tensors, step=3, loss=0.25)
    content = path.read_bytes()
    refused = 0
    for place in range(8, len(content), 3):
        flipped = bytearray(content)
        flipped[place] ^= 1 << (place % 7)
        path.write_bytes(flipped)
        try:
            loaded, _ = load_tensors(path)
        except UserError:
            refused += 1
        else:  # The bit was in the word by which the check sum is found.
            assert loaded.keys() == tensors.keys()
            assert all(torch.equal(loaded[name], tensors[name]) for name in tensors)
    assert refused > 0.9 * len(content) / 3


def test_what_is_no_whole_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    with pytest.raises(UserError, match=r"no file .*model\.safetensors"):
        load_tensors(path)
    save_tensors(path, {"a": torch.randn(101), "b": torch.randn(103)})
    complete = path.read_bytes()
    size = len(complete)
    beginnings = [complete[: int(share * size)] for share in (0, 0.001, 0.1, 0.5, 0.999)]
    for content in (*beginnings, b"\x80\x04pickled", b"PK\x03\x04" * 50, b"{}", b"\xff" * 99):
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
        save_tensors(path, {"a": torch.ones(3)}, step=17, loss=0.25, which="best", seed=1)
    assert len({path.read_bytes() for path in files}) == 1


def test_average_by_hand(tmp_path: Path) -> None:
    # In float32 each sum with 2 ** 24 would lose the ones.
    paths = [tmp_path / f"{number}.safetensors" for number in range(4)]
    for path, value in zip(paths, (2.0**24, 1.0, 1.0, 2.0), strict=True):
        save_tensors(path, {"a": torch.tensor([value, 2 * value])})
    mean = average_weights(paths)["a"]
    assert mean.dtype == torch.float32
    assert mean.tolist() == [(2**24 + 4) / 4, (2**24 + 4) / 2]
