"""A model's folder, whole and spoilt: every file missing, cut short, foreign."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from transformer import model_folder, recipes
from transformer.errors import UserError
from transformer.model_folder import (
    RECIPE,
    SRC_TOKENIZER,
    TGT_TOKENIZER,
    WEIGHTS,
    Description,
    read_description,
    read_model,
    write_description,
)
from transformer.training.checkpoint import load_tensors, save_tensors, weights

FILES = (RECIPE, SRC_TOKENIZER, TGT_TOKENIZER, WEIGHTS)


@pytest.fixture
def copy(tiny_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_folder, tmp_path / "copy"))


def test_a_folder_comes_back_whole(tiny_folder: Path) -> None:
    description, model = read_model(tiny_folder)
    assert description.recipe.model.d_model == 16
    assert description.src_tokenizer.vocab_size == description.tgt_tokenizer.vocab_size == 293
    assert not model.training
    saved, _ = load_tensors(tiny_folder / WEIGHTS)
    for name, tensor in weights(model).items():
        assert torch.equal(tensor, saved[name])


def test_a_checkpoints_weights_may_be_read_instead(tiny_folder: Path) -> None:
    path = tiny_folder / "checkpoints" / "best.safetensors"
    _, model = read_model(tiny_folder, path)
    saved, _ = load_tensors(path)
    assert all(torch.equal(tensor, saved[name]) for name, tensor in weights(model).items())


def test_a_description_written_comes_back(tiny_folder: Path, tmp_path: Path) -> None:
    description = read_description(tiny_folder)
    write_description(tmp_path / "a" / "b", description)
    again = read_description(tmp_path / "a" / "b")
    assert again.recipe == description.recipe
    assert again.src_tokenizer.to_dict() == description.src_tokenizer.to_dict()
    assert again.tgt_tokenizer.to_dict() == description.tgt_tokenizer.to_dict()


def test_what_is_no_folder_of_a_model(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "none", tmp_path / "file"):
        with pytest.raises(UserError, match=f"no model folder '{path}'"):
            read_model(path)
    with pytest.raises(UserError, match=r"is no model folder: it has no recipe\.json"):
        read_model(tmp_path)


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file(copy: Path, name: str) -> None:
    (copy / name).unlink()
    with pytest.raises(UserError, match=name):
        read_model(copy)


def test_a_run_that_has_not_ended(copy: Path) -> None:
    (copy / WEIGHTS).unlink()
    with pytest.raises(UserError, match="its training has not ended"):
        read_model(copy)


def cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


SPOILT: dict[str, Callable[[bytes], bytes]] = {
    "cut short": cut,
    "cut by a byte": lambda content: content.rstrip()[:-1],
    "empty": lambda _: b"",
    "other JSON": lambda _: b"{}\n",
    "a list": lambda _: b"[1, 2]\n",
    "no text": lambda _: b"\x80\x81" * 500,
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("how", SPOILT)
def test_a_spoilt_file(copy: Path, name: str, how: str) -> None:
    (copy / name).write_bytes(SPOILT[how]((copy / name).read_bytes()))
    with pytest.raises(UserError, match=name) as caught:
        read_model(copy)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", FILES)
def test_a_folder_in_place_of_a_file(copy: Path, name: str) -> None:
    (copy / name).unlink()
    (copy / name).mkdir()
    with pytest.raises(UserError, match=name):
        read_model(copy)


def test_weights_of_another_model(copy: Path) -> None:
    recipe = read_description(copy).recipe.override({"d_ff": "19"})
    (copy / RECIPE).write_text(json.dumps(recipe.to_dict()))
    with pytest.raises(UserError, match=r"model\.safetensors does not fit this model: .*shape"):
        read_model(copy)


def test_tokenizers_of_another_model(copy: Path) -> None:
    from transformer.data import corpora, tokenizers

    text = corpora.load("embedded", "validation", "en", "fr")
    config = recipes.find("demo").override({"vocab_size": "311"}).data
    other, _ = tokenizers.train(config, text.src, text.tgt)
    tokenizers.save(other, copy / SRC_TOKENIZER)
    with pytest.raises(UserError):
        read_model(copy)
    tokenizers.save(other, copy / TGT_TOKENIZER)
    with pytest.raises(UserError, match=r"model\.safetensors does not fit this model"):
        read_model(copy)


def test_weights_of_another_program(copy: Path) -> None:
    from safetensors.torch import save_file

    save_file({"weight": torch.zeros(3)}, copy / WEIGHTS)
    with pytest.raises(UserError, match="was not written by this version of the course"):
        read_model(copy)
    save_tensors(copy / WEIGHTS, {"weight": torch.zeros(3)})
    with pytest.raises(UserError, match=r"does not fit this model: .* is missing"):
        read_model(copy)


def test_a_description_that_cannot_be_written(tiny_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(UserError, match="file"):
        write_description(tmp_path / "file" / "run", read_description(tiny_folder))
    assert (tmp_path / "file").read_text() == "mine"


def test_two_vocabularies_make_two_embeddings(tiny_folder: Path) -> None:
    recipe, tokenizer, _ = read_description(tiny_folder)
    apart = recipe.override(
        {"joint_vocabulary": "false", "tie_source_target": "false", "tie_softmax": "false"}
    )
    tied = Description(recipe, tokenizer, tokenizer).build()
    free = Description(apart, tokenizer, tokenizer).build()
    one_table = 293 * 16

    def size(model: torch.nn.Module) -> int:
        return sum(parameter.numel() for parameter in model.parameters())

    assert size(free) == size(tied) + 2 * one_table


def test_a_folder_holds_a_run_once_its_recipe_is_there(tiny_folder: Path, tmp_path: Path) -> None:
    assert model_folder.holds_run(tiny_folder)
    assert not model_folder.holds_run(tmp_path)
    assert not model_folder.holds_run(tmp_path / "none")
