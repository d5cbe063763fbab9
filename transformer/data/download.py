"""A corpus's files: found, or downloaded by pooch, and never used unchecked.

Three places, in this order: the folder that `TRANSFORMER_DATA` names (the user's own
copies, only read), the cache, and the corpus's mirrors.
"""

import hashlib
import io
import os
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from transformer.support.errors import UserError
from transformer.support.files import cache_folder

TIMEOUT = 30.0  # seconds without a byte
RETRIES = 2  # of each mirror


class DataFile(NamedTuple):
    """One file of a publisher.

    Attributes:
        name: Path below the data folder, and below `TRANSFORMER_DATA`: "multi30k/val.de.gz";
            its last part follows a mirror's address.
        sha256: Of the whole file, in hexadecimal.
        most_bytes: No mirror may send more; a little above the file's own size.
    """

    name: str
    sha256: str
    most_bytes: int = 1_000_000


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


def search_folders() -> list[Path]:
    """Give the folders that may hold a corpus's files, the user's own first, the cache last.

    Raises:
        UserError: `TRANSFORMER_DATA` names no folder.
    """
    named = os.environ.get("TRANSFORMER_DATA")
    if not named:
        return [cache_folder()]
    own = Path(named).expanduser()
    if not own.is_dir():
        raise UserError(f"TRANSFORMER_DATA is {named!r}, which is no folder: create it or unset it")
    return [own, cache_folder()]


def report(file: DataFile) -> FileReport:
    """Check the copy that `obtain` would use: the user's own if there is one, else the cache's."""
    paths = [folder / file.name for folder in search_folders()]
    path = next((p for p in paths if p.is_file()), paths[-1])
    if not path.is_file():
        return FileReport(file.name, path, State.MISSING)
    right = hashlib.sha256(path.read_bytes()).hexdigest() == file.sha256
    return FileReport(file.name, path, State.OK if right else State.CORRUPTED)


def obtain(file: DataFile, mirrors: Sequence[str]) -> Path:
    """Give the path of a checked copy of a file, downloading it if there is none.

    A corrupted copy in the cache is downloaded anew; a corrupted copy of the user's own is
    left as it is, and reported.

    Args:
        file: Its name and sum.
        mirrors: Addresses of the folders that hold it, asked in turn.

    Raises:
        UserError: The user's own copy is corrupted, or no mirror gives the right file.
    """
    found = report(file)
    if found.state == State.OK:
        return found.path
    cached = search_folders()[-1] / file.name
    if found.path != cached:
        raise UserError(
            f"{found.path} is corrupted (its sha256 is not {file.sha256}): "
            f"delete it to have it downloaded, or put the right file there"
        )
    _download(file, mirrors, cached)
    return cached


def _download(file: DataFile, mirrors: Sequence[str], target: Path) -> None:
    """Ask every mirror in turn, each some times, until the check sum is right.

    pooch writes under another name, and moves the file when its sum is right.
    """
    import pooch
    import requests

    download = _bounded(pooch.HTTPDownloader(progressbar=True, timeout=TIMEOUT), file.most_bytes)
    tried = []
    for mirror in mirrors:
        store = pooch.create(
            path=target.parent,
            base_url=mirror,
            registry={target.name: f"sha256:{file.sha256}"},
            retry_if_failed=RETRIES,
        )
        try:
            store.fetch(target.name, downloader=download)
            return
        except requests.HTTPError as error:
            tried.append(str(error))  # "404 Client Error: Not Found for url: ..."
        except requests.RequestException:
            tried.append(f"{mirror}{target.name} cannot be reached, or breaks off")
        except ValueError:  # from pooch, of a wrong sum, or from `_bounded`
            tried.append(f"{mirror}{target.name} sends a file that is too long, or of a wrong sum")
        except OSError as error:
            raise UserError(f"cannot write {target}: {error.strerror or error}") from error
    raise UserError(
        f"cannot download {file.name}: {'; '.join(tried)}. With no network, put the file (sha256 "
        f"{file.sha256}) at {target}, or set TRANSFORMER_DATA to a folder that holds {file.name}"
    )


def _bounded(http: Callable[..., Any], most: int) -> Callable[..., None]:
    """Give a downloader for pooch that breaks off where a server sends more bytes than `most`."""

    class File(io.FileIO):
        def write(self, content: Any) -> int:
            if self.tell() + len(content) > most:
                raise ValueError(f"more than {most} bytes")
            return super().write(content)

    def download(url: str, path: str, store: Any) -> None:
        with File(path, "w") as file:
            http(url, file, store)

    return download
