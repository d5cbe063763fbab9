"""How far a long loop is: a line on a terminal, with the time left, after two seconds."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeVar

from tqdm import tqdm
from tqdm.utils import CallbackIOWrapper

SECONDS_BEFORE_PROGRESS = 2.0
# tqdm hides what does not fit the screen, and takes a terminal without a size, as programs that
# record a session open, for one with no rows.
TERMINAL_ROWS = 24

Item = TypeVar("Item")


def with_progress(items: Sequence[Item], description: str, unit: str) -> Iterable[Item]:
    """Return the same items; on a terminal a loop over them shows how far it is.

    The line goes when the loop ends. Into a file or a notebook nothing is written.
    """
    progress: Iterable[Item] = _make_tqdm_bar(items, description, unit, total=None)
    return progress


def chunks_with_progress(
    items: Sequence[Item], chunk_size: int, description: str, unit: str
) -> Iterator[Sequence[Item]]:
    """Yield the items in slices of `chunk_size`, the last one shorter, as `with_progress` does."""
    with progress_bar(len(items), description, unit) as bar:
        for start in range(0, len(items), chunk_size):
            chunk = items[start : start + chunk_size]
            yield chunk
            bar.update(len(chunk))


@contextmanager
def open_file_with_progress(path: Path, description: str) -> Iterator[IO[bytes]]:
    """Open a file of bytes; on a terminal its reader's way through it shows, as in `with_progress`.

    The file offers `read` alone.
    """
    size = path.stat().st_size
    with path.open("rb") as file, progress_bar(size, description, "bytes") as bar:
        yield CallbackIOWrapper(bar.update, file, "read")


def progress_bar(total: int, description: str, unit: str) -> "tqdm[Any]":
    """Return a progress bar of `total` units, to be entered; `update(n)` says that n more are done.

    It shows what `with_progress` shows.
    """
    return _make_tqdm_bar(None, description, unit, total)


def _make_tqdm_bar(
    items: Sequence[Any] | None, description: str, unit: str, total: int | None
) -> "tqdm[Any]":
    return tqdm(
        items,
        desc=description,
        unit=f" {unit}",
        unit_scale=True,
        leave=False,
        delay=SECONDS_BEFORE_PROGRESS,
        disable=None,
        nrows=TERMINAL_ROWS,
        total=total,
    )
