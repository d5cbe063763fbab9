"""One writer in a folder: a lock that a killed process lets go of by itself."""

import contextlib
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from transformer.support.errors import UserError

LOCK = ".lock"
_own = threading.local()  # the folders that this thread holds


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder, made where there is none, for this thread alone; it may ask again.

    Where the system or the file system has no locks (Windows, some network drives), nothing
    is held.

    Raises:
        UserError: another process or thread holds it (it is named), or nothing can be
            written there.
    """
    held: set[Path] = vars(_own).setdefault("folders", set())
    place = folder.absolute()
    if sys.platform == "win32" or place in held:
        yield
        return
    file = _take(folder)
    held.add(place)
    try:
        yield
    finally:
        held.remove(place)
        with contextlib.suppress(OSError):
            (folder / LOCK).unlink()
        file.close()


def _take(folder: Path) -> IO[str]:
    """Open a folder's lock and hold it; what a killed process left is taken over."""
    path = folder / LOCK
    while True:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            file = path.open("a+", encoding="utf-8")
        except OSError as error:
            raise UserError(f"cannot write in {folder}: {error.strerror}") from error
        if not _is_free(file):
            file.seek(0)
            holder = file.read().strip() or "another process"
            file.close()
            raise UserError(
                f"{folder} is in use by {holder}: wait for its end, or give another folder"
            )
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                break
        file.close()  # its holder ended, and removed it, in between
    try:
        file.truncate(0)
        file.write(f"process {os.getpid()}")
        file.flush()
    except OSError as error:
        with contextlib.suppress(OSError):
            path.unlink()
        with contextlib.suppress(OSError):
            file.close()  # which tries once more to write
        raise UserError(f"cannot write in {folder}: {error.strerror}") from error
    return file


def _is_free(file: IO[str]) -> bool:
    """Lock a file where no other has it; one that cannot be locked counts as free."""
    if sys.platform != "win32":
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            return True
    return True
