"""Downloads, rehearsed against a local server that answers well, badly, slowly or not at all."""

import contextlib
import dataclasses
import gzip
import hashlib
import os
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.helpers import ROOT
from transformer.data import corpora
from transformer.data.download import State, obtain
from transformer.data.registry import CORPORA, Corpus, DataFile
from transformer.support.errors import UserError
from transformer.support.paths import cache_folder

LINES = {"de": "Ein Hund.\nZwei Katzen.\n", "en": "A dog.\nTwo cats.\n"}


class Server(ThreadingHTTPServer):
    """Serves files; the first part of an address chooses how: /good/, /truncated/ ..."""

    daemon_threads = False
    contents: dict[str, bytes]
    asked: list[str]
    sent: int
    release: threading.Event

    def address(self, manner: str) -> str:
        return f"http://127.0.0.1:{self.server_port}/{manner}/"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        _, manner, name = self.path.split("/")
        self.server.asked.append(manner)
        content = self.server.contents.get(name)
        if manner == "flaky":
            manner = "good" if self.server.asked.count("flaky") > 1 else "broken"
        if content is None or manner in ("missing", "broken"):
            self.send_error(503 if manner == "broken" else 404)
            return
        if manner in ("endless", "dripping", "dripping_head"):
            with contextlib.suppress(ConnectionError):
                self.send_without_end(manner)
            return
        if manner == "corrupted":
            content = content[:-1] + bytes([content[-1] ^ 1])
        self.send_response(200)
        if manner != "unsized":
            length = "many" if manner == "nonsense" else str(len(content))
            self.send_header("Content-Length", length)
        self.end_headers()
        half = len(content) // 2
        if manner in ("truncated", "unsized"):
            self.wfile.write(content[:half])
            return
        self.wfile.write(content[:half])
        self.wfile.flush()
        if manner == "stalled":
            self.server.release.wait(5)
        if manner == "slow":
            self.server.release.wait(0.2)
        with contextlib.suppress(ConnectionError):
            self.wfile.write(content[half:])

    def send_without_end(self, manner: str) -> None:
        """Send 400 MB, or a byte every now and then, as long as somebody listens."""
        if manner == "dripping_head":
            self.wfile.write(b"HTTP/1.0 200 OK\r\nX: ")
        else:
            self.send_response(200)
            self.end_headers()
        piece, pause = (bytes(400_000), 0.0) if manner == "endless" else (b"x", 0.02)
        for _ in range(1000):
            if self.server.release.wait(pause):
                return
            self.wfile.write(piece)
            self.server.sent += len(piece)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server(("127.0.0.1", 0), Handler)
    server.contents = {
        f"val.{lang}.gz": gzip.compress(text.encode(), mtime=0) for lang, text in LINES.items()
    }
    server.asked = []
    server.sent = 0
    server.release = threading.Event()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.release.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(autouse=True)
def no_user_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRANSFORMER_DATA", raising=False)


def corpus_from(server: Server, cache: Path, *manners: str) -> Corpus:
    files = tuple(
        DataFile(
            name=f"multi30k/{name}",
            sha256=hashlib.sha256(content).hexdigest(),
            size=len(content),
        )
        for name, content in server.contents.items()
    )
    return dataclasses.replace(
        CORPORA["multi30k"],
        files=files,
        mirrors=tuple(server.address(manner) for manner in manners),
        cache=cache,
        timeout=0.5,
        deadline=3,
    )


def files_below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_downloads_checks_and_loads(server: Server, tmp_path: Path) -> None:
    corpus = corpus_from(server, tmp_path, "good")
    text = corpora.load(corpus, "validation", "de", "en")
    assert (text.src, text.tgt) == (["Ein Hund.", "Zwei Katzen."], ["A dog.", "Two cats."])
    assert files_below(tmp_path) == ["multi30k/val.de.gz", "multi30k/val.en.gz"]
    assert [r.state for r in corpora.verify(corpus)] == [State.OK, State.OK]


def test_a_second_fetch_asks_nobody(server: Server, tmp_path: Path) -> None:
    corpus = corpus_from(server, tmp_path, "good")
    first = corpora.fetch(corpus)
    assert len(server.asked) == 2
    assert corpora.fetch(corpus) == first
    assert len(server.asked) == 2


