"""Where the course's files lie; files written whole or not at all (no torch in here)."""

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

from transformer.support.errors import UserError, require, short_repr

PACKAGE = Path(__file__).resolve().parents[1]
MAX_PATH_LEVELS = 200  # of a path; Python makes one folder inside the other, 1,000 at most
CARD = "card.json"  # of every shipped model; `experiments.ship` makes its folder
_held: set[tuple[int, Path]] = set()  # threads of this process, and the folders that they hold


def checkout() -> Path | None:
    """Give the root of the checkout that the package is part of; None once it is installed."""
    root = PACKAGE.parent
    return root if (root / "pyproject.toml").is_file() else None


def require_checkout() -> Path:
    """Give the root of the checkout; a UserError where this is an installed package."""
    if root := checkout():
        return root
    why = "is an installed package, and what the course keeps is made in its repository"
    raise UserError(f"{PACKAGE} {why}: clone the repository, and run this there")


def data_folder() -> Path:
    """Give the checkout's data/, or what the wheel has in its place."""
    root = checkout()
    return root / "data" if root else PACKAGE / "_data"


def corpus_folder() -> Path:
    """Give the folder of the embedded corpus."""
    return data_folder() / "corpus"


def models_folder() -> Path:
    """Give the folder of shipped models."""
    return data_folder() / "models"


def results_folder() -> Path:
    """Give the folder of recorded runs."""
    return data_folder() / "results"


def cache_folder() -> Path:
    """Give the folder of downloads: data/cache of a checkout, else the user's cache folder."""
    own = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return data_folder() / "cache" if checkout() else Path(own) / "attention-course"


def model_names() -> list[str]:
    """Name every shipped model."""
    return sorted(card.parent.name for card in models_folder().glob(f"*/{CARD}"))


def find_model(model: str | Path) -> Path:
    """Give the folder of a model: of this path, or the shipped one of this name, or a UserError."""
    require(
        isinstance(model, str | Path), f"model is {short_repr(model)}: give a folder, or a name"
    )
    if Path(model).is_dir():
        return Path(model)
    if str(model) in model_names():
        return models_folder() / str(model)
    raise UserError(
        f"no model folder {str(model)!r}: train one, give the right path, or name a model "
        f"that comes with the course ({', '.join(model_names()) or 'none'})"
    )


def write_atomically(path: Path, content: bytes) -> None:
    """Replace a file by new content: after a crash, or a UserError, it holds one of both, whole."""
    temporary = path.with_name(f".{uuid.uuid4().hex}.tmp")  # this call's alone
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        before = "; the one saved before is unharmed" if path.is_file() else ""
        raise UserError(
            f"cannot save {path} ({error.strerror}; it needs {len(content):,} bytes): make room, "
            f"or choose another folder{before}"
        ) from error
    finally:
        with suppress(OSError):  # after a success it has its new name
            temporary.unlink()


def remove_unfinished(folder: Path) -> None:
    """Delete what `write_atomically` left when it was killed; no other process may write there."""
    for path in folder.glob(".*.tmp"):
        path.unlink()


def to_json(value: Any) -> bytes:
    """Give JSON that every program can read; a UserError where a number in it is not finite."""
    try:
        text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        astray = "a figure is not a finite number, so it is not written: the model has gone astray"
        raise UserError(f"{astray}, train it anew with a smaller learning rate") from error
    return (text + "\n").encode("utf-8", "backslashreplace")  # half letters, of a path, as escapes


def write_json(path: Path, value: Any) -> None:
    """Write JSON atomically; errors as of `write_atomically` and `to_json`."""
    write_atomically(path, to_json(value))


def read_json(path: Path) -> Any:
    """Read JSON; a UserError where the file is missing or is none."""
    if not path.is_file():  # but perhaps a pipe, which waits, or a device, which has no end
        raise UserError(f"no file {path}: is this the folder of a trained model?")
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"cannot read {path}: {error}; copy it again or train anew") from error


def check_folder(folder: Path) -> None:
    """Refuse, before the work, a folder that could not be made or written to; leave nothing."""
    if len(folder.parts) > MAX_PATH_LEVELS:
        raise UserError(f"{folder} has over {MAX_PATH_LEVELS} levels: give a shorter path")
    nearest = next(p for p in (folder, *folder.absolute().parents) if os.path.lexists(p))
    if not nearest.is_dir():
        raise UserError(f"{nearest} is not a folder: give another name than {folder}")
    try:
        with suppress(FileNotFoundError):
            (folder / "recipe.json").lstat()  # a name may be too long
        tempfile.TemporaryFile(dir=nearest).close()
    except OSError as error:
        raise UserError(f"cannot write in {folder} ({error.strerror}): give another") from error


def check_file(path: Path) -> None:
    """Refuse, before the work, a file that could not be written."""
    if path.exists() and not path.is_file():  # a device would be replaced
        raise UserError(f"{path} is a folder or a device: give the name of a file")
    check_folder(path.parent)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder, made where there is none, for this thread alone, which may ask again.

    A UserError where another process or thread holds it, or it cannot be made. Where there are no
    locks of folders (Windows, some network drives), nothing is held.
    """
    holder = threading.get_ident(), folder.absolute()
    if sys.platform == "win32" or holder in _held:
        yield
        return
    import fcntl

    with ExitStack() as held:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(folder, os.O_RDONLY)
            held.callback(os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UserError(
                f"{folder} is in use by another run: wait for its end, or give another folder"
            ) from error
        except OSError as error:
            if not folder.is_dir():
                raise UserError(f"cannot write in {folder}: {error.strerror}") from error
        _held.add(holder)
        held.callback(_held.remove, holder)
        yield
