"""The registry, names that are wrong, and Multi30k with its quirks."""

import dataclasses
import gzip
import hashlib
import json
import logging
import re
import subprocess
import sys
from pathlib import Path

import pytest

from transformer.data import corpora
from transformer.data.parallel import split_lines, tidy
from transformer.data.registry import CORPORA, Corpus, DataFile
from transformer.support.errors import UserError


@pytest.fixture
def real(shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRANSFORMER_DATA", str(shared_data))
    return shared_data


def corpus_of(folder: Path, **texts: bytes) -> Corpus:
    """Multi30k with validation files of the test's own: `corpus_of(folder, de=b"...", en=...)`."""
    files = []
    (folder / "multi30k").mkdir()
    for lang, text in texts.items():
        content = gzip.compress(text, mtime=0)
        (folder / "multi30k" / f"val.{lang}.gz").write_bytes(content)
        sha256 = hashlib.sha256(content).hexdigest()
        files.append(DataFile(name=f"multi30k/val.{lang}.gz", sha256=sha256))
    return dataclasses.replace(CORPORA["multi30k"], files=tuple(files), cache=folder, mirrors=())


@pytest.fixture
def no_user_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRANSFORMER_DATA", raising=False)


def test_every_entry_is_complete() -> None:
    assert list(CORPORA) == ["embedded", "parses", "multi30k", "tatoeba", "iwslt"]
    for name, corpus in CORPORA.items():
        assert corpus.name == name
        assert corpus.about
        assert corpus.licence
        assert corpus.citation
        assert {"train", "validation"} < set(corpus.splits)
        assert len(set(corpus.pairs)) == len(corpus.pairs)
        assert bool(corpus.files) == bool(corpus.mirrors)
        for mirror in corpus.mirrors:
            assert re.fullmatch(r"https://.*/", mirror)
        for file in corpus.files:
            assert file.name.startswith(f"{name}/")
            assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)


def test_multi30k_has_each_split_in_each_language() -> None:
    names = {file.name for file in CORPORA["multi30k"].files}
    stems = [split.replace("validation", "val") for split in CORPORA["multi30k"].splits]
    assert names == {f"multi30k/{s}.{lang}.gz" for s in stems for lang in ("de", "en", "fr")}
    assert len({file.sha256 for file in CORPORA["multi30k"].files}) == 18


