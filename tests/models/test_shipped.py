"""Shipped models: found by name, whole, and as good as their cards say."""

import re
import shutil
from functools import cache
from pathlib import Path

import pytest
import torch

from experiments import ship
from tests.helpers import weekly
from transformer.data import corpora
from transformer.data.parallel import ParallelText
from transformer.models.folder import WEIGHTS, read_recipe
from transformer.models.translator import Translator
from transformer.models.weights import load_tensors
from transformer.support import folders
from transformer.support.errors import UserError
from transformer.support.files import read_json

NAMES = folders.shipped_model_names()


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder in the place of data/models."""
    monkeypatch.setattr(folders, "models_folder", lambda: tmp_path)
    monkeypatch.setattr(ship, "models_folder", lambda: tmp_path)
    return tmp_path


@pytest.mark.slow
def test_a_run_is_shipped_and_found_by_its_name_unless_a_folder_has_it(
    tiny_folder: Path, tiny: Translator, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def few(*which: str) -> ParallelText:
        text, count = load(*which), 60 if which[1] == "train" else 50
        return ParallelText(text.src_lang, text.tgt_lang, text.src[:count], text.tgt[:count])

    load = corpora.load
    monkeypatch.setattr(corpora, "load", few)
    out = ship.ship_model(tiny_folder, "en-fr")
    assert folders.shipped_model_names() == ["en-fr"]
    assert folders.find_model_folder("en-fr") == out == models / "en-fr"
    assert all(tensor.dtype != torch.float32 for tensor in load_tensors(out / WEIGHTS)[0].values())
    half = Translator.load("en-fr").model.parameters()
    for before, after in zip(tiny.model.parameters(), half, strict=True):
        assert torch.equal(after, before.half().float())
    card = read_json(out / folders.CARD_FILE_NAME)
    assert card["figures"]["split"] == "test"
    assert card["pairs"] == 60
    text = (out / "README.md").read_text(encoding="utf-8")
    assert f"{card['figures']['bleu']['score']:.2f}" in text
    assert card["licence"].rstrip(".") in text
    with pytest.raises(UserError, match="en-fr exists: remove it first"):
        ship.ship_model(tiny_folder, "en-fr")
    ship.remeasure_shipped_model("en-fr", models / "record.json")
    again, record = read_json(out / folders.CARD_FILE_NAME), read_json(models / "record.json")
    assert record["figures"] == again["figures"]
    assert again == card
    assert (out / "README.md").read_text(encoding="utf-8") == text
    with pytest.raises(UserError, match="is no shipped model: give one of en-fr"):
        ship.remeasure_shipped_model(str(tiny_folder), models / "record.json")
    monkeypatch.chdir(models)
    assert folders.find_model_folder("en-fr") == Path("en-fr")


@pytest.mark.slow
def test_what_is_too_large_or_not_whole_or_cannot_be_measured_is_not_shipped(
    tiny_folder: Path, models: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    def no_corpus(folder: Path) -> None:
        raise UserError("the corpus cannot be had")

    for name, value, message in (
        ("MAX_WEIGHT_BYTES", 1000, "bytes, over 1,000: ship a smaller one"),
        ("evaluate_saved_model", no_corpus, "cannot be had"),
    ):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ship, name, value)
            with pytest.raises(UserError, match=message):
                ship.ship_model(tiny_folder, "en-fr")
    for name in ("run.json", "log.jsonl", "model.safetensors"):
        folder = shutil.copytree(tiny_folder, tmp_path_factory.mktemp("runs") / "tiny")
        (folder / name).unlink()
        with pytest.raises(UserError, match=re.escape(name)):
            ship.ship_model(folder, "en-fr")
    assert not list(models.iterdir())


def test_an_unknown_model_is_named(models: Path) -> None:
    with pytest.raises(UserError, match=r"no model folder 'de-en': .* with the course \(none\)"):
        folders.find_model_folder("de-en")


load_once = cache(corpora.load)


@pytest.mark.slow
@pytest.mark.parametrize("name", [weekly(name) if "tatoeba" in name else name for name in NAMES])
def test_a_shipped_model_is_as_good_as_its_card(
    name: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    card = read_json(folders.find_model_folder(name) / folders.CARD_FILE_NAME)
    corpus, *which = (card["figures"][key] for key in ("corpus", "split", "src_lang", "tgt_lang"))
    if corpora.CORPORA[corpus].files:
        monkeypatch.setenv("TRANSFORMER_DATA", str(request.getfixturevalue("shared_data")))
    score = ship.slice_bleu(Translator.load(name), load_once(corpus, *which))
    assert score == pytest.approx(card["slice_bleu"], abs=0.3)  # sums differ between processors


def test_shipped_models_are_small_and_their_pages_are_their_cards() -> None:
    for name in NAMES:
        folder = folders.find_model_folder(name)
        assert (folder / "model.safetensors").stat().st_size < 8_000_000
        card, run = read_json(folder / folders.CARD_FILE_NAME), read_json(folder / "run.json")
        written = ship.shipped_readme_text(name, read_recipe(folder), card, run)
        assert (folder / "README.md").read_text(encoding="utf-8") == written
