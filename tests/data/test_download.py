"""Downloads, rehearsed against a local server that answers well, badly or not at all."""

import contextlib
import gzip
import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.helpers import ROOT
from transformer.data import download
from transformer.data.download import DataFile, State, obtain, report
from transformer.support.errors import UserError
from transformer.support.files import cache_folder

CONTENT = gzip.compress(b"Ein Hund.\nZwei Katzen.\n", mtime=0)
FILE = DataFile(name="multi30k/val.de.gz", sha256=hashlib.sha256(CONTENT).hexdigest())
ASKED = 1 + download.RETRIES  # times that a mirror is asked


class Server(ThreadingHTTPServer):
    """Serves the file; the first part of an address chooses how: /good/, /truncated/ ..."""

    daemon_threads = False
    asked: list[str]
    release: threading.Event

    def address(self, manner: str) -> str:
        return f"http://127.0.0.1:{self.server_port}/{manner}/"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        _, manner, _ = self.path.split("/")
        self.server.asked.append(manner)
        if manner == "flaky":
            manner = "good" if self.server.asked.count("flaky") > 1 else "broken"
        if manner in ("missing", "broken"):
            self.send_error(503 if manner == "broken" else 404)
            return
        content = CONTENT
        if manner == "corrupted":
            content = content[:-1] + bytes([content[-1] ^ 1])
        self.send_response(200)
        if manner not in ("unsized", "endless"):
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if manner == "endless":
            with contextlib.suppress(ConnectionError):
                while not self.server.release.is_set():
                    self.wfile.write(bytes(10_000))
            return
        half = len(content) // 2
        self.wfile.write(content[:half])
        if manner in ("truncated", "unsized"):
            return
        self.wfile.flush()
        if manner == "stalled":
            self.server.release.wait(5)
        with contextlib.suppress(ConnectionError):
            self.wfile.write(content[half:])

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server(("127.0.0.1", 0), Handler)
    server.asked = []
    server.release = threading.Event()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.release.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No folder of the user's, an empty cache, and no waiting between two questions."""
    monkeypatch.delenv("TRANSFORMER_DATA", raising=False)
    monkeypatch.setattr(download, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(download, "TIMEOUT", 0.2)
    monkeypatch.setattr("pooch.core.time.sleep", lambda seconds: None)
    return tmp_path / "cache"


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The file's place in the user's own folder."""
    place = tmp_path / "own" / FILE.name
    place.parent.mkdir(parents=True)
    monkeypatch.setenv("TRANSFORMER_DATA", str(tmp_path / "own"))
    return place


def files_below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_what_is_downloaded_is_right_and_asked_for_once(server: Server, cache: Path) -> None:
    for _ in range(2):
        assert obtain(FILE, [server.address("good")]) == cache / FILE.name
    assert (cache / FILE.name).read_bytes() == CONTENT
    assert files_below(cache) == [FILE.name]
    assert server.asked == ["good"]
    assert report(FILE).state == State.OK


@pytest.mark.parametrize(
    "manner", ["truncated", "unsized", "corrupted", "missing", "broken", "stalled"]
)
def test_a_bad_mirror_gives_way_to_the_next(server: Server, cache: Path, manner: str) -> None:
    path = obtain(FILE, [server.address(manner), server.address("good")])
    assert path.read_bytes() == CONTENT
    assert server.asked == [manner] * ASKED + ["good"]
    assert files_below(cache) == [FILE.name]


@pytest.mark.parametrize(
    ("manner", "reason"),
    [
        ("truncated", "{} cannot be reached, or breaks off"),
        ("corrupted", "{} sends a file that is too long, or of a wrong sum"),
        ("missing", "404 Client Error: Not Found for url: {}"),
    ],
)
def test_a_failure_says_what_to_do_and_leaves_no_file(
    server: Server, cache: Path, manner: str, reason: str
) -> None:
    with pytest.raises(UserError) as caught:
        obtain(FILE, [server.address(manner), "http://127.0.0.1:9/"])  # nobody listens there
    message = str(caught.value)
    assert "\n" not in message
    assert reason.format(f"{server.address(manner)}val.de.gz") + "; " in message
    assert "http://127.0.0.1:9/val.de.gz cannot be reached" in message
    assert f"put the file (sha256 {FILE.sha256}) at {cache / FILE.name}, or set" in message
    assert files_below(cache) == []


def test_a_server_that_sends_too_much_is_cut_off(server: Server, cache: Path) -> None:
    path = obtain(FILE, [server.address("endless"), server.address("good")])
    assert path.read_bytes() == CONTENT
    assert server.asked == ["endless"] * ASKED + ["good"]
    with pytest.raises(UserError, match=r"endless/val.de.gz sends a file that is too long"):
        obtain(FILE._replace(name="other/val.de.gz"), [server.address("endless")])
    assert files_below(cache) == [FILE.name]


def test_a_passing_fault_is_asked_again(server: Server) -> None:
    assert obtain(FILE, [server.address("flaky")]).is_file()
    assert server.asked == ["flaky", "flaky"]


def test_a_corrupted_cached_file_is_downloaded_anew_and_never_used(
    server: Server, cache: Path
) -> None:
    place = cache / FILE.name
    place.parent.mkdir(parents=True)
    place.write_bytes(b"half a file")
    assert report(FILE) == (FILE.name, place, State.CORRUPTED)
    with pytest.raises(UserError, match="404 Client Error"):
        obtain(FILE, [server.address("missing")])
    assert obtain(FILE, [server.address("good")]).read_bytes() == CONTENT


def test_the_users_folder_comes_first_and_is_never_written(
    server: Server, own: Path, cache: Path
) -> None:
    other = DataFile(name="multi30k/val.en.gz", sha256=FILE.sha256)
    own.write_bytes(CONTENT)
    mirrors = [server.address("good")]
    assert [obtain(file, mirrors) for file in (FILE, other)] == [own, cache / other.name]
    assert server.asked == ["good"]
    assert files_below(own.parent) == ["val.de.gz"]


def test_a_corrupted_copy_of_the_user_is_refused(server: Server, own: Path) -> None:
    own.write_bytes(CONTENT[:-3])
    with pytest.raises(UserError, match=f"{own} is corrupted .*delete it to have it downloaded"):
        obtain(FILE, [server.address("good")])
    assert server.asked == []
    assert own.read_bytes() == CONTENT[:-3]


def test_a_named_folder_must_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSFORMER_DATA", str(tmp_path / "none"))
    with pytest.raises(UserError, match=r"TRANSFORMER_DATA is .*none.*create it"):
        obtain(FILE, [])


def test_a_cache_that_cannot_be_written(server: Server, cache: Path) -> None:
    cache.write_text("not a folder")
    with pytest.raises(UserError, match="cannot write"):
        obtain(FILE, [server.address("good")])


def test_the_cache_of_a_checkout_is_ignored_by_git() -> None:
    assert cache_folder() == ROOT / "data" / "cache"
    assert "data/cache/" in (ROOT / ".gitignore").read_text(encoding="utf-8").split()
