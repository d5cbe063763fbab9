"""What the page says is so: its examples, its models, its files' names and sizes."""

import re
from pathlib import Path
from typing import Any

import pytest

from experiments.int8_agreement import load_int8_translator
from experiments.live_words import write_training_source_words
from lessonkit.analysis.activations import next_token_probabilities
from tests.helpers.names import is_there
from tests.live.node import HERE, LIVE, ask, run_node
from transformer.data.corpora import CORPORA
from transformer.models.translator import Translator
from transformer.support.files import read_json
from transformer.support.folders import models_folder

SCRIPTS = sorted((LIVE / "js").glob("*.js"))
SAME_NAMES = (
    *("masks", "attention", "feed_forward", "positions", "embeddings"),
    *("layers", "model", "decoding"),
)


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    (values,) = ask(tmp_path_factory.mktemp("content"), {"act": "content"})
    return values


@pytest.fixture(scope="module")
def translators(content: dict[str, Any]) -> dict[str, Translator]:
    """The models of the tour's stops, with the page's weights, by name."""
    return {name: load_int8_translator(name) for name in {s["model"] for s in content["stops"]}}


def test_every_stop_says_what_the_package_says(
    content: dict[str, Any], translators: dict[str, Translator]
) -> None:
    assert content["stops"]
    for stop in content["stops"]:
        translator, sentence = translators[stop["model"]], stop["sentence"]
        (said,) = translator.translate([sentence])
        assert said == stop["says"], stop["title"]
        assert stop["box"] is None or stop["box"] in content["boxes"]
        if "first" in stop:
            first = translator.tgt_tokenizer.encode(said)[0]
            chance = float(next_token_probabilities(translator, sentence, **stop["cuts"])[first])
            assert f"{chance:.2f}" == f"{stop['first']:.2f}", stop["title"]
            assert f"{stop['first']:.2f}" in stop["see"]


def test_a_head_looks_where_a_stop_says(
    content: dict[str, Any], translators: dict[str, Translator]
) -> None:
    for stop in content["stops"]:
        for row, column in stop.get("looks", []):
            looked, head = translators[stop["model"]].attention(stop["sentence"]), stop["head"]
            weights = getattr(looked.maps, head["stack"])[head["layer"] - 1, 0, head["head"] - 1]
            said, read = looked.tgt_tokens, ["<bos>", *looked.tgt_tokens[:-1]]
            sides = {"encoder": (looked.src_tokens,) * 2, "decoder": (said, read)}
            rows, columns = sides.get(head["stack"], (said, looked.src_tokens))
            found = weights[rows.index(row)].argmax()
            assert columns[int(found)] == column, stop["title"]


def test_what_the_stops_tell_to_do_does_what_they_say(translators: dict[str, Translator]) -> None:
    demo = translators["demo-en-fr"]
    dog = demo.attention("The black dog is not sleeping.")
    weights = dog.maps.cross[1, 0, 1]
    for word in ("▁ne", "▁pas"):
        assert dog.src_tokens[int(weights[dog.tgt_tokens.index(word)].argmax())] == "▁not"
    saleswoman = "The clever saleswoman is reading an interesting novel."
    la = demo.tgt_tokenizer.encode("La")[0]
    only_the = {"after": list(range(1, 10))}
    for cuts, chance in ((only_the, "0.90"), ({"before": [7]}, "1.00")):
        assert f"{float(next_token_probabilities(demo, saleswoman, **cuts)[la]):.2f}" == chance


@pytest.mark.parametrize("name", ["demo-en-fr", "demo-fr-en"])
def test_the_words_that_a_model_has_read_are_those_of_its_training_text(
    name: str, tmp_path: Path
) -> None:
    file = tmp_path / "words.txt"
    write_training_source_words(name, file)
    assert file.read_bytes() == (LIVE / "words" / f"{name}.txt").read_bytes()


def test_the_models_are_shipped_and_their_terms_said(content: dict[str, Any]) -> None:
    listed = read_json(LIVE / "models.json")
    for name, model in listed["models"].items():
        folder = models_folder() / name
        assert all((folder / file).is_file() for file in content["files"])
        assert (LIVE / model["words"]).is_file()
        data = read_json(folder / "recipe.json")["data"]
        spoken = [model["src_lang"], model["tgt_lang"]]
        assert spoken == [data["src_lang"], data["tgt_lang"]]
        assert spoken == name.removeprefix("demo-").split("-")
        if data["corpus"] == "multi30k":
            terms = "non-commercial research and education"
            assert terms in CORPORA["multi30k"].licence
            assert terms in model["about"]
            assert terms in listed["terms"]
        else:
            assert "CC BY 4.0" in model["about"]
    assert list(listed["models"])[:2] == ["demo-en-fr", "demo-fr-en"]
    assert {stop["model"] for stop in content["stops"]} <= listed["models"].keys()


def test_what_a_file_exports_has_the_same_name_in_the_python(tmp_path: Path) -> None:
    for stem in SAME_NAMES:
        (exported,) = ask(tmp_path, {"act": "exported", "file": f"{stem}.js"})
        assert exported
        assert all(is_there(f"transformer.{stem}.{name}") for name in exported), stem


@pytest.mark.parametrize("name", [path.name for path in HERE.glob("*.test.mjs")])
def test_the_files_own_tests_in_javascript(name: str) -> None:
    said = run_node("--test", "--test-reporter=tap", HERE / name)
    assert "# fail 0" in said
    assert "# pass 0" not in said


def reached_from(name: str) -> set[str]:
    """Return a file of js/, and all that it imports, and what these import."""
    reached, new = set[str](), {name}
    while new:
        reached |= new
        texts = [(LIVE / "js" / file).read_text(encoding="utf-8") for file in new]
        new = {file for text in texts for file in re.findall(r'from "\./([\w.]+)"', text)} - reached
    return reached


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
    needed = reached_from("page.js")
    preloaded = re.findall(r'rel="modulepreload" href="js/([\w.]+)"', page)
    assert len(preloaded) == len(set(preloaded))
    assert {*preloaded, "page.js", "early.js"} == needed
    worker = (LIVE / "js" / "worker.js").read_text(encoding="utf-8")
    imported = re.findall(r'(?:from|import) "\./([\w.]+)"', worker)
    assert sorted(["worker.js", *imported]) == sorted(reached_from("worker.js"))
    listed = (LIVE / "js" / "page.js").read_text(encoding="utf-8").partition("const FILES = [")[2]
    linked = re.findall(r'"(\w+)"', listed.partition("];")[0])
    assert {f"{stem}.js" for stem in linked} <= names
    assert set(SAME_NAMES) <= set(linked)
