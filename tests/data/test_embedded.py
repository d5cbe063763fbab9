"""The embedded corpus: its file is read only if it is whole, its trees by hand."""

import zlib
from pathlib import Path

import pytest

from transformer.data import corpora
from transformer.data.corpora import CORPORA, FILE, Embedded, embedded
from transformer.support.files import corpus_folder

SENTENCES = [each for split in CORPORA["embedded"].splits for each in embedded.sentences(split)]


def test_a_damaged_or_missing_file_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = (corpus_folder() / FILE).read_bytes()
    monkeypatch.setattr(corpora, "corpus_folder", lambda: tmp_path)
    with pytest.raises(FileNotFoundError):
        Embedded().parses("test", "en", "tree")
    damaged = [content[:-5], b"", b"no gzip"]
    for place in (0, 1000, len(content) // 2, len(content) - 1):
        damaged.append(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
    for bad in damaged:
        (tmp_path / FILE).write_bytes(bad)
        with pytest.raises((OSError, EOFError, TypeError, zlib.error)):
            Embedded().pairs("train", "de", "en")


TREES = {
    "Who got up ?": "(S WP (VP VB RP )VP . )S",
    "How many bananas did Thomas buy ?": "(S (NP WP JJ NN )NP AUX (NP NN )NP (VP VB )VP . )S",
    "The actor believes that our grandmother ate a red tomato .": "(S (NP DT NN )NP (VP VB (SBAR "
    "IN (S (NP DT NN )NP (VP VB (NP DT JJ NN )NP )VP )S )SBAR )VP . )S",
    "The fisherman who forgot the bag is rich .": "(S (NP DT NN (SBAR WP (S (VP VB (NP DT NN )NP "
    ")VP )S )SBAR )NP (VP AUX JJ )VP . )S",
    "Can the fisherman give cheese and a banana to us ?": "(S MD (NP DT NN )NP (VP VB (NP (NP NN "
    ")NP CC (NP DT NN )NP )NP (PP IN (NP PRP )NP )PP )VP . )S",
}


def test_trees_by_hand() -> None:
    assert {each.en: each.parse for each in SENTENCES if each.en in TREES} == TREES
    text = corpora.load("parses", "test", "en", "tree")
    assert list(text.tgt) == [each.parse for each in embedded.sentences("test")]