@pytest.mark.parametrize(
    "manner",
    ["truncated", "unsized", "corrupted", "missing", "broken", "stalled", "nonsense", "endless"],
)
def test_a_bad_mirror_gives_way_to_the_next(server: Server, tmp_path: Path, manner: str) -> None:
    corpus = corpus_from(server, tmp_path, manner, "good")
    path = obtain(corpus, corpus.files[0])
    assert path.read_bytes() == server.contents["val.de.gz"]
    assert server.asked == [manner, "good"]
    assert files_below(tmp_path) == ["multi30k/val.de.gz"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("manner", "reason", "times"),
    [
        ("truncated", "broke off", 3),
        ("corrupted", "sent a file with a wrong check sum", 3),
        ("missing", "answers 404", 1),
        ("stalled", "does not answer in time", 3),
        ("nonsense", "sent a broken answer", 3),
        ("endless", "sends more than the 43 bytes of this file", 1),
    ],
)
def test_a_failure_says_what_to_do_and_leaves_no_file(
    server: Server, tmp_path: Path, manner: str, reason: str, times: int
) -> None:
    corpus = corpus_from(server, tmp_path, manner)
    with pytest.raises(UserError) as caught:
        obtain(corpus, corpus.files[0])
    message = str(caught.value)
    assert "\n" not in message
    assert f"{server.address(manner)}val.de.gz {reason}" in message
    assert f"put the file (sha256 {corpus.files[0].sha256}) at {tmp_path}" in message
    assert "TRANSFORMER_DATA" in message
    assert files_below(tmp_path) == []
    assert server.asked == [manner] * times


@pytest.mark.slow
def test_offline_names_the_file_and_its_place(server: Server, tmp_path: Path) -> None:
    corpus = corpus_from(server, tmp_path)
    corpus = dataclasses.replace(corpus, mirrors=("http://127.0.0.1:9/",))  # nobody listens
    place = str(tmp_path / "multi30k" / "val.de.gz")
    with pytest.raises(UserError, match="cannot be reached") as caught:
        obtain(corpus, corpus.files[0])
    assert place in str(caught.value)


def test_a_passing_fault_is_asked_again(server: Server, tmp_path: Path) -> None:
    corpus = corpus_from(server, tmp_path, "flaky")
    assert obtain(corpus, corpus.files[0]).is_file()
    assert server.asked == ["flaky", "flaky"]


def test_a_slow_mirror_is_waited_for(server: Server, tmp_path: Path) -> None:
    corpus = corpus_from(server, tmp_path, "slow")
    assert obtain(corpus, corpus.files[0]).read_bytes() == server.contents["val.de.gz"]


@pytest.mark.parametrize("manner", ["dripping", "dripping_head"])
def test_a_mirror_has_so_much_time_and_is_not_asked_again(
    server: Server, tmp_path: Path, manner: str
) -> None:
    corpus = dataclasses.replace(corpus_from(server, tmp_path, manner, "good"), deadline=0.3)
    began = time.monotonic()
    path = obtain(corpus, corpus.files[0])
    assert time.monotonic() - began < 3
    assert path.read_bytes() == server.contents["val.de.gz"]
    assert server.asked == [manner, "good"]
    corpus = dataclasses.replace(corpus, mirrors=corpus.mirrors[:1])
    with pytest.raises(UserError, match=r"takes more than 0\.3 seconds"):
        obtain(corpus, corpus.files[1])
    assert server.asked == [manner, "good", manner]
    assert files_below(tmp_path) == ["multi30k/val.de.gz"]


def test_no_more_is_taken_than_the_file_has(server: Server, tmp_path: Path) -> None:
    corpus = corpus_from(server, tmp_path, "endless")
    with pytest.raises(UserError, match="sends more than the"):
        obtain(corpus, corpus.files[0])
    server.release.set()
    assert server.sent < 40_000_000  # what the system's buffers hold, of 400 MB
    assert list((tmp_path / "multi30k").iterdir()) == []


def test_what_a_killed_download_left_is_removed(server: Server, tmp_path: Path) -> None:
    corpus = corpus_from(server, tmp_path, "good")
    left, living = (tmp_path / "multi30k" / f".download-{name}" for name in ("left", "living"))
    for folder in (left, living):
        folder.mkdir(parents=True)
        (folder / "tmp").write_bytes(b"half a file")
    os.utime(left, (time.time() - 7, time.time() - 7))
    obtain(corpus, corpus.files[0])
    assert files_below(tmp_path) == ["multi30k/.download-living/tmp", "multi30k/val.de.gz"]


@pytest.mark.parametrize("kind", ["nowhere", "circle"])
def test_a_link_in_the_cache_that_leads_to_no_file_is_replaced(
    server: Server, tmp_path: Path, kind: str
) -> None:
    corpus = corpus_from(server, tmp_path, "good")
    link = tmp_path / "multi30k" / "val.de.gz"
    link.parent.mkdir()
    link.symlink_to(tmp_path / "none" if kind == "nowhere" else link)
    assert obtain(corpus, corpus.files[0]).read_bytes() == server.contents["val.de.gz"]
    assert not link.is_symlink()


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_what_is_no_file_in_the_cache(server: Server, tmp_path: Path, kind: str) -> None:
    corpus = corpus_from(server, tmp_path, "good")
    place = tmp_path / "multi30k" / "val.de.gz"
    place.parent.mkdir()
    if kind == "folder":
        place.mkdir()
        with pytest.raises(UserError, match=f"cannot write {place}: Is a directory"):
            obtain(corpus, corpus.files[0])
    else:
        os.mkfifo(place)
        assert obtain(corpus, corpus.files[0]).is_file()


