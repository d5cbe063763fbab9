"""Files written whole or not at all, read with clear errors, by one writer (no torch in here)."""

import contextlib
import errno
import json
import os
import sys
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from transformer.support.errors import UserError

TEMPORARY = ".tmp"  # ends the name of a file that is being written
LOCK = ".lock"
_own = threading.local()  # the folders that this thread holds


def write_atomically(path: Path, content: bytes) -> None:
    """Replace a file by new content: after a crash it holds the old or the new, whole.

    Several threads or processes may write the same file: the last one to end has its way.

    Raises:
        UserError: no space, no permission ...; the file of before is unharmed.
    """
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}{TEMPORARY}")  # this call's alone
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        with contextlib.suppress(OSError):  # the name is to outlive a loss of power, if it can
            descriptor = os.open(path.parent, os.O_RDONLY)
            os.fsync(descriptor)
            os.close(descriptor)
    except OSError as error:
        before = "; the one saved before is unharmed" if path.is_file() else ""
        raise UserError(
            f"cannot save {path} ({error.strerror}; it needs {len(content) / 1e6:.1f} MB): make "
            f"room, or choose another folder{before}"
        ) from error
    finally:
        with contextlib.suppress(OSError):  # after a success it has its new name
            temporary.unlink()


def remove_unfinished(folder: Path) -> None:
    """Delete what `write_atomically` left in a folder when its process was killed.

    Only where no other process writes: its unfinished files would go too.
    """
    for path in folder.glob(f".*{TEMPORARY}"):
        path.unlink()


def write_json(path: Path, value: Any) -> None:
    """Write JSON that people can read, atomically; errors as of `write_atomically`, `to_json`."""
    write_atomically(path, to_json(value))


def to_json(value: Any) -> bytes:
    """Give JSON that people and every program can read.

    Raises:
        UserError: a number in it is not finite, which JSON has no way to say.
    """
    try:
        text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        raise UserError(
            "a figure is not a finite number, so it is not written: the model has gone astray, "
            "train it anew with a smaller learning rate"
        ) from error
    return (text + "\n").encode("utf-8", "backslashreplace")  # half letters, of a path, as escapes


def read_json(path: Path) -> Any:
    """Read JSON.

    Raises:
        UserError: the file is missing or is not JSON.
    """
    try:
        return from_json(read_text(path))
    except FileNotFoundError as error:
        raise UserError(f"no file {path}: is this the folder of a trained model?") from error
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {path}: {error}; copy it again or train anew") from error


def read_text(path: Path) -> str:
    """Read a file of UTF-8; nothing else that has its name: a pipe waits, a device has no end.

    Raises:
        OSError: there is no such file, or it cannot be read.
        UnicodeDecodeError: it is not UTF-8.
    """
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it is no file, but a folder, a pipe or a device")
    return path.read_text(encoding="utf-8")


def from_json(text: str) -> Any:
    """Read JSON, not the NaN and Infinity that Python takes for it.

    Raises:
        ValueError: it is none, or is nested too deep.
    """

    def refuse(name: str) -> None:
        raise ValueError(f"{name} is no JSON")

    try:
        return json.loads(text, parse_constant=refuse)
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error


def check_folder(folder: Path) -> None:
    """Refuse, before the work, a folder that could not be made or written to; make nothing.

    Raises:
        UserError: a file is in the way, or there is no permission.
    """
    nearest = next(p for p in (folder, *folder.absolute().parents) if os.path.lexists(p))
    if not nearest.is_dir():
        raise UserError(f"{nearest} is not a folder: give another name than {folder}")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise UserError(f"no permission to write in {nearest}: give another folder than {folder}")


def check_file(path: Path) -> None:
    """Refuse, before the work, a file that could not be written; make nothing.

    Raises:
        UserError: it is a folder, or its own folder could not be made.
    """
    if path.is_dir():
        raise UserError(f"{path} is a folder: give the name of a file")
    check_folder(path.parent)


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder, made where there is none, for this thread alone; it may ask again.

    A killed process lets go by itself. Where the system or the file system has no locks (Windows,
    some network drives), nothing is held.

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
        (folder / LOCK).unlink(missing_ok=True)
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
        path.unlink()
        with contextlib.suppress(OSError):
            file.close()  # which tries once more to write
        raise UserError(f"cannot write in {folder}: {error.strerror}") from error
    return file


def _is_free(file: IO[str]) -> bool:
    """Lock a file where no other has it; one that cannot be locked counts as free."""
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True
