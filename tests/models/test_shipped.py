"""Shipped models: found by name, whole, and as good as their cards say."""

import re
import shutil
import unicodedata
from functools import cache
from pathlib import Path

import pytest

from experiments import ship
from transformer.data import corpora
from transformer.data.parallel import ParallelText
from transformer.models.folder import SUMMED, read_description, read_recipe
from transformer.models.translator import Translator
from transformer.recipes import RECIPES
from transformer.support import files
from transformer.support.errors import UserError
from transformer.support.files import read_json
from transformer.training.recipe import train_recipe

NAMES = files.model_names()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the smallest model that training leaves."""
    out = tmp_path_factory.mktemp("runs") / "tiny"
    recipe = RECIPES["demo"].override({"steps": "2", "d_model": "16", "d_ff": "32"})
    train_recipe(recipe, out, on_begin=lambda _: None, on_report=lambda _: None)
    return out


@pytest.fixture(scope="module")
def once_shipped(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run as it is shipped; shipping scores it, which takes its time."""
    folder = tmp_path_factory.mktemp("models")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ship, "models_folder", lambda: folder)
        out = ship.ship(run, "en-fr")
    assert out == folder / "en-fr"
    return out


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder in the place of data/models."""
    monkeypatch.setattr(files, "models_folder", lambda: tmp_path)
    monkeypatch.setattr(ship, "models_folder", lambda: tmp_path)
    return tmp_path


@pytest.fixture
def out(once_shipped: Path, models: Path) -> Path:
    """A copy of the shipped run, the only one in the place of data/models."""
    return Path(shutil.copytree(once_shipped, models / "en-fr"))


@pytest.mark.slow
def test_a_run_is_shipped_and_found_by_its_name(run: Path, out: Path) -> None:
    assert files.model_names() == ["en-fr"]
    assert files.find_model("en-fr") == out
    whole, half = Translator.load(run), Translator.load("en-fr")
    for before, after in zip(whole.model.parameters(), half.model.parameters(), strict=True):
        assert after.dtype == before.dtype
        assert after.equal(before.half().float())
    size = sum(file.stat().st_size for file in out.glob("*.safetensors"))
    assert size < 0.55 * (run / "model.safetensors").stat().st_size

    card = read_json(out / files.CARD)
    assert card["figures"]["split"] == "test"
    assert card["pairs"] == len(corpora.load("embedded", "train", "en", "fr"))
    text = (out / "README.md").read_text(encoding="utf-8")
    assert f"{card['figures']['bleu']['score']:.2f}" in text
    assert card["licence"].rstrip(".") in text
    with pytest.raises(UserError, match="en-fr exists: remove it first"):
        ship.ship(run, "en-fr")


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
def test_a_folder_comes_before_a_name(
    run: Path, out: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    monkeypatch.chdir(elsewhere)
    assert files.find_model("en-fr") == out
    shutil.copytree(run, elsewhere / "en-fr")
    assert files.find_model("en-fr") == Path("en-fr")


@pytest.mark.slow
def test_what_is_too_large_or_not_whole_or_cannot_be_measured_is_not_shipped(
    run: Path, models: Path, tmp_path_factory: pytest.TempPathFactory
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
                ship.ship(run, "en-fr")
    for name in ("run.json", "log.jsonl", "model.safetensors"):
        folder = shutil.copytree(run, tmp_path_factory.mktemp("runs") / "tiny")
        (folder / name).unlink()
        with pytest.raises(UserError, match=re.escape(name)):
            ship.ship(folder, "en-fr")
    assert not list(models.iterdir())


def test_an_unknown_model_is_named(models: Path) -> None:
    with pytest.raises(UserError, match=r"no model folder 'de-en': .* with the course \(none\)"):
        files.find_model("de-en")


class Texts:
    """The text that a shipped model was trained or measured on; skips where it is not here."""

    def __init__(self, request: pytest.FixtureRequest, patch: pytest.MonkeyPatch) -> None:
        self.request, self.patch = request, patch

    def load(self, name: str, split: str | None = None) -> ParallelText:
        """Give a split for the model `name`; None is the one that its card is about."""
        figures = read_json(files.find_model(name) / files.CARD)["figures"]
        if corpora.CORPORA[figures["corpus"]].files:
            folder = self.request.getfixturevalue("shared_data")
            self.patch.setenv("TRANSFORMER_DATA", str(folder))
        sides = figures["src_lang"], figures["tgt_lang"]
        return load_once(figures["corpus"], split or figures["split"], *sides)


load_once = cache(corpora.load)


@pytest.fixture
def texts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Texts:
    return Texts(request, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_model_is_as_good_as_its_card(name: str, texts: Texts) -> None:
    card = read_json(files.find_model(name) / files.CARD)
    score = ship.slice_bleu(Translator.load(name), texts.load(name))
    assert score == pytest.approx(card["slice_bleu"], abs=0.3)  # sums differ between processors


# --- text as users type it ------------------------------------------------------------


def as_typed(text: str, lang: str) -> str:
    """Write a sentence as a phone or a word processor has it."""
    text = text.replace("'", "’")
    if lang == "fr":
        text = re.sub(r" ([!?:;])", r"\1", text).replace(" »", "\u00a0»")
    return unicodedata.normalize("NFD", text) if lang != "tree" else text


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_typed_sentence_is_the_corpus_sentence_to_a_shipped_model(
    name: str, texts: Texts
) -> None:
    text, tokenizer = texts.load(name), read_description(files.find_model(name)).src_tokenizer
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
