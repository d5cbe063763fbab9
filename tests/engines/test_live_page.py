"""The written page is whole or not there, and holds the model that was asked for."""

import shutil
from pathlib import Path

import pytest

from engines.live_page import MODEL_LIST_FILE_NAME, write_live_page
from transformer.data import corpora
from transformer.models.folder import write_manifest
from transformer.models.translator import Translator
from transformer.support.errors import UserError
from transformer.support.files import read_json, write_json
from transformer.support.folders import models_folder


@pytest.fixture
def own_model(tmp_path: Path) -> Path:
    """A model folder that is not one of the shipped ones, trained on the embedded corpus."""
    return shutil.copytree(models_folder() / "demo-en-fr", tmp_path / "own model")


def model_in(page: Path) -> tuple[str, dict[str, object]]:
    """The one model that a page lists: its name, and what is said of it."""
    [(name, said)] = read_json(page / MODEL_LIST_FILE_NAME)["models"].items()
    return name, said


def test_it_offers_the_model_alone_with_sentences_of_the_test_set(
    own_model: Path, tmp_path: Path
) -> None:
    page = write_live_page(own_model, tmp_path / "page")
    name, said = model_in(page)
    assert [path.name for path in (page / "models").iterdir()] == [name] == ["own model"]
    assert (said["src_lang"], said["tgt_lang"]) == ("en", "fr")
    test = corpora.load("embedded", "test", "en", "fr").src
    assert len(set(said["samples"])) == 4  # type: ignore[call-overload]
    assert set(said["samples"]) <= set(test)  # type: ignore[call-overload]
    here, there = Translator.load(own_model), Translator.load(page / "models" / name)
    assert there.translate(["The dog sleeps."]) == here.translate(["The dog sleeps."])


def test_a_shipped_model_keeps_its_sentences_and_a_users_own_come_first(tmp_path: Path) -> None:
    course = read_json(models_folder().parents[1] / "docs" / "live" / MODEL_LIST_FILE_NAME)[
        "models"
    ]
    shipped = model_in(write_live_page("demo-fr-en", tmp_path / "shipped"))[1]
    assert shipped["samples"] == course["demo-fr-en"]["samples"]
    own = write_live_page("demo-fr-en", tmp_path / "own", ["Un.", "Deux."])
    assert model_in(own)[1]["samples"] == ["Un.", "Deux."]


def test_a_corpus_that_is_not_here_is_not_fetched(own_model: Path, tmp_path: Path) -> None:
    recipe = read_json(own_model / "recipe.json")
    recipe["data"] |= {"corpus": "nowhere", "src_lang": "xq", "tgt_lang": "zz"}
    write_json(own_model / "recipe.json", recipe)
    write_manifest(own_model)
    _, said = model_in(write_live_page(own_model, tmp_path / "page"))
    assert said["samples"] == []
    assert (said["src_lang"], said["tgt_lang"]) == ("xq", "zz")


def test_an_earlier_page_is_replaced_if_asked_and_nothing_else_is(tmp_path: Path) -> None:
    page = write_live_page("demo-fr-en", tmp_path / "page")
    with pytest.raises(UserError, match="exists"):
        write_live_page("demo-en-fr", page)
    assert model_in(page)[0] == "demo-fr-en"
    write_live_page("demo-en-fr", page, replace=True)
    assert model_in(page)[0] == "demo-en-fr"
    assert [path.name for path in (page / "models").iterdir()] == ["demo-en-fr"]
    (other := tmp_path / "other").mkdir()
    (other / "thesis.txt").write_text("mine")
    with pytest.raises(UserError, match="no page"):
        write_live_page("demo-en-fr", other, replace=True)
    assert (other / "thesis.txt").read_text() == "mine"


def test_a_model_that_the_page_cannot_run_leaves_nothing(own_model: Path, tmp_path: Path) -> None:
    out = tmp_path / "page"
    for sentence in (" ", "x" * 1001):
        with pytest.raises(UserError, match="sentence"):
            write_live_page(own_model, out, [sentence])
    with pytest.raises(UserError, match="LSTM"):
        write_live_page("demo-lstm", out)
    (own_model / "model.safetensors").unlink()
    with pytest.raises(UserError, match="training has not ended"):
        write_live_page(own_model, out)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["own model"]
