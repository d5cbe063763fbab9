"""The embedded corpus's file: read only if it is what its check sum says."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from experiments.grammar import build
from transformer.data import corpora
from transformer.data import embedded as reader
from transformer.support.errors import UserError
from transformer.support.paths import corpus_folder


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
