"""Encoded text that is kept: read again, never trusted, made by several at once."""

import logging
import os
import pickle
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.corpus import small_corpus
from transformer.config import DataConfig
from transformer.data import corpora, readers, tokenizers
from transformer.data.batches import LeftOut, encode_and_count_pairs
from transformer.data.examples import ExampleArrays
from transformer.data.own_corpora import add_own_corpus, remove_own_corpus
from transformer.data.source_text import PairsWithOrigin
from transformer.support.errors import UserError
from transformer.support.folders import text_cache_folder
from transformer.training import text_cache
from transformer.training.text_cache import (
    MAX_UNUSED_DAYS,
    MappedExamples,
    SplitText,
    encode_or_read_examples,
    learn_or_read_tokenizers,
)

Patch = pytest.MonkeyPatch
DATA = DataConfig(corpus="embedded", src_lang="en", tgt_lang="fr", vocab_size=280)
Prepared = tuple[dict[str, Any], dict[str, Any], ExampleArrays, LeftOut]
MAX_TOKENS = 8  # 10 pairs are longer
LOAD = corpora.load


@pytest.fixture(autouse=True)
def few_pairs(monkeypatch: Patch) -> None:
    monkeypatch.setattr(corpora, "load", small_corpus)


def prepare(corpus: str = "embedded") -> Prepared:
    text = SplitText(corpus, "train", "en", "fr")
    src, tgt = learn_or_read_tokenizers(replace(DATA, corpus=corpus), text)
    examples, left_out = encode_or_read_examples(src, tgt, text, MAX_TOKENS)
    return src.to_dict(), tgt.to_dict(), examples, left_out  # type: ignore[attr-defined]


def expected() -> Prepared:
    text = small_corpus("embedded", "train", "en", "fr")
    src, tgt = tokenizers.train(DATA, text.src, text.tgt)
    examples, left_out = encode_and_count_pairs(src, tgt, text, MAX_TOKENS)
    assert left_out.too_long > 0
    return src.to_dict(), tgt.to_dict(), examples, left_out  # type: ignore[attr-defined]


def cache_files() -> list[Path]:
    return sorted(text_cache_folder().iterdir())


def refuse_work(monkeypatch: Patch) -> None:
    def unexpected(*_: object) -> None:
        raise AssertionError("this was made before")

    monkeypatch.setattr(text_cache, "encode_and_count_pairs", unexpected)
    monkeypatch.setattr(tokenizers, "train", unexpected)


def test_a_second_run_reads_what_the_first_made(monkeypatch: Patch) -> None:
    assert prepare() == expected()
    assert len(cache_files()) == 2
    refuse_work(monkeypatch)
    again = prepare()
    monkeypatch.undo()
    monkeypatch.setattr(corpora, "load", small_corpus)
    assert again == expected()
    # What a run is begun with and held against is not computed again.
    assert isinstance(again[2], MappedExamples)
    assert again[2].checksum() == expected()[2].checksum()


