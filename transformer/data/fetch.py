"""One file from one address: no more bytes than it has, in no more time than it may take."""

import threading
from pathlib import Path
from typing import IO, Any

from transformer.data.registry import DataFile


class UnfetchedError(Exception):
    """An address did not give the file; the message says in a few words why.

    Attributes:
        passing: Whether asking again may help.
    """

    def __init__(self, reason: str, passing: bool) -> None:
        super().__init__(reason)
        self.passing = passing


class _Bounded:
    """A file to write to that refuses more bytes than are expected, or any once given up."""

    def __init__(self, stream: IO[bytes], size: int, given_up: threading.Event) -> None:
        self.stream = stream
        self.size = size
        self.given_up = given_up

    def write(self, chunk: bytes) -> None:
        if self.given_up.is_set():
            raise UnfetchedError("was given up", passing=False)
        if self.stream.tell() + len(chunk) > self.size:
            raise UnfetchedError(
                f"sends more than the {self.size:,} bytes of this file", passing=False
            )
        self.stream.write(chunk)

    def flush(self) -> None:
        self.stream.flush()


def fetch(address: str, file: DataFile, folder: Path, timeout: float, deadline: float) -> Path:
    """Download a file and check its sum.

    A thread does the work, so that time ends every part of it: the name's resolution, the
    answer's head, a body of a byte every now and then. A thread that is given up ends when its
    connection says something, and writes no more.

    Args:
        address: Where it is.
        file: What its size and sum are.
        folder: A folder of its own.
        timeout: Seconds without a byte.
        deadline: Seconds for the whole.

    Returns:
        The file's path, in the folder.

    Raises:
        UnfetchedError: the address does not give it.
        OSError: it cannot be written.
    """
    given_up = threading.Event()
    failed: list[BaseException] = []

    def work() -> None:
        try:
            _retrieve(address, file, folder, timeout, given_up)
        except BaseException as error:
            failed.append(error)

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    try:
        worker.join(deadline)
    finally:  # Ctrl-C ends it too
        given_up.set()
    if failed:
        raise failed.pop()  # kept nowhere: what it holds is closed with it
    if worker.is_alive():
        raise UnfetchedError(f"takes more than {deadline:g} seconds", passing=False)
    return folder / file.remote_name


def _retrieve(
    address: str, file: DataFile, folder: Path, timeout: float, given_up: threading.Event
) -> None:
    """Do what `fetch` says, however long it takes."""
    import pooch
    import requests

    http = pooch.HTTPDownloader(
        progressbar=True,
        chunk_size=65536,
        timeout=(timeout, timeout),
        headers={"Accept-Encoding": "identity"},  # the bytes as they are, nothing to inflate
    )

    def download(url: str, output_file: str, caller: Any) -> None:
        with open(output_file, "wb") as stream:
            http(url, _Bounded(stream, file.size, given_up), caller)

    try:
        pooch.retrieve(
            address,
            known_hash=f"sha256:{file.sha256}",
            fname=file.remote_name,
            path=folder,
            downloader=download,
        )
    except requests.HTTPError as error:
        status = 0 if error.response is None else error.response.status_code
        raise UnfetchedError(f"answers {status}", passing=not 400 <= status < 500) from error
    except requests.RequestException as error:
        raise UnfetchedError(_reason(error), passing=True) from error
    except ValueError as error:
        wrong = "file with a wrong check sum" if "hash" in str(error) else "broken answer"
        raise UnfetchedError(f"sent a {wrong}", passing=True) from error


def _reason(error: Exception) -> str:
    """Say in a few words why a connection failed."""
    import requests

    if isinstance(error, requests.Timeout) or "timed out" in str(error):
        return "does not answer in time"
    if isinstance(error, requests.ConnectionError):
        return "cannot be reached"
    return "broke off"