def test_the_sums_are_those_of_the_publishers_files(shared_data: Path) -> None:
    listed = dict(
        reversed(line.split(maxsplit=1))
        for line in (shared_data / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    )
    readme = (shared_data / "README.md").read_text(encoding="utf-8")
    for corpus in CORPORA.values():
        for file in corpus.files:
            assert listed.get(f"./{file.name}", file.sha256) == file.sha256
            assert file.sha256 in readme or f"./{file.name}" in listed
            if (path := shared_data / file.name).exists():
                assert path.stat().st_size == file.size


def test_importing_it_is_light() -> None:
    code = (
        "import json, sys; import transformer.data.corpora; "
        "print(json.dumps(sorted({n.partition('.')[0] for n in sys.modules})))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert not {"torch", "numpy", "pooch", "requests", "tqdm"} & set(json.loads(done.stdout))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("multi30", "train", "de", "en"), "unknown corpus 'multi30': did you mean 'multi30k'?"),
        (
            ("multi30k", "test_2016", "de", "en"),
            "unknown split of multi30k 'test_2016': did you mean 'test_2016_flickr'?",
        ),
        (("multi30k", "val", "de", "en"), "unknown split of multi30k 'val'"),
        (("tatoeba", "train", "de", "en"), r"unknown language of tatoeba 'de'.*known: en, fr"),
        (("multi30k", "train", "de", "eng"), "unknown language .* 'eng': did you mean 'en'?"),
        (("iwslt", "train", "de", "fr"), "iwslt has no de-fr: give one of de-en, en-de, en-fr"),
        (("embedded", "train", "en", "en"), "embedded has no en-en: give one of de-en"),
    ],
)
def test_wrong_names(arguments: tuple[str, str, str, str], message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        corpora.load(*arguments)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("function", [corpora.fetch, corpora.verify])
def test_wrong_corpus_to_fetch_or_verify(function: object) -> None:
    with pytest.raises(UserError, match=r"did you mean 'tatoeba'\?"):
        function("tatoba")  # type: ignore[operator]


MULTI30K, TATOEBA = CORPORA["multi30k"], CORPORA["tatoeba"]


@pytest.mark.parametrize(
    ("corpus", "message"),
    [
        (
            dataclasses.replace(MULTI30K, name="mine"),
            "no reader for a corpus named 'mine': .*embedded, iwslt, multi30k, .*ParallelText",
        ),
        (
            dataclasses.replace(MULTI30K, files=()),
            r"multi30k lists no file 'multi30k/val\.de\.gz': add it",
        ),
        (
            dataclasses.replace(TATOEBA, files=()),
            r"tatoeba lists no file 'tatoeba/data\.zip': add it",
        ),
        (
            dataclasses.replace(CORPORA["iwslt"], splits=("validation", "dev")),
            "iwslt's reader does not know the split 'dev'",
        ),
        (
            dataclasses.replace(TATOEBA, pairs=(("de", "en"), ("it", "en"))),
            "tatoeba's reader does not know the direction de-en",
        ),
    ],
)
def test_a_corpus_of_ones_own_that_no_reader_can_read(corpus: Corpus, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        corpora.load(corpus, "validation", *corpus.pairs[0])
    assert "\n" not in str(caught.value)


def test_the_embedded_corpus_needs_no_file() -> None:
    assert corpora.fetch("embedded") == []
    assert corpora.verify("embedded") == []


@pytest.mark.parametrize(("src_lang", "tgt_lang"), CORPORA["multi30k"].pairs)
@pytest.mark.parametrize(("split", "count"), [("validation", 1014), ("test_2016_flickr", 1000)])
def test_multi30k_sizes(real: Path, split: str, count: int, src_lang: str, tgt_lang: str) -> None:
    text = corpora.load("multi30k", split, src_lang, tgt_lang)
    assert (len(text), text.src_lang, text.tgt_lang) == (count, src_lang, tgt_lang)
    assert text.references is None
    assert text.alignments is None


def test_multi30k_train_survives_its_quirks(real: Path) -> None:
    text = corpora.load("multi30k", "train", "de", "fr")
    assert len(text) == len(text.tgt) == 29_000
    for side in (text.src, text.tgt):
        assert all(line == " ".join(line.split(" ")) == line.strip() for line in side)
        assert not any(blank in line for line in side for blank in "\t\u00a0\u202f\u2009")
    raw = gzip.decompress((real / "multi30k" / "train.de.gz").read_bytes()).decode()
    assert "\t" in raw.split("\n")[7365]
    assert text.src[7365] == " ".join(raw.split("\n")[7365].split())
    assert text.src[0] == "Zwei junge weiße Männer sind im Freien in der Nähe vieler Büsche."
    assert text.tgt[0] == "Deux jeunes hommes blancs sont dehors près de buissons."


def test_the_two_directions_mirror_each_other(real: Path) -> None:
    there = corpora.load("multi30k", "validation", "de", "en")
    back = corpora.load("multi30k", "validation", "en", "de")
    assert (there.src, there.tgt) == (back.tgt, back.src)


def test_sides_of_different_length(no_user_folder: None, tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path, de=b"eins\nzwei\ndrei\n", en=b"one\ntwo\n")
    message = "multi30k validation: 3 lines of de, 2 of en; line i of one must translate"
    with pytest.raises(UserError, match=message):
        corpora.load(corpus, "validation", "de", "en")


def test_pairs_with_an_empty_side_are_dropped_and_counted(
    no_user_folder: None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    corpus = corpus_of(
        tmp_path, de=b"eins\n\ndrei\nvier\n \t\n", en=b"one\ntwo\n\xc2\xa0\nfour\n\n"
    )
    with caplog.at_level(logging.WARNING):
        text = corpora.load(corpus, "validation", "de", "en")
    assert (text.src, text.tgt) == (["eins", "vier"], ["one", "four"])
    assert caplog.messages == [
        "multi30k validation: dropped 3 of 5 pairs, which have an empty side"
    ]


@pytest.mark.parametrize("content", [b"", b"\n\n\n"])
def test_an_empty_corpus(no_user_folder: None, tmp_path: Path, content: bytes) -> None:
    corpus = corpus_of(tmp_path, de=content, en=content)
    with pytest.raises(UserError, match="no sentence pair in"):
        corpora.load(corpus, "validation", "de", "en")


def test_lines_end_at_line_feeds_only() -> None:
    text = "a\u2028b\u0085c\rd\x1ce\nf\n"
    assert split_lines(text) == ["a\u2028b\u0085c\rd\x1ce", "f"]
    assert len(text.splitlines()) == 6  # what it would be otherwise


def test_tidy() -> None:
    assert tidy("\u00a0Un\u202f\thomme  ici\u2009!\r") == "Un homme ici !"
