"""Translators of own text: what is recorded of a run, when one is refused, and the table."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from experiments import own_text, own_text_table
from experiments.command_line import main
from experiments.own_text import record_own_text_run
from tests.helpers import TINY
from tests.helpers.records import sample
from transformer.config import Recipe
from transformer.data import corpora
from transformer.data.own_corpora import add_own_corpus
from transformer.data.source_text import PairsWithOrigin
from transformer.support.errors import UserError
from transformer.support.files import read_json, write_json

Patch = pytest.MonkeyPatch
QUICK = [f"{key}={value}" for key, value in TINY.items()] + ["steps=2"]


def add_corpus(name: str, languages: tuple[str, str], num_pairs: int = 300) -> None:
    """Add pairs of the embedded corpus, each with a placeholder, as a corpus of the user's own."""
    text = corpora.load("embedded", "train", "en", "fr")
    lines = list(zip(text.src, text.tgt, strict=True))[:num_pairs]
    pairs = [(f"{src} %s", f"{tgt} %s") for src, tgt in lines]
    files, packages = ["/usr/share/locale/fr/LC_MESSAGES/sed.mo"], ["sed"]
    add_own_corpus(name, languages, PairsWithOrigin(pairs=pairs, files=files, packages=packages))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: Patch) -> Path:
    """An empty current folder, with a corpus of the user's own beside it."""
    monkeypatch.setenv("TRANSFORMER_DATA", str(tmp_path / "data"))
    for name in ("data", "here"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    add_corpus("mine", ("xa", "xb"))
    return tmp_path / "here"


@pytest.mark.slow
def test_a_run_is_trained_taken_up_and_compared(here: Path, tmp_path: Path) -> None:
    file = here / "records" / "xa-xb.json"
    record_own_text_run("mine", "xa-xb", file, settings=QUICK)
    record = read_json(file)
    description = read_json(tmp_path / "data" / "mine" / "corpus.json")
    assert record["corpus"]["packages"] == ["sed"]
    for key in ("pairs", "pairs_dropped", "sha256", "licence"):
        assert record["corpus"][key] == description[key]
    assert record["training"] == read_json(here / "runs" / "xa-xb" / "run.json")
    assert record["figures"]["sentences"] == description["pairs"]["test"]
    assert record["figures"]["placeholders"]["sentences"] == description["pairs"]["test"]
    assert record["figures"]["baselines"]["nearest_training_source"]["chrf++"] > 0
    # No sentence of the text, and no file of this computer.
    first = corpora.load("mine", "test", "xa", "xb").src[0]
    assert first not in file.read_text()
    assert "/usr/share" not in file.read_text()

    weights = here / "runs" / "xa-xb" / "model.safetensors"
    written = weights.stat().st_mtime_ns
    record_own_text_run("mine", "xa-xb", file, settings=QUICK)
    assert weights.stat().st_mtime_ns == written
    assert read_json(file) == record

    # The start model's text has 100 of the pairs, split by another side.
    add_corpus("theirs", ("xc", "xb"), num_pairs=100)
    record_own_text_run("theirs", "xc-xb", here / "b.json", settings=QUICK)
    started = here / "c.json"
    record_own_text_run(
        "mine",
        "xa-xb",
        started,
        settings=["steps=1"],
        start_from="runs/b",
        compare_with=str(weights.parent),
    )
    record = read_json(started)
    assert record["training"]["start_from"]["languages"] == "xc-xb"
    test = set(corpora.load("mine", "test", "xa", "xb").src)
    known = len(test & set(corpora.load("theirs", "train", "xc", "xb").src))
    assert record["known_test_sources"] == known
    compared = record["comparison"]
    assert compared["with"] == "runs/xa-xb"
    assert compared["all"]["sentences"] - compared["new_sources"]["sentences"] == known > 0
    assert compared["all"]["low"] <= compared["all"]["difference"] <= compared["all"]["high"]


def never(*_: Any, **__: Any) -> None:
    raise AssertionError("the work was begun")


@pytest.mark.slow
def test_another_run_or_corpus_is_refused(here: Path, tmp_path: Path, monkeypatch: Patch) -> None:
    file = here / "a.json"
    record_own_text_run("mine", "xa-xb", file, settings=QUICK)
    file.unlink()
    monkeypatch.setattr(own_text, "evaluate_saved_model", never)
    monkeypatch.setattr(own_text, "train_recipe", never)
    for changes, said in (
        ({"corpus": "yours"}, r"'yours' is no corpus of your own: add it \(there: mine\)"),
        ({"direction": "xb-xa"}, "runs/a holds a run with src_lang xa, not xb, tgt_lang xb, not"),
        ({"settings": ["dropout=0.5"]}, "runs/a holds a run with dropout 0.3, not 0.5"),
        ({"start_from": "demo-en-fr"}, "the run in runs/a began without --start-from"),
        ({"compare_with": "demo-en-fr"}, "was trained on embedded en-fr: compare with .* mine xa-"),
    ):
        with pytest.raises(UserError, match=said):
            record_own_text_run(
                **{"corpus": "mine", "direction": "xa-xb", "file": file} | changes  # type: ignore[arg-type]
            )
    description_file = tmp_path / "data" / "mine" / "corpus.json"
    content = (tmp_path / "data" / "mine" / "test.tsv").read_bytes().partition(b"\n")[2]
    (tmp_path / "data" / "mine" / "test.tsv").write_bytes(content)
    description = read_json(description_file)
    description["sha256"]["test.tsv"] = hashlib.sha256(content).hexdigest()
    write_json(description_file, description)
    with pytest.raises(UserError, match=r"mine has changed since runs/a .*test\.tsv"):
        record_own_text_run("mine", "xa-xb", file)
    assert not file.exists()


def test_only_the_names_of_folders_are_recorded() -> None:
    command = (
        "python -m transformer train mine --out /home/me/runs/a --start-from '/x y/b' --set a=1"
    )
    assert own_text._with_folder_names_only(command) == (
        "python -m transformer train mine --out runs/a --start-from runs/b --set a=1"
    )


def test_what_is_typed_reaches_the_training(here: Path, monkeypatch: Patch) -> None:
    begun: list[Any] = []

    def stopped(recipe: Recipe, folder: Path, **options: Any) -> None:
        begun.append((recipe, folder, options))
        raise KeyboardInterrupt

    monkeypatch.setattr(own_text, "train_recipe", stopped)
    typed = "own-text mine xb-xa --set steps=2 --out o --record r.json --start-from demo-en-fr"
    assert main(typed.split()) == 130
    ((recipe, folder, options),) = begun
    assert (recipe.data.corpus, recipe.data.src_lang, recipe.data.tgt_lang) == ("mine", "xb", "xa")
    assert (recipe.training.steps, folder) == (2, Path("o"))
    assert options == {"resume": False, "start_from": "demo-en-fr"}


def test_a_row_of_the_table_by_hand(tmp_path: Path, monkeypatch: Patch) -> None:
    made = sample()
    made["training"] |= {
        "precision": "bf16",
        "pairs": {"training": {"used": 6243}},
        "start_from": {"languages": "en-tr"},
    }
    made["figures"]["bleu"]["signature"] = "nrefs:1|tok:ja-mecab|smooth:exp"
    (tmp_path / "own_text").mkdir()
    write_json(tmp_path / "own_text" / "en-fr-from-tr.json", made)
    del made["training"]["start_from"]
    made["figures"]["placeholders"] = {"sentences": 1017, "kept": 71.25}
    write_json(tmp_path / "own_text" / "en-fr.json", made)
    monkeypatch.setattr(own_text_table, "results_folder", lambda: tmp_path)
    *_, first, second = own_text_table.own_text_table().splitlines()
    assert first == (
        "| en-fr | 6,243 | 9,038,341 | 12,345 | 62 | 37.80 (36.11 to 39.50), ja-mecab "
        "| 61.26 (60.00 to 62.00) | 1.25, 14.50 | 22.50, 40.00 | 71.2% of 1,017 "
        "| an abacus, 2 threads, bfloat16, 2017-06-12 |"
    )
    assert second.startswith("| en-fr, from en-tr | 6,243 |")
    assert "| none |" in second