def change_byte(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


def add_corpus(words: str) -> Path:
    """Add an own corpus of such words."""
    pairs = [(f"{words[i % 7]}{i} and {words[i % 5]}", f"{words[i % 3]}{i} et") for i in range(199)]
    return add_own_corpus("mine", ("en", "fr"), PairsWithOrigin(pairs=pairs, files=["my"])).folder


def test_a_corpus_with_files_is_only_summed_a_second_time(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    monkeypatch.setenv("TRANSFORMER_DATA", str(tmp_path))
    monkeypatch.setattr(corpora, "load", LOAD)
    folder = add_corpus("abcdefg")
    first = prepare("mine")
    change_byte(folder / "test.tsv", 0)  # which a run does not read
    with monkeypatch.context() as patch:
        patch.setattr(corpora, "load", None)
        assert prepare("mine") == first
    path = folder / "train.tsv"
    content = path.read_bytes()
    damages: list[Callable[[], object]] = [lambda: change_byte(path, 3), path.unlink]
    for damage in damages:
        damage()
        with pytest.raises(UserError, match=r"train\.tsv is missing or damaged"):
            prepare("mine")
        path.write_bytes(content)
    shutil.rmtree(folder)
    add_corpus("hijklmn")
    assert prepare("mine")[0] != first[0]
    others = text_cache_folder() / "mine.2.train.de-en.0123456789abcdef.arrays"
    others.touch()
    remove_own_corpus("mine")
    assert cache_files() == [others]


def test_a_start_sums_each_file_once(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setenv("TRANSFORMER_DATA", str(tmp_path))
    monkeypatch.setattr(corpora, "load", LOAD)
    add_corpus("abcdefg")
    plain, summed = readers.has_sha256, list[str]()

    def counted(path: Path, sha256: str) -> bool:
        summed.append(path.name)
        return plain(path, sha256)

    monkeypatch.setattr(readers, "has_sha256", counted)
    for start in ("first", "second"):
        prepare("mine")
        assert summed == ["train.tsv"], start
        summed.clear()


DAMAGES: dict[str, Callable[[Path], object]] = {
    "a byte of the arrays": lambda path: change_byte(path, -70),
    "a byte before them": lambda path: change_byte(path, 20),
    "half": lambda path: path.write_bytes(path.read_bytes()[:900]),
    "nothing": lambda path: path.write_bytes(b""),
    "foreign": lambda path: path.write_bytes(b"[1, 2]\n"),
    "a count": lambda path: path.write_bytes(
        path.read_bytes().replace(b'"left_out": [', b'"left_out": [1')
    ),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=list(DAMAGES))
def test_a_damaged_file_is_named_and_made_anew(
    damage: Callable[[Path], object], caplog: pytest.LogCaptureFixture
) -> None:
    prepare()
    for path in cache_files():
        before = path.read_bytes()
        damage(path)
        if path.read_bytes() == before:
            continue
        caplog.clear()
        assert prepare() == expected()
        (line,) = (record.getMessage() for record in caplog.records)
        assert str(path) in line
        assert path.read_bytes() == before


@pytest.fixture
def files_of_another_version(monkeypatch: Patch) -> list[Path]:
    versions = text_cache._versions() | {"version of Unicode": "0.0"}
    with monkeypatch.context() as patch:
        patch.setattr(text_cache, "_versions", lambda: versions)
        prepare()
    return cache_files()


def last_used(paths: list[Path], days_ago: float) -> None:
    for path in paths:
        seconds = time.time() - days_ago * 24 * 60 * 60
        os.utime(path, (seconds, seconds))


def test_two_versions_that_share_a_folder_leave_each_other_their_files(
    files_of_another_version: list[Path], monkeypatch: Patch
) -> None:
    last_used(files_of_another_version, days_ago=MAX_UNUSED_DAYS - 1)
    assert prepare() == expected()
    assert {*files_of_another_version} < {*cache_files()}
    assert len(cache_files()) == 4
    refuse_work(monkeypatch)
    prepare()


def test_a_file_that_is_used_does_not_age() -> None:
    prepare()
    last_used(cache_files(), days_ago=MAX_UNUSED_DAYS + 1)
    prepare()
    assert all(path.stat().st_mtime > time.time() - 3600 for path in cache_files())


def test_files_of_another_version_go_when_they_were_not_used_for_long(
    files_of_another_version: list[Path], caplog: pytest.LogCaptureFixture
) -> None:
    users_own = text_cache_folder() / "embedded.train.en-fr.mine"
    users_own.touch()
    last_used([*files_of_another_version, users_own], days_ago=MAX_UNUSED_DAYS + 1)
    caplog.set_level(logging.INFO)
    assert prepare() == expected()
    assert users_own in cache_files()
    assert len(cache_files()) == 3
    assert not {*cache_files()} & {*files_of_another_version}
    said = [(record.levelno, record.getMessage()) for record in caplog.records]
    assert [level for level, _ in said] == [logging.INFO] * 2
    for path in files_of_another_version:
        assert any(str(path) in line for _, line in said)


def test_a_file_in_the_place_of_another_is_named_and_made_anew(
    files_of_another_version: list[Path], caplog: pytest.LogCaptureFixture
) -> None:
    others = [path.read_bytes() for path in files_of_another_version]
    for path in files_of_another_version:
        path.unlink()
    prepare()
    for path, content in zip(cache_files(), others, strict=True):
        path.write_bytes(content)
    assert prepare() == expected()
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == len(cache_files()) == 2
    for path in cache_files():
        assert any(str(path) in line and "version of Unicode" in line for line in said)


@pytest.mark.parametrize("name", ["file", 300 * "n"])
def test_what_cannot_be_kept_is_left_out_in_a_line(
    name: str, tmp_path: Path, monkeypatch: Patch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("TRANSFORMER_TEXT_CACHE", str(tmp_path / name))
    assert prepare() == expected()
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * 2
    assert all("not kept for the next run" in record.getMessage() for record in caplog.records)


class OneWord:
    """A tokenizer of somebody's own: every sentence is one word, with this id."""

    def __init__(self, token_id: int) -> None:
        self.token_id = token_id

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        return [[self.token_id] for _ in texts]


def test_what_a_tokenizer_of_ones_own_makes_is_not_kept() -> None:
    text = SplitText("embedded", "train", "en", "fr")
    for token_id in (5, 7):
        tokenizer: Any = OneWord(token_id)
        examples, _ = encode_or_read_examples(tokenizer, tokenizer, text, MAX_TOKENS)
        assert examples[0] == ([token_id], [token_id])


def test_two_that_make_it_at_once_leave_whole_files(monkeypatch: Patch) -> None:
    made: list[Prepared] = []
    both = threading.Barrier(2)
    plain = text_cache.encode_and_count_pairs

    def at_once(*arguments: Any) -> Any:
        both.wait(60)
        return plain(*arguments)

    monkeypatch.setattr(text_cache, "encode_and_count_pairs", at_once)
    threads = [threading.Thread(target=lambda: made.append(prepare())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [expected()] * 2
    assert len(cache_files()) == 2
    refuse_work(monkeypatch)
    prepare()


def test_another_process_of_the_machine_maps_the_same_file(monkeypatch: Patch) -> None:
    examples = prepare()[2]
    assert isinstance(examples, MappedExamples)
    message = pickle.dumps(examples)
    assert len(message) < examples.src.ids.nbytes + examples.tgt.ids.nbytes
    assert pickle.loads(message) == examples
    monkeypatch.setitem(os.environ, "LOCAL_WORLD_SIZE", "1")
    monkeypatch.setitem(os.environ, "WORLD_SIZE", "2")
    message = pickle.dumps(examples)
    for path in cache_files():
        path.unlink()
    assert pickle.loads(message) == examples
