"""Files written whole or not at all, JSON, and folders that one run holds (no torch in here)."""

import json
import os
import sys
import tempfile
import threading
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from transformer.support.errors import UserError

MAX_PATH_LEVELS = 200  # Python makes one folder inside the other, 1,000 at most
# Threads of this process, with the folders that they hold.
_held_locks: set[tuple[int, Path]] = set()


def write_atomically(path: Path, content: bytes) -> None:
    """Replace a file's content; after a crash or a UserError it is the old or the new, whole."""
    temporary = path.with_name(f".{uuid.uuid4().hex}.tmp")  # no other call has this name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        earlier_file = "; the one saved before is unharmed" if path.is_file() else ""
        raise UserError(
            f"cannot save {path} ({error.strerror}; it needs {len(content):,} bytes): make room, "
            f"or choose another folder{earlier_file}"
        ) from error
    finally:
        with suppress(OSError):  # After a success the file has its new name.
            temporary.unlink()


def remove_temporary_files(folder: Path) -> None:
    """Delete what `write_atomically` left when it was killed; no other process may write there."""
    for path in folder.glob(".*.tmp"):
        path.unlink()


def to_json_bytes(value: Any) -> bytes:
    """Return JSON that every program can read; a UserError where a number in it is not finite."""
    try:
        text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        reason = "a figure is not a finite number, so it is not written: the model has gone astray"
        raise UserError(f"{reason}, train it anew with a smaller learning rate") from error
    # Half a letter, which a path may hold, is written as an escape.
    return (text + "\n").encode("utf-8", "backslashreplace")


def write_json(path: Path, value: Any) -> None:
    """Write JSON atomically; errors as of `write_atomically` and `to_json_bytes`."""
    write_atomically(path, to_json_bytes(value))


def read_json(path: Path) -> Any:
    """Read JSON; a UserError where the file is missing or holds something else."""
    # A pipe would wait, and a device has no end.
    if not path.is_file():
        raise UserError(f"no file {path}: is this the folder of a trained model?")
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"cannot read {path}: {error}; copy it again or train anew") from error


def check_writable_folder(folder: Path) -> None:
    """Raise, before any work, if a folder could not be made or written to; leave nothing there."""
    if len(folder.parts) > MAX_PATH_LEVELS:
        raise UserError(f"{folder} has over {MAX_PATH_LEVELS} levels: give a shorter path")
    candidates = (folder, *folder.absolute().parents)
    nearest = next(candidate for candidate in candidates if os.path.lexists(candidate))
    if not nearest.is_dir():
        raise UserError(f"{nearest} is not a folder: give another name than {folder}")
    try:
        with suppress(FileNotFoundError):
            (folder / "recipe.json").lstat()  # An OSError where a name is too long.
        tempfile.TemporaryFile(dir=nearest).close()
    except OSError as error:
        raise UserError(f"cannot write in {folder} ({error.strerror}): give another") from error


def check_writable_file(path: Path) -> None:
    """Raise, before any work, if a file could not be written."""
    if path.exists() and not path.is_file():  # A device would be replaced.
        raise UserError(f"{path} is a folder or a device: give the name of a file")
    check_writable_folder(path.parent)


@contextmanager
def folder_lock(folder: Path) -> Iterator[None]:
    """Lock a folder, made if there is none, for this thread alone, which may ask again.

    A UserError where another process or thread holds it, or it cannot be made. Where folders have
    no locks (Windows, some network drives), nothing is locked.
    """
    holder = threading.get_ident(), folder.absolute()
    if sys.platform == "win32" or holder in _held_locks:
        yield
        return
    import fcntl

    with ExitStack() as cleanup:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(folder, os.O_RDONLY)
            cleanup.callback(os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UserError(
                f"{folder} is in use by another run: wait for its end, or give another folder"
            ) from error
        except OSError as error:
            if not folder.is_dir():
                raise UserError(f"cannot write in {folder}: {error.strerror}") from error
        _held_locks.add(holder)
        cleanup.callback(_held_locks.remove, holder)
        yield
