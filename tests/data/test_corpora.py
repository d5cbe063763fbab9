"""The corpora by name: the table, wrong names, downloads, and what loading returns of each."""

import gzip
import hashlib
import re
import threading
import time
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import python
from transformer.data import corpora, downloads
from transformer.data.corpora import CORPORA
from transformer.data.grouping import grouping_key
from transformer.data.parallel import ParallelText
from transformer.data.readers import READERS_BY_FORMAT, Corpus
from transformer.support.errors import UserError

Patch = pytest.MonkeyPatch


@pytest.fixture
def real(shared_data: Path, monkeypatch: Patch) -> Path:
    """The publishers' own files, which are read."""
    monkeypatch.setenv("TRANSFORMER_DATA", str(shared_data))
    return shared_data


def test_every_entry_is_complete() -> None:
    for name, corpus in CORPORA.items():
        assert all((corpus.name == name, corpus.about, corpus.licence, corpus.citation))
        assert {"train", "validation"} < set(corpus.splits)
        assert corpora.default_test_split(name).startswith("test")
        assert all(pair.count("-") == 1 for pair in corpus.directions)
        assert corpus.format in READERS_BY_FORMAT
        assert not corpus.url or (corpus.files and re.fullmatch(r"https://.*/", corpus.url))
        assert all(re.fullmatch(r"[0-9a-f]{64}", sha256) for sha256 in corpus.files.values())
        if corpus.format == "lines":  # a file for each language of each split, and no other
            langs = {lang for pair in corpus.directions for lang in pair.split("-")}
            names = {
                corpus.options["file"].format(split=corpus.options.get(split, split), lang=lang)
                for split in corpus.splits
                for lang in langs
            }
            assert corpus.files.keys() == names


def test_importing_is_light() -> None:
    for module, heavy in (
        ("corpora", {"torch", "numpy", "requests", "tokenizers"}),
        ("tokenizers", {"torch", "spacy"}),
    ):
        code = f"import sys, transformer.data.{module}; print({heavy} & set(sys.modules))"
        assert python("-c", code).stdout == "set()\n"


def test_wrong_names() -> None:
    for arguments, message in (
        ("multi30 train de en", "unknown corpus 'multi30': did you mean 'multi30k'?"),
        ("multi30k test_2016 de en", "split of multi30k 'test_2016': did you mean 'test_2016_f"),
        ("tatoeba train de fr", "tatoeba has no 'de-fr': give one of en-fr, fr-en"),
        ("parses test tree en", "parses has no 'tree-en': give one of en-tree"),
    ):
        with pytest.raises(UserError, match=message):
            corpora.load(*arguments.split())
    for function in (corpora.fetch, corpora.default_test_split):
        with pytest.raises(UserError, match=r"did you mean 'tatoeba'\?"):
            function("tatoba")


# --- downloads, from a server of this machine that answers well or badly ------------------

CONTENT = gzip.compress(b"Ein Hund.\nZwei Katzen.\n", mtime=0)
NAME, SUM = "val.de.gz", hashlib.sha256(CONTENT).hexdigest()


