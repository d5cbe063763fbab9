"""Shipped models: found by name, whole, and as good as their cards say."""

import re
import shutil
import unicodedata
from functools import cache
from pathlib import Path

import pytest
import torch

from experiments import ship
from transformer.data import corpora
from transformer.data.parallel import ParallelText
from transformer.models.folder import SUMMED, WEIGHTS, load_tensors, read_description, read_recipe
from transformer.models.translator import Translator
from transformer.support import files
from transformer.support.errors import UserError
from transformer.support.files import read_json

NAMES = files.model_names()


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder in the place of data/models."""
    monkeypatch.setattr(files, "models_folder", lambda: tmp_path)
    monkeypatch.setattr(ship, "models_folder", lambda: tmp_path)
    return tmp_path


@pytest.mark.slow
def test_a_run_is_shipped_and_found_by_its_name_unless_a_folder_has_it(
    tiny_folder: Path, tiny: Translator, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def few(*which: str) -> ParallelText:
        text, count = whole(*which), 60 if which[1] == "train" else 50
        return ParallelText(text.src_lang, text.tgt_lang, text.src[:count], text.tgt[:count])

    whole = corpora.load
    monkeypatch.setattr(corpora, "load", few)
    out = ship.ship(tiny_folder, "en-fr")
    assert files.model_names() == ["en-fr"]
    assert files.find_model("en-fr") == out == models / "en-fr"
    assert all(each.dtype != torch.float32 for each in load_tensors(out / WEIGHTS)[0].values())
    half = Translator.load("en-fr").model.parameters()
    for before, after in zip(tiny.model.parameters(), half, strict=True):
        assert torch.equal(after, before.half().float())
    card = read_json(out / files.CARD)
    assert card["figures"]["split"] == "test"
    assert card["pairs"] == 60
    text = (out / "README.md").read_text(encoding="utf-8")
    assert f"{card['figures']['bleu']['score']:.2f}" in text
    assert card["licence"].rstrip(".") in text
    with pytest.raises(UserError, match="en-fr exists: remove it first"):
        ship.ship(tiny_folder, "en-fr")
    monkeypatch.chdir(models)
    assert files.find_model("en-fr") == Path("en-fr")


def test_a_damaged_file_is_refused(models: Path) -> None:
    for name in SUMMED:
        out = shutil.copytree(files.data_folder() / "models" / "demo-parser", models / name[:4])
        content = bytearray((out / name).read_bytes())
        content[len(content) // 2] ^= 1
        (out / name).write_bytes(content)
        for model in (name[:4], out):  # a name, and a folder
            with pytest.raises(UserError, match=rf"{name} is damaged: its check sum is not"):
                Translator.load(model)


@pytest.mark.slow
def test_what_is_too_large_or_not_whole_or_cannot_be_measured_is_not_shipped(
    tiny_folder: Path, models: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    def no_corpus(folder: Path) -> None:
        raise UserError("the corpus cannot be had")

    for name, value, message in (
        ("MOST_BYTES", 1000, "bytes, over 1,000: ship a smaller one"),
        ("evaluate_folder", no_corpus, "cannot be had"),
    ):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ship, name, value)
            with pytest.raises(UserError, match=message):
                ship.ship(tiny_folder, "en-fr")
    for name in ("run.json", "log.jsonl", "model.safetensors"):
        folder = shutil.copytree(tiny_folder, tmp_path_factory.mktemp("runs") / "tiny")
        (folder / name).unlink()
        with pytest.raises(UserError, match=re.escape(name)):
            ship.ship(folder, "en-fr")
    assert not list(models.iterdir())


def test_an_unknown_model_is_named(models: Path) -> None:
    with pytest.raises(UserError, match=r"no model folder 'de-en': .* with the course \(none\)"):
        files.find_model("de-en")


load_once = cache(corpora.load)


@pytest.fixture(params=NAMES)
def shipped_one(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> tuple[str, ParallelText]:
    """The name of a shipped model, and its card's text; skips where that is not here."""
    figures = read_json(files.find_model(request.param) / files.CARD)["figures"]
    if corpora.CORPORA[figures["corpus"]].files:
        monkeypatch.setenv("TRANSFORMER_DATA", str(request.getfixturevalue("shared_data")))
    which = (figures[name] for name in ("corpus", "split", "src_lang", "tgt_lang"))
    return request.param, load_once(*which)


@pytest.mark.slow
def test_a_shipped_model_is_as_good_as_its_card(shipped_one: tuple[str, ParallelText]) -> None:
    name, text = shipped_one
    card = read_json(files.find_model(name) / files.CARD)
    score = ship.slice_bleu(Translator.load(name), text)
    assert score == pytest.approx(card["slice_bleu"], abs=0.3)  # sums differ between processors


# --- text as users type it ------------------------------------------------------------


def as_typed(text: str, lang: str) -> str:
    """Write a sentence as a phone or a word processor has it."""
    text = text.replace("'", "’")
    if lang == "fr":
        text = re.sub(r" ([!?:;])", r"\1", text).replace(" »", "\u00a0»")
    return unicodedata.normalize("NFD", text) if lang != "tree" else text


@pytest.mark.slow
def test_a_typed_sentence_is_the_corpus_sentence_to_a_shipped_model(
    shipped_one: tuple[str, ParallelText],
) -> None:
    name, text = shipped_one
    tokenizer = read_description(files.find_model(name)).src_tokenizer
    typed = [as_typed(sentence, text.src_lang) for sentence in text.src]
    assert typed != list(text.src) or text.src_lang == "en"
    assert tokenizer.encode_all(typed) == tokenizer.encode_all(text.src)
    assert tokenizer.tokens(typed[0]) == tokenizer.tokens(text.src[0])


def test_shipped_models_are_small_and_their_pages_are_their_cards() -> None:
    for name in NAMES:
        folder = files.find_model(name)
        assert (folder / "model.safetensors").stat().st_size < 8_000_000
        card, run = read_json(folder / files.CARD), read_json(folder / "run.json")
        written = ship.page(name, read_recipe(folder), card, run)
        assert (folder / "README.md").read_text(encoding="utf-8") == written