def test_a_corrupted_cached_file_is_downloaded_anew(server: Server, tmp_path: Path) -> None:
    corpus = corpus_from(server, tmp_path, "good")
    path = obtain(corpus, corpus.files[0])
    path.write_bytes(b"half a file")
    with pytest.raises(UserError, match=r"corrupted: .*val\.de\.gz.*\(1 of 2 files\)"):
        corpora.verify(corpus)
    assert obtain(corpus, corpus.files[0]).read_bytes() == server.contents["val.de.gz"]


def test_a_failed_renewal_does_not_leave_the_bad_file_in_use(
    server: Server, tmp_path: Path
) -> None:
    corpus = corpus_from(server, tmp_path, "missing")
    bad = tmp_path / "multi30k" / "val.de.gz"
    bad.parent.mkdir()
    bad.write_bytes(b"half a file")
    for _ in range(2):
        with pytest.raises(UserError, match="answers 404"):
            obtain(corpus, corpus.files[0])


def test_the_users_folder_comes_first_and_is_never_written(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, cache = tmp_path / "own", tmp_path / "cache"
    (own / "multi30k").mkdir(parents=True)
    mine = own / "multi30k" / "val.de.gz"
    mine.write_bytes(server.contents["val.de.gz"])
    monkeypatch.setenv("TRANSFORMER_DATA", str(own))
    corpus = corpus_from(server, cache, "good")
    assert corpora.fetch(corpus) == [mine, cache / "multi30k" / "val.en.gz"]
    assert server.asked == ["good"]
    assert files_below(own) == ["multi30k/val.de.gz"]


def test_a_corrupted_copy_of_the_user_is_refused(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = tmp_path / "own" / "multi30k" / "val.de.gz"
    mine.parent.mkdir(parents=True)
    mine.write_bytes(server.contents["val.de.gz"][:-3])
    monkeypatch.setenv("TRANSFORMER_DATA", str(tmp_path / "own"))
    corpus = corpus_from(server, tmp_path / "cache", "good")
    with pytest.raises(UserError, match="is corrupted") as caught:
        corpora.load(corpus, "validation", "de", "en")
    assert str(mine) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert server.asked == []
    with pytest.raises(UserError, match="1 of 2 files"):
        corpora.verify(corpus)


def test_verify_reports_missing_files_and_downloads_nothing(server: Server, tmp_path: Path) -> None:
    corpus = corpus_from(server, tmp_path, "good")
    obtain(corpus, corpus.files[1])
    states = {report.name: report.state for report in corpora.verify(corpus)}
    assert states == {"multi30k/val.de.gz": State.MISSING, "multi30k/val.en.gz": State.OK}
    assert len(server.asked) == 1


def test_a_named_folder_must_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSFORMER_DATA", str(tmp_path / "none"))
    with pytest.raises(UserError, match=r"TRANSFORMER_DATA is .*none.*create it"):
        corpora.load("multi30k", "train", "de", "en")


def test_a_cache_that_cannot_be_written(server: Server, tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("not a folder")
    corpus = corpus_from(server, blocker, "good")
    with pytest.raises(UserError, match="cannot write"):
        obtain(corpus, corpus.files[0])


def test_the_cache_of_a_checkout_is_ignored_by_git() -> None:
    assert cache_folder() == ROOT / "data" / "cache"
    assert "data/cache/" in (ROOT / ".gitignore").read_text(encoding="utf-8").split()


def test_the_publishers_own_files(server: Server, shared_data: Path, tmp_path: Path) -> None:
    for name in ("multi30k/val.de.gz", "multi30k/val.fr.gz", "tatoeba/data.zip"):
        server.contents[Path(name).name] = (shared_data / name).read_bytes()
    mirrors = (server.address("truncated"), server.address("good"))
    multi30k, tatoeba = (
        dataclasses.replace(CORPORA[name], mirrors=mirrors, cache=tmp_path, timeout=5)
        for name in ("multi30k", "tatoeba")
    )
    assert len(corpora.load(multi30k, "validation", "fr", "de")) == 1014
    assert [path.name for path in corpora.fetch(tatoeba)] == ["data.zip"]
    assert files_below(tmp_path) == [
        "multi30k/val.de.gz",
        "multi30k/val.fr.gz",
        "tatoeba/data.zip",
    ]
