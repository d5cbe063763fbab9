"""A learner's progress, noted beside the lessons in `my_progress.json` (not in the paper)."""

import contextlib
import json
from pathlib import Path
from typing import Literal

from transformer.support.files import write_atomically

PROGRESS_FILE = Path("my_progress.json")  # beside the lessons


def record_progress(kind: Literal["right", "predicted"], name: str) -> None:
    """Note that an exercise was right or a figure predicted, if a file can be written here."""
    with contextlib.suppress(OSError):
        names = read_progress()
        names[kind] = sorted({*names[kind], name})
        write_atomically(PROGRESS_FILE, f"{json.dumps(names, indent=1)}\n".encode())


def read_progress() -> dict[str, list[str]]:
    """Return the names of what was "right" and "predicted"; none if the file cannot be read."""
    names: dict[str, list[str]] = {"right": [], "predicted": []}
    with contextlib.suppress(OSError, ValueError, TypeError):
        names |= json.loads(PROGRESS_FILE.read_text(encoding="utf-8"))
    return names