class Handler(BaseHTTPRequestHandler):
    """Sends the file as the first part of an address says: /good/, /truncated/ ..."""

    asked: list[str]

    def do_GET(self) -> None:
        manner = self.path.split("/")[1]
        self.asked.append(manner)
        if manner == "missing":
            self.send_error(404)
            return
        self.send_response(200)
        told = {"boasting": "9" * 400, "mumbling": "much", "endless": 10**7, "slow": 10**7}
        self.send_header("Content-Length", str(told.get(manner, len(CONTENT))))
        self.end_headers()
        sent = {"truncated": CONTENT[:-9], "corrupted": CONTENT[:-1] + b"?"}
        with suppress(OSError):  # the client may go
            self.wfile.write(sent.get(manner, CONTENT))
            for _ in range(100 if manner in ("endless", "slow") else 0):
                time.sleep(0.01 if manner == "slow" else 0)
                self.wfile.write(b"?" * (downloads.CHUNK_BYTES if manner == "slow" else 10**5))

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: Patch, tmp_path: Path) -> Iterator[str]:
    """The server's address; no folder of the user's, an empty cache."""
    monkeypatch.delenv("TRANSFORMER_DATA", raising=False)
    monkeypatch.setattr(downloads, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(Handler, "asked", [], raising=False)
    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def fetch(address: str) -> Path:
    """Fetch a Multi30k of one file from an address."""
    small = replace(CORPORA["multi30k"], url=address, files={NAME: SUM})
    with Patch.context() as patch:
        patch.setitem(CORPORA, "multi30k", small)
        (path,) = corpora.fetch("multi30k")
        assert corpora.is_intact_by_file("multi30k") == {path: True}
    assert path.read_bytes() == CONTENT
    return path


def test_what_is_downloaded_is_right_and_asked_for_once(
    server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        assert fetch(f"{server}good/") == tmp_path / "cache" / "multi30k" / NAME
    assert [path.name for path in (tmp_path / "cache").rglob("*")] == ["multi30k", NAME]
    assert Handler.asked == ["good"]
    assert capsys.readouterr() == ("", f"downloading {server}good/{NAME}\n")


def test_a_failure_says_what_to_do_in_a_line_and_leaves_no_file(
    server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "cache" / "multi30k" / NAME
    for manner, limits, reason in (
        ("truncated", {}, "IncompleteRead"),
        ("boasting", {}, "IncompleteRead"),
        ("corrupted", {}, f"another file came, of {len(CONTENT)} bytes"),
        ("missing", {}, "404 Client Error: Not Found"),
        ("endless", {"BYTES": 1000}, "over 1,000 bytes, or 600 seconds"),
        ("slow", {"SECONDS": 0.1}, "over 100,000,000 bytes, or 0.1 seconds"),
    ):
        message = rf"cannot get {place} .*{reason}.* put the right .*{SUM}"
        with Patch.context() as patch:
            for unit, limit in limits.items():
                patch.setattr(downloads, f"MAX_DOWNLOAD_{unit}", limit)
            with pytest.raises(UserError, match=message):
                fetch(f"{server}{manner}/")
        assert capsys.readouterr().err.count("\n") == 1
        assert not place.exists()
    assert fetch(f"{server}mumbling/") == place


def test_the_networks_settings_are_named(server: str, monkeypatch: Patch) -> None:
    monkeypatch.setenv("no_proxy", "")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9/")
    with pytest.raises(UserError, match=r"proxy.*see to the network \(https_proxy and REQUESTS_CA"):
        fetch("http://example.com/")


def test_a_corrupted_cached_file_is_downloaded_anew_and_never_used(
    server: str, tmp_path: Path
) -> None:
    place = tmp_path / "cache" / "multi30k" / NAME
    place.parent.mkdir(parents=True)
    place.write_bytes(b"half a file")
    assert not corpora.is_intact_by_file("multi30k")[place]
    with pytest.raises(UserError, match="404 Client Error"):
        fetch(f"{server}missing/")
    assert fetch(f"{server}good/") == place


def test_the_users_folder_is_used_in_place_of_the_cache(
    server: str, tmp_path: Path, monkeypatch: Patch
) -> None:
    place = tmp_path / "own" / "multi30k" / NAME
    monkeypatch.setenv("TRANSFORMER_DATA", str(tmp_path / "own"))
    with pytest.raises(UserError, match=r"TRANSFORMER_DATA is .*own.*create it"):
        fetch(f"{server}good/")
    place.parent.mkdir(parents=True)
    assert fetch(f"{server}good/") == place
    place.write_bytes(CONTENT[:-3])  # the user's own copy is refused, and left as it is
    with pytest.raises(UserError, match=f"{place} is not the publisher's, or damaged: .*{SUM}"):
        fetch(f"{server}good/")
    assert place.read_bytes() == CONTENT[:-3]
    assert Handler.asked == ["good"]


# --- what loading gives ---------------------------------------------------------------------


def test_multi30k_in_every_direction(real: Path) -> None:
    for split, count in (("validation", 1014), ("test_2016_flickr", 1000)):
        for src_lang, tgt_lang in (pair.split("-") for pair in CORPORA["multi30k"].directions):
            text = corpora.load("multi30k", split, src_lang, tgt_lang)
            back = corpora.load("multi30k", split, tgt_lang, src_lang)
            assert (len(text), text.src_lang, text.tgt_lang) == (count, src_lang, tgt_lang)
            assert (text.src, text.tgt) == (back.tgt, back.src)


def test_multi30k_train_survives_its_quirks(real: Path) -> None:
    text = corpora.load("multi30k", "train", "de", "fr")
    assert len(text) == 29_000
    for side in (text.src, text.tgt):
        assert all(line == " ".join(line.split()) for line in side)
    raw = gzip.decompress((real / "multi30k" / "train.de.gz").read_bytes()).decode().split("\n")
    assert "\t" in raw[7365]
    assert text.src[7365] == " ".join(raw[7365].split())
    assert text.src[0] == "Zwei junge weiße Männer sind im Freien in der Nähe vieler Büsche."
    assert text.tgt[0] == "Deux jeunes hommes blancs sont dehors près de buissons."


def own_corpus(folder: Path, monkeypatch: Patch, texts: dict[str, str], **entry: Any) -> None:
    """Make the corpus "own" of files in the user's own folder."""
    monkeypatch.setenv("TRANSFORMER_DATA", str(folder))
    (folder / "own").mkdir()
    sums = {}
    for name, text in texts.items():
        (folder / "own" / name).write_text(text, encoding="utf-8")
        sums[name] = hashlib.sha256((folder / "own" / name).read_bytes()).hexdigest()
    about = {"name": "own", "about": "mine", "licence": "none", "citation": "me", "files": sums}
    monkeypatch.setitem(CORPORA, "own", Corpus(**about | entry))


def test_a_corpus_of_ones_own_in_lines(tmp_path: Path, monkeypatch: Patch) -> None:
    own_corpus(
        tmp_path,
        monkeypatch,
        {"dev.es.txt": "¿Qué?\n\nEl  gato\n", "dev.pt.txt": "O quê?\nnada\nO gato\n"},
        format="lines",
        options={"file": "{split}.{lang}.txt", "validation": "dev"},
        directions=["es-pt", "pt-es"],
        splits=["validation"],
    )
    text = corpora.load("own", "validation", "es", "pt")
    assert (text.src, text.tgt) == (["¿Qué?", "El gato"], ["O quê?", "O gato"])
    corpus = corpora.find_corpus("own")
    assert corpus.has_intact_files("validation", ("es", "pt"))
    assert not corpus.has_intact_files("validation", ("es", "fr"))
    corpus.paths()["dev.pt.txt"].write_text("O cão\n")
    assert not corpus.has_intact_files("validation", ("es", "pt"))


def test_a_corpus_of_ones_own_in_pairs(tmp_path: Path, monkeypatch: Patch) -> None:
    lines = [
        "\tleer\n",
        *(f"Gato {number % 331}\tKatze’{number % 337}\n" for number in range(3, 3000)),
    ]
    own_corpus(
        tmp_path,
        monkeypatch,
        {"own.tsv": "".join(lines), "odd.tsv": "uno\tein\n \tzwei\ntres\n"},
        format="pairs",
        options={"file": "own.tsv", "languages": "es-de"},
        directions=["es-de", "de-es"],
        splits=["train", "validation", "test"],
    )
    assert corpora.read_unsplit_pairs("own")[:2] == [("Gato 3", "Katze'3"), ("Gato 4", "Katze'4")]
    there, back = (corpora.load("own", "train", *pair) for pair in (("es", "de"), ("de", "es")))
    assert sorted(all_pairs(there)) == sorted((es, de) for de, es in all_pairs(back))
    monkeypatch.setitem(
        CORPORA, "own", replace(CORPORA["own"], options={"file": "odd.tsv", "languages": "es-de"})
    )
    with pytest.raises(UserError, match=r"line 3 of .*odd.tsv has 1 columns: give it two"):
        corpora.read_unsplit_pairs("own")


def test_tatoebas_pairs_are_normalized_and_stand_once(tmp_path: Path, monkeypatch: Patch) -> None:
    (tmp_path / "tatoeba").mkdir()
    path = tmp_path / "tatoeba" / "data.zip"
    with zipfile.ZipFile(path, "w") as archive:
        lines = "Run!\tCours\u202f!\nRun!\tCours !\nDon’t!\tL’été!\n"
        archive.writestr("data/eng-fra.txt", lines)
    files = {path.name: hashlib.sha256(path.read_bytes()).hexdigest()}
    monkeypatch.setenv("TRANSFORMER_DATA", str(tmp_path))
    monkeypatch.setitem(CORPORA, "tatoeba", replace(CORPORA["tatoeba"], files=files))
    assert corpora.read_unsplit_pairs("tatoeba") == [("Run!", "Cours !"), ("Don't!", "L'été !")]


def all_pairs(text: ParallelText) -> list[tuple[str, str]]:
    references = text.accepted_translations
    return [(s, r) for s, refs in zip(text.src, references, strict=True) for r in refs]


@pytest.mark.weekly
def test_tatoebas_splits_hold_every_pair_once_and_share_no_side(real: Path) -> None:
    splits = [corpora.load("tatoeba", name, "en", "fr") for name in CORPORA["tatoeba"].splits]
    pairs = [all_pairs(text) for text in splits]
    sizes = [(len(text), len(split)) for text, split in zip(splits, pairs, strict=True)]
    assert sizes == [(132_266, 132_266), (1_163, 1_685), (1_153, 1_712)]
    assert Counter(pair for split in pairs for pair in split) == Counter(
        corpora.read_unsplit_pairs("tatoeba")
    )
    for side in (0, 1):
        keys = [{grouping_key(pair[side]) for pair in split} for split in pairs]
        assert len(set.union(*keys)) == sum(map(len, keys))
    train, *held_out = splits
    assert train.references is None
    lengths = [len(sentence) for sentence in train.src]  # shuffled: the file is by length
    half = len(lengths) // 2
    assert sum(lengths[:half]) == pytest.approx(sum(lengths[half:]), rel=0.02)
    for name, text in zip(("validation", "test"), held_out, strict=True):
        back = corpora.load("tatoeba", name, "fr", "en")
        assert Counter((en, fr) for fr, en in all_pairs(back)) == Counter(all_pairs(text))
        for direction in (text, back):  # Each source stands once, with all its references.
            assert len(set(direction.src)) == len(direction)
            assert list(direction.tgt) == [accepted[0] for accepted in direction.references or ()]


def test_a_split_is_loaded_without_a_download_where_its_files_are(
    shared_data: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    which = ("multi30k", "train", "de", "en")
    monkeypatch.setattr(downloads, "_download_bytes", lambda url: pytest.fail(f"asked for {url}"))
    monkeypatch.setenv("TRANSFORMER_DATA", str(shared_data))
    assert corpora.load_without_download(*which) == corpora.load(*which)
    monkeypatch.setenv("TRANSFORMER_DATA", str(tmp_path))
    assert corpora.load_without_download(*which) is None
    assert corpora.load_without_download("of-another-computer", "train", "en", "uk") is None
    assert corpora.load_without_download("embedded", "test", "en", "fr") is not None
