"""Getting a corpus's files: found, or downloaded, and never used unchecked.

Three places, in this order: the folder that `TRANSFORMER_DATA` names (the user's own
copies, only read), the cache, and the corpus's mirrors.
"""

import contextlib
import hashlib
import os
import shutil
import tempfile
import time
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from transformer.data.fetch import UnfetchedError, fetch
from transformer.data.registry import Corpus, DataFile
from transformer.support.errors import UserError
from transformer.support.paths import cache_folder

ROUNDS = 3  # how often every mirror is asked before giving up
UNFINISHED = ".download-"  # begins the name of a folder in which a file is being made
PAUSE = 0.5  # seconds before the second round, twice that before the third


class State(StrEnum):
    """What a check of a file found."""

    OK = "ok"
    MISSING = "missing"
    CORRUPTED = "corrupted"


class FileReport(NamedTuple):
    """One file, where it is (or would be), and what its check found."""

    name: str
    path: Path
    state: State


def user_folder() -> Path | None:
    """Give the folder that `TRANSFORMER_DATA` names, or None where it is not set.

    Raises:
        UserError: It names no folder.
    """
    named = os.environ.get("TRANSFORMER_DATA")
    if not named:
        return None
    folder = Path(named).expanduser()
    if not folder.is_dir():
        raise UserError(f"TRANSFORMER_DATA is {named!r}, which is no folder: create it or unset it")
    return folder


def search_folders(corpus: Corpus) -> list[Path]:
    """Give the folders that may hold the corpus's files, the user's own first."""
    cache = corpus.cache or cache_folder()
    own = user_folder()
    return [cache] if own is None else [own, cache]


def check(path: Path, sha256: str) -> State:
    """Compare a file with its check sum.

    Raises:
        UserError: It is there and cannot be read.
    """
    if not path.is_file():
        return State.MISSING
    try:
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    return State.OK if digest == sha256 else State.CORRUPTED


def report(corpus: Corpus, file: DataFile) -> FileReport:
    """Check the copy that `obtain` would use: the user's own if there is one, else the cache's."""
    paths = [folder / file.name for folder in search_folders(corpus)]
    path = next((p for p in paths if p.is_file()), paths[-1])
    return FileReport(file.name, path, check(path, file.sha256))


def obtain(corpus: Corpus, file: DataFile) -> Path:
    """Give the path of a checked copy of a file, downloading it if there is none.

    A corrupted copy in the cache is downloaded anew; a corrupted copy of the user's own is
    left as it is, and reported.

    Raises:
        UserError: The user's own copy is corrupted, or no mirror gives the right file.
    """
    found = report(corpus, file)
    if found.state == State.OK:
        return found.path
    cached = search_folders(corpus)[-1] / file.name
    if found.path != cached:
        raise UserError(
            f"{found.path} is corrupted (its sha256 is not {file.sha256}): "
            f"delete it to have it downloaded, or put the right file there"
        )
    _download(corpus, file, cached)
    return cached


def _download(corpus: Corpus, file: DataFile, target: Path) -> None:
    """Ask every mirror in turn, some rounds over, until the check sum is right.

    A file is made in a folder of its own beside the target and moved after the check, so that
    a file under its final name is always whole.
    """
    addresses = [mirror + file.remote_name for mirror in corpus.mirrors]
    reasons: dict[str, str] = {}
    for round_number in range(ROUNDS):
        if round_number and addresses:
            time.sleep(PAUSE * round_number)
        for address in tuple(addresses):
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                _remove_abandoned(target.parent, corpus.deadline)
                with tempfile.TemporaryDirectory(
                    prefix=UNFINISHED, dir=target.parent, ignore_cleanup_errors=True
                ) as folder:
                    fetched = fetch(address, file, Path(folder), corpus.timeout, corpus.deadline)
                    os.replace(fetched, target)
                return
            except UnfetchedError as error:
                reasons[address] = str(error)
                if not error.passing:  # asking again will not help
                    addresses.remove(address)
            except OSError as error:
                raise UserError(f"cannot write {target}: {error.strerror or error}") from error
    raise _unobtainable(file, target, reasons)


def _remove_abandoned(folder: Path, deadline: float) -> None:
    """Delete what killed downloads left: a living one is no older than its deadline."""
    for path in folder.glob(f"{UNFINISHED}*"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > 2 * deadline:
                shutil.rmtree(path)


def _unobtainable(file: DataFile, target: Path, reasons: dict[str, str]) -> UserError:
    tried = "; ".join(f"{address} {reason}" for address, reason in reasons.items())
    return UserError(
        f"cannot download {file.name}: {tried}. With no network, put the file (sha256 "
        f"{file.sha256}) at {target}, or set TRANSFORMER_DATA to a folder that holds {file.name}"
    )
