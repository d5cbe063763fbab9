"""What the page says is so: its examples, its models, its files' names and sizes."""

import re
from pathlib import Path
from typing import Any

import pytest

from lessonkit.analysis.heads import Head
from lessonkit.analysis.interventions import next_token, without_heads
from tests.helpers.hiding import translate_hiding
from tests.helpers.names import is_there
from tests.live.node import HERE, LIVE, ask, run_node
from transformer.data.corpora import CORPORA
from transformer.models.translator import Translator
from transformer.support.files import models_folder, read_json

SCRIPTS = sorted((LIVE / "js").glob("*.js"))
SAME_NAMES = ("masks", "attention", "embeddings", "layers", "model", "decoding")
# What an example says that a head does: its number, the head's row, where it looks.
LOOKS = [
    (0, "▁chat", "▁cat"),
    (0, "▁jardin", "▁garden"),
    (1, "▁noir", "▁black"),
    (2, "▁ne", "▁not"),
    (2, "▁pas", "▁not"),
    (3, "▁La", "▁saleswoman"),
]


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    (values,) = ask(tmp_path_factory.mktemp("content"), {"act": "content"})
    return values


def test_every_example_says_what_the_package_says(content: dict[str, Any]) -> None:
    translators: dict[str, Translator] = {}
    for example in content["examples"]:
        name, sentence = example.get("model", "demo-en-fr"), example["sentence"]
        translator = translators.setdefault(name, Translator.load(name))
        (said,) = translator.translate([sentence])
        assert said == example["says"], example["title"]
        if "first" not in example:
            continue
        cuts = dict(example["cuts"])
        removed = [Head(**head) for head in cuts.pop("removed", [])]
        first = translator.tgt_tokenizer.encode(said)[0]
        with without_heads(translator.model, removed):  # type: ignore[arg-type]
            chance = float(next_token(translator, sentence, **cuts)[first])
            assert f"{chance:.2f}" == f"{example['first']:.2f}", example["title"]
            same = translate_hiding(translator, sentence, **cuts) == said
        assert same == (cuts == {"after": [2]}), example["title"]


def test_a_head_looks_where_an_example_says(content: dict[str, Any], shipped: Translator) -> None:
    for number, row, column in LOOKS:
        example = content["examples"][number]
        looked, head = shipped.attention(example["sentence"]), example["head"]
        weights = getattr(looked.maps, head["stack"])[head["layer"] - 1, 0, head["head"] - 1]
        found = weights[looked.tgt_tokens.index(row)].argmax()
        assert looked.src_tokens[int(found)] == column, example["title"]


def test_the_models_are_shipped_and_their_terms_said(content: dict[str, Any]) -> None:
    languages = {"English": "en", "French": "fr", "German": "de"}
    page = (LIVE / "index.html").read_text(encoding="utf-8")
    for name, model in content["models"].items():
        folder = models_folder() / name
        assert all((folder / file).is_file() for file in content["files"])
        data = read_json(folder / "recipe.json")["data"]
        spoken = [languages[language] for language in model["languages"]]
        assert spoken == [data["src_lang"], data["tgt_lang"]]
        assert spoken == name.removeprefix("demo-").split("-")
        if data["corpus"] == "multi30k":
            terms = "non-commercial research and education"
            assert terms in CORPORA["multi30k"].licence
            assert terms in model["about"]
            assert terms in " ".join(page.split())
        else:
            assert "CC BY 4.0" in model["about"]
    assert list(content["models"])[:2] == ["demo-en-fr", "demo-fr-en"]


def test_what_a_file_exports_has_the_same_name_in_the_python(tmp_path: Path) -> None:
    for stem in SAME_NAMES:
        (exported,) = ask(tmp_path, {"act": "exported", "file": f"{stem}.js"})
        assert exported
        assert all(is_there(f"transformer.{stem}.{name}") for name in exported), stem


def test_cases_done_by_hand() -> None:
    """In JavaScript: see units.test.mjs."""
    said = run_node("--test", "--test-reporter=tap", HERE / "units.test.mjs")
    assert "# fail 0" in said
    assert "# pass 0" not in said


def test_the_page_needs_nothing_from_elsewhere() -> None:
    names = {path.name for path in SCRIPTS}
    for path in [*SCRIPTS, LIVE / "style.css"]:
        text = path.read_text(encoding="utf-8")
        assert set(re.findall(r'from "\./([\w.]+)"', text)) <= names
        assert not re.search(r"url\(|@import|https://", text), path.name
    page = (LIVE / "index.html").read_text(encoding="utf-8")
    loaded = re.findall(r'<(?:script|link|img)[^>]*(?:src|href)="([^"]*)"', page)
    assert loaded
    assert all((LIVE / address).is_file() for address in loaded)
    listed = (LIVE / "js" / "page.js").read_text(encoding="utf-8").partition("const FILES = [")[2]
    linked = re.findall(r'"(\w+)"', listed.partition("];")[0])
    assert {f"{stem}.js" for stem in linked} <= names
    assert set(SAME_NAMES) <= set(linked)
