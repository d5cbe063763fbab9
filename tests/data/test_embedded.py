"""The embedded corpus: its file read only if it is what its sum says, its trees by hand."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from experiments.grammar import build
from transformer.data import corpora
from transformer.data import embedded as reader
from transformer.evaluation.scores import phrases
from transformer.support.errors import UserError
from transformer.support.files import corpus_folder


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the corpus's file and its sum, which is read in place of the course's own."""
    for name in (reader.FILE, reader.SUM):
        shutil.copy(corpus_folder() / name, tmp_path)
    monkeypatch.setattr(reader, "corpus_folder", lambda: tmp_path)
    reader._corpus.cache_clear()
    yield tmp_path / reader.FILE
    reader._corpus.cache_clear()


def test_the_sum_is_one_that_the_system_reads_too() -> None:
    command = ["sha256sum", "--check", "--strict", reader.SUM]
    assert subprocess.run(command, cwd=corpus_folder(), capture_output=True).returncode == 0


def test_no_flipped_bit_is_read(copy: Path) -> None:
    content = copy.read_bytes()
    for place in (4, 9, 1000, len(content) // 2, len(content) - 1):  # 4: the date, no text
        damaged = bytearray(content)
        damaged[place] ^= 1
        copy.write_bytes(damaged)
        with pytest.raises(UserError, match=r"sentences\.tsv\.gz is corrupted .*git checkout"):
            corpora.load("embedded", "train", "de", "en")
    copy.write_bytes(content)
    assert len(corpora.load("embedded", "test", "de", "en")) == 1000


@pytest.mark.parametrize("name", [reader.FILE, reader.SUM])
def test_a_missing_part_is_named(copy: Path, name: str) -> None:
    copy.with_name(name).unlink()
    with pytest.raises(UserError, match=rf"cannot read .*{name} \(No such file"):
        corpora.load("parses", "test", "en", "tree")


def test_what_is_drawn_anew_is_read_again(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = reader.sentences("test")[:3]
    monkeypatch.setattr(build, "build", lambda: iter([("test", each) for each in few]))
    build.write(copy)
    reader._corpus.cache_clear()
    assert reader.sentences("test") == few


def test_every_tree_of_the_corpus_is_whole() -> None:
    for split in reader.SIZES:
        for sentence in reader.sentences(split):
            tokens, words = sentence.parse.split(), len(sentence.en.split())
            opened = [token for token in tokens if token.startswith("(")]
            assert len(opened) == sum(token.startswith(")") for token in tokens)
            assert len(tokens) - 2 * len(opened) == words
            found = phrases(sentence.parse)
            assert found.total() == len(opened)
            assert found["S", 0, words] == 1


def parse_of(text: str) -> str:
    return next(
        each.parse
        for split in reader.SIZES
        for each in reader.sentences(split)
        if each.en.startswith(text)
    )


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("Who got up ?", "(S WP (VP VB RP )VP . )S"),
        ("How many bananas did Thomas buy ?", "(S (NP WP JJ NN )NP AUX (NP NN )NP (VP VB )VP . )S"),
        (
            "The actor believes that our grandmother ate a red tomato .",
            "(S (NP DT NN )NP (VP VB (SBAR IN (S (NP DT NN )NP (VP VB (NP DT JJ NN )NP )VP )S "
            ")SBAR )VP . )S",
        ),
        (
            "The fisherman who forgot the bag is rich .",
            "(S (NP DT NN (SBAR WP (S (VP VB (NP DT NN )NP )VP )S )SBAR )NP (VP AUX JJ )VP . )S",
        ),
        (
            "Can the fisherman give cheese and a banana to us ?",
            "(S MD (NP DT NN )NP (VP VB (NP (NP NN )NP CC (NP DT NN )NP )NP (PP IN (NP PRP )NP )PP "
            ")VP . )S",
        ),
    ],
)
def test_trees_by_hand(text: str, tree: str) -> None:
    assert parse_of(text) == tree


def test_every_kind_of_phrase_is_there() -> None:
    kinds = {
        token for each in reader.sentences("test") for token in each.parse.split() if "(" in token
    }
    assert kinds == {"(S", "(SBAR", "(NP", "(VP", "(PP", "(ADVP"}


def test_the_corpus_of_parses() -> None:
    text = corpora.load("parses", "test", "en", "tree")
    assert len(text) == reader.SIZES["test"]
    assert list(text.tgt) == [each.parse for each in reader.sentences("test")]
