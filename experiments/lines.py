"""How many lines and files each room has, now or at an earlier commit, and how many it may have.

`python -m experiments lines --at COMMIT` prints both side by side. Blank lines, comments and
docstrings count: somebody reads them. `tests/test_architecture.py` holds the ceilings.
"""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple


class Size(NamedTuple):
    """What a room holds, or may hold."""

    lines: int
    files: int


# Ceilings: lowered whenever a room has become smaller.
BUDGETS = {
    "transformer": Size(4_497, 34),
    "attention_laws": Size(4_993, 34),
    "engines": Size(1_122, 11),
    "lessonkit": Size(12_748, 82),
    "attention_course": Size(517, 4),
    "experiments": Size(5_925, 44),
    "tests": Size(18_000, 167),
}
TOTAL = 29_802  # of all rooms but the tests


def sizes(root: Path) -> dict[str, Size]:
    """Count the Python files of each room of a checkout."""
    found = {}
    for room in BUDGETS:
        texts = [path.read_text(encoding="utf-8") for path in (root / room).rglob("*.py")]
        found[room] = _size(texts)
    return found


def sizes_at(root: Path, commit: str) -> dict[str, Size]:
    """Count the Python files of each room as a commit has them; a room may not be there yet."""
    listed = _git(root, "ls-tree", "-r", "--name-only", commit).splitlines()
    found = {}
    for room in BUDGETS:
        files = [name for name in listed if name.startswith(f"{room}/") and name.endswith(".py")]
        texts = [_git(root, "show", f"{commit}:{name}") for name in files]
        found[room] = _size(texts)
    return found


def table(root: Path, at: str) -> str:
    """Give a line for each room: its lines and files, at a commit and now, and its ceiling."""
    now, before = sizes(root), sizes_at(root, at)
    rows = [f"{'room':16}{'before':>8}{'files':>7}{'lines':>8}{'files':>7}{'ceiling':>9}"]
    for room, budget in [*BUDGETS.items(), ("all but tests", Size(TOTAL, 0))]:
        cells = [f"{room:16}"]
        for counted in (before, now):
            size = counted.get(room) or _sum(counted)
            cells.append(f"{size.lines:8,}{size.files:7,}")
        rows.append("".join([*cells, f"{budget.lines:9,}"]))
    return "\n".join(rows)


def _size(texts: list[str]) -> Size:
    return Size(sum(text.count("\n") for text in texts), len(texts))


def _sum(counted: Mapping[str, Size]) -> Size:
    code = [size for room, size in counted.items() if room != "tests"]
    return Size(sum(size.lines for size in code), sum(size.files for size in code))


def _git(root: Path, *arguments: str) -> str:
    command = ["git", "-C", str(root), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
