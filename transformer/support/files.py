"""Files written whole or not at all, JSON, and folders that one run holds (no torch in here)."""

import hashlib
import json
import os
import shutil
import sys
import tempfile
import threading
import time
import uuid
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from transformer.support.errors import UserError

ResultT = TypeVar("ResultT")
SECONDS_TO_SEE_A_SAVE = 0.5  # in which a process that saves a folder changes a file
MAX_SECONDS_READER_WAITS = 10.0  # that a reader waits for its end
MAX_FOLDER_DEPTH = 200  # Python makes one folder inside the other, 1,000 at most
# Threads of this process, with the folders that they hold.
_held_locks: set[tuple[int, Path]] = set()


def file_sha256(path: Path) -> str:
    """Return the sha256 of a file, which is never whole in memory."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_atomically(path: Path, *parts: bytes | memoryview) -> None:
    """Replace a file's content; after a crash or a UserError it is the old or the new, whole.

    Parts are written one after the other, so that nobody needs to join large ones in memory.
    """
    temporary = path.with_name(f".{uuid.uuid4().hex}.tmp")  # no other call has this name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("xb") as file:
            for part in parts:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        num_bytes = sum(memoryview(part).nbytes for part in parts)
        earlier_file = "; the one saved before is unharmed" if path.is_file() else ""
        raise UserError(
            f"cannot save {path} ({error.strerror}; it needs {num_bytes:,} bytes): make room, "
            f"or choose another folder{earlier_file}"
        ) from error
    finally:
        with suppress(OSError):  # After a success the file has its new name.
            temporary.unlink()


def remove_temporary_files(folder: Path) -> None:
    """Delete what `write_atomically` left when it was killed; no other process may write there."""
    for path in _temporary_files(folder):
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


def retry_read_if_overwritten(
    folder: Path, names: Sequence[str], read: Callable[[], ResultT]
) -> ResultT:
    """Return what `read` returns of files in a folder that no process saves meanwhile.

    If one does, wait, and read once more with a warning. A UserError if they change again; those
    of `read` if nothing changes.
    """
    for is_last in (False, True):
        before = _file_versions(folder, names)
        try:
            result = read()
        except UserError:
            # A save may have begun before, and go on.
            time.sleep(SECONDS_TO_SEE_A_SAVE)
            if _file_versions(folder, names) == before and not _temporary_files(folder):
                raise
        else:
            if _file_versions(folder, names) == before:
                return result
        if not is_last:
            message = f"{folder} was being saved while it was read: reading it again"
            warnings.warn(message, stacklevel=2)
            _wait_until_unchanged(folder, names)
    raise UserError(f"{folder} is being saved by another process: try again when it has ended")


def _file_versions(folder: Path, names: Sequence[str]) -> list[tuple[int, ...] | None]:
    """Return for each file what changes when it is written or replaced; None if it is missing."""
    versions: list[tuple[int, ...] | None] = []
    for name in names:
        try:
            status = (folder / name).stat()
        except OSError:
            versions.append(None)
        else:
            versions.append((status.st_ino, status.st_size, status.st_mtime_ns))
    return versions


def _wait_until_unchanged(folder: Path, names: Sequence[str]) -> None:
    """Wait until no file of a folder changes, but not for ever."""
    end = time.monotonic() + MAX_SECONDS_READER_WAITS
    earlier = None
    while time.monotonic() < end:
        now = _file_versions(folder, names)
        if now == earlier and not _temporary_files(folder):
            return
        earlier = now
        time.sleep(SECONDS_TO_SEE_A_SAVE)


def _temporary_files(folder: Path) -> list[Path]:
    """Return the files that `write_atomically` is writing, or was when it was killed."""
    return list(folder.glob(".*.tmp"))


def replace_folder(new: Path, old: Path) -> None:
    """Put a whole folder in the place of another, on the same disk, and delete that one.

    Both are renamed, so that whoever opens a file finds the old folder or the new, never half of
    one; for an instant there is none. An OSError leaves the old one in its place.
    """
    aside = old.with_name(f".{uuid.uuid4().hex}.old")
    old.rename(aside)
    try:
        new.rename(old)
    except OSError:
        aside.rename(old)
        raise
    shutil.rmtree(aside, ignore_errors=True)


@contextmanager
def folder_written_whole(out: Path, replace: bool) -> Iterator[Path]:
    """Yield an empty folder that becomes `out` once all is written in it.

    With `replace` it takes the place of an earlier `out` (see `replace_folder`). A UserError where
    it cannot be written; then nothing of it is left.
    """
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out.parent, prefix=".") as temporary:
            folder = Path(temporary) / "folder"
            folder.mkdir()
            yield folder
            if replace and out.is_dir():
                replace_folder(folder, out)
            else:
                folder.rename(out)
    except OSError as error:
        raise UserError(
            f"cannot write {out} ({error.strerror}), and nothing of it is left: make room, or give "
            "another folder"
        ) from error


def check_writable_folder(folder: Path) -> None:
    """Raise, before any work, if a folder could not be made or written to; leave nothing there."""
    if len(folder.parts) > MAX_FOLDER_DEPTH:
        raise UserError(f"{folder} has over {MAX_FOLDER_DEPTH} levels: give a shorter path")
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
