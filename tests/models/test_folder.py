"""A model's folder: read back as written, or refused for a reason."""

import dataclasses
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from transformer.data import tokenizers
from transformer.models import folder as model_folder
from transformer.models.checkpoint import load_tensors, save_tensors, weights
from transformer.models.folder import MANIFEST, SUMMED, RunFolder
from transformer.recipes.named import find_recipe
from transformer.support.errors import UserError

SENTENCE = "The old woman is reading a book."


@pytest.fixture
def folder(tiny_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_folder, tmp_path / "model"))


@pytest.fixture
def unlisted(folder: Path) -> Path:
    """The folder of a run that has not ended: its files are read for what they are."""
    (folder / MANIFEST).unlink()
    return folder


def test_a_description_comes_back_as_it_was_written(tiny_folder: Path, tmp_path: Path) -> None:
    description = model_folder.read_description(tiny_folder)
    model_folder.write_description(tmp_path / "new" / "folder", description)
    again = model_folder.read_description(tmp_path / "new" / "folder")
    assert again.recipe == description.recipe
    assert again.src_tokenizer.to_dict() == description.src_tokenizer.to_dict()
    assert again.tgt_tokenizer.to_dict() == description.tgt_tokenizer.to_dict()


def test_sides_of_their_own_are_not_mixed_up(tmp_path: Path) -> None:
    recipe = find_recipe("demo").override(
        {"vocab_size": "293", "joint_vocabulary": "false", "tie_source_target": "false"}
    )
    src, tgt = tokenizers.train(recipe.data, ["a dog sleeps"] * 3, ["le chat noir dort"] * 3)
    model_folder.write_description(tmp_path, model_folder.Description(recipe, src, tgt))
    again = model_folder.read_description(tmp_path)
    assert again.src_tokenizer.tokens("dog") == src.tokens("dog")
    assert again.src_tokenizer.to_dict() != again.tgt_tokenizer.to_dict() == tgt.to_dict()


def test_a_model_is_read_with_its_weights_ready_to_use(tiny_folder: Path) -> None:
    _, model = model_folder.read_model(tiny_folder)
    saved, _ = load_tensors(RunFolder(tiny_folder).model)
    read = weights(model)
    assert read.keys() == saved.keys()
    assert all(torch.equal(read[name], saved[name]) for name in saved)
    assert not model.training


def test_a_file_in_the_way_of_a_folder(tiny_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine", encoding="utf-8")
    description = model_folder.read_description(tiny_folder)
    with pytest.raises(UserError, match=r"taken"):
        model_folder.write_description(tmp_path / "taken", description)
    assert (tmp_path / "taken").read_text(encoding="utf-8") == "mine"


def test_a_folder_of_something_else(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"is no model folder: it has no recipe\.json"):
        model_folder.read_recipe(tmp_path)
    assert not model_folder.holds_run(tmp_path)


@pytest.mark.parametrize("name", [*SUMMED, MANIFEST])
def test_one_flipped_bit_is_seen(folder: Path, name: str) -> None:
    content = (folder / name).read_bytes()
    for place in range(3, len(content), len(content) // 7):
        flipped = bytearray(content)
        flipped[place] ^= 1 << (place % 8)
        (folder / name).write_bytes(flipped)
        with pytest.raises(UserError, match=r"\.json|model\.safetensors"):
            model_folder.read_model(folder)


def test_a_run_that_has_not_ended_has_no_final_weights(folder: Path) -> None:
    RunFolder(folder).model.unlink()
    with pytest.raises(UserError, match=r"training has not ended.*--resume"):
        model_folder.read_model(folder)
    assert model_folder.holds_run(folder)


def test_weights_of_another_shape(folder: Path, tmp_path: Path) -> None:
    description = model_folder.read_description(folder)
    wider = dataclasses.replace(description.recipe.model, d_ff=19)
    recipe = dataclasses.replace(description.recipe, model=wider)
    other = tmp_path / "other.safetensors"
    save_tensors(other, weights(description._replace(recipe=recipe).build()))
    with pytest.raises(UserError, match=r"other\.safetensors does not fit this model.*19"):
        model_folder.read_model(folder, other)


def test_a_tokenizer_of_another_model(unlisted: Path) -> None:
    """Refused where the sizes tell; tied embeddings need one size on both sides."""
    folder = unlisted
    recipe = find_recipe("demo").override({"vocab_size": "271"})
    small, _ = tokenizers.train(recipe.data, [SENTENCE], [SENTENCE])
    tokenizers.save(small, folder / model_folder.SRC_TOKENIZER)
    with pytest.raises(UserError):
        model_folder.read_model(folder)
    tokenizers.save(small, folder / model_folder.TGT_TOKENIZER)
    with pytest.raises(UserError, match=r"model\.safetensors does not fit this model"):
        model_folder.read_model(folder)


def test_weights_of_another_program(folder: Path) -> None:
    path = RunFolder(folder).model
    save_file({"weight": torch.zeros(3)}, path)
    with pytest.raises(UserError, match=r"model\.safetensors is damaged"):
        model_folder.read_model(folder)
    (folder / MANIFEST).unlink()
    with pytest.raises(UserError, match=r"does not fit this model: .* is missing"):
        model_folder.read_model(folder)


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
    [
        (2, 13, [11, 13]),
        (2, 12, [7, 11]),
        (5, 13, [5, 7, 11, 13]),
        (1, 4, []),
        (3, 0, []),
    ],
)
def test_only_the_newest_before_a_step_are_left(
    tmp_path: Path, newest: int, up_to: int, left: list[int]
) -> None:
    folder = folder_with(tmp_path, 5, 7, 11, 13)
    folder.drop_step_files(newest=newest, up_to=up_to)
    assert folder.step_files() == [folder.step_file(step) for step in left]


def test_what_others_have_put_there_is_left_alone(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, 5, 20)
    strange = ["step_000020 (1)", "step_", "step_best", "step_0000020", "step_00002\u0660"]
    foreign = [folder.last.with_name(f"{name}.safetensors") for name in strange]
    for path in foreign:
        path.write_text("mine")
    folder.step_file(7).mkdir()
    assert folder.step_files() == [folder.step_file(5), folder.step_file(20)]
    folder.drop_step_files(newest=1, up_to=0)
    assert folder.step_files() == []
    assert folder.step_file(7).is_dir()
    assert all(path.read_text() == "mine" for path in foreign)
