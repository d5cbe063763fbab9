"""What is stamped into a lesson: how to open it on Colab, and the lessons beside it.

Sources, tags and counts change, outputs and ids never do. Stamping twice is stamping once.
"""

import copy
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stamping.address import BRANCH
from stamping.links import COLAB, badge, relinked

FOLDER = "notebooks"
SETUP, BESIDE = "colab", "colab-lessons"  # the tags, and the ids, of the two cells
TRAINS = "course_profile("  # a lesson that asks this may train for hours without a GPU
_CELL = (Path(__file__).parent / "setup_cell.py").read_text(encoding="utf-8")
_BADGE = "[![Open in Colab]("

Notebook = dict[str, Any]
Cell = dict[str, Any]


def read(path: Path) -> Notebook:
    """Read a notebook."""
    notebook: Notebook = json.loads(path.read_text(encoding="utf-8"))
    return notebook


def text(notebook: Notebook) -> str:
    """Return a notebook as Jupyter writes it."""
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def stamped(
    notebook: Notebook,
    name: str,
    titles: dict[str, str],
    repo: str | None,
    old: str | None,
    revision: str | None = None,
) -> Notebook:
    """Return a lesson as it must be for an address.

    Args:
        notebook: The lesson; not changed.
        name: Of its file.
        titles: Of all lessons, by file, in the course's order.
        repo: The address, owner/name; None where there is none yet.
        old: The address that it was stamped with before.
        revision: What the lesson fetches: a branch, a tag, a commit; None: what it fetched before.
    """
    new = copy.deepcopy(notebook)
    revision = revision or _revision(new)
    cells = [cell for cell in new["cells"] if not {SETUP, BESIDE} & set(tags(cell))]
    for cell in cells:
        if cell["cell_type"] == "markdown":
            _write(cell, relinked(source(cell), repo, old, FOLDER))
    _write(cells[0], _titled(source(cells[0]), name, repo))
    new["cells"] = [cells[0], _setup(repo, revision), *cells[1:], _beside(name, titles, repo)]
    _count(new["cells"])
    _ask_for_gpu(new)
    return new


def title(notebook: Notebook) -> str:
    """Return a lesson's title, "00 Start here"."""
    first = source(notebook["cells"][0]).splitlines()[0]
    return first.removeprefix("# ").replace(" · ", " ", 1)


def source(cell: Cell) -> str:
    """Return the text of a cell."""
    return "".join(cell["source"])


def tags(cell: Cell) -> Sequence[str]:
    """Return the tags of a cell."""
    found: Sequence[str] = cell["metadata"].get("tags", [])
    return found


def _write(cell: Cell, said: str) -> None:
    """Write a cell's text as Jupyter does, a list of lines."""
    cell["source"] = said.splitlines(keepends=True)


def _titled(said: str, name: str, repo: str | None) -> str:
    """Return the first cell's text with the badge below its title, or without."""
    paragraphs = [part for part in said.split("\n\n") if not part.startswith(_BADGE)]
    if repo:
        paragraphs.insert(1, badge(repo, f"{FOLDER}/{name}"))
    return "\n\n".join(paragraphs)


def _revision(notebook: Notebook) -> str:
    """Return what a lesson fetches; the branch where it has no cell for that yet."""
    cells = [source(cell) for cell in notebook["cells"] if SETUP in tags(cell)]
    found = re.search(r'^REVISION = "(.+?)"', "".join(cells), re.MULTILINE)
    return found[1] if found else BRANCH


def _setup(repo: str | None, revision: str) -> Cell:
    """Make the cell that fetches the course on Colab; it has run, and printed nothing."""
    folded = {"jupyter": {"source_hidden": True}, "tags": [SETUP]}
    cell: Cell = {"cell_type": "code", "execution_count": 1, "id": SETUP, "metadata": folded}
    cell["outputs"] = []
    said = _CELL.replace('REPO = ""', f'REPO = "{repo or ""}"')
    _write(cell, said.replace(f'REVISION = "{BRANCH}"', f'REVISION = "{revision}"').rstrip("\n"))
    return cell


def _beside(name: str, titles: dict[str, str], repo: str | None) -> Cell:
    """Make the last cell: the lessons before and after, here and on Colab."""
    names = [each for each in titles if each[0].isdigit()]
    beside = [("The lessons begin here", 0)]  # an appendix
    if name in names:
        place = names.index(name)
        beside = [("Before this", place - 1), ("After this", place + 1)]
    parts = []
    for word, other in beside:
        if 0 <= other < len(names):
            file = names[other]
            part = f"{word}: [{titles[file]}]({file})"
            if repo:
                part += f" ([on Colab]({COLAB.format(repo)}{FOLDER}/{file}))"
            parts.append(part)
    cell: Cell = {"cell_type": "markdown", "id": BESIDE, "metadata": {"tags": [BESIDE]}}
    _write(cell, " · ".join(parts))
    return cell


def _count(cells: Sequence[Cell]) -> None:
    """Number the cells that have run, and what they returned, from 1."""
    count = 0
    for cell in cells:
        if cell["cell_type"] == "code" and cell["execution_count"] is not None:
            count += 1
            cell["execution_count"] = count
            for output in cell["outputs"]:
                if output["output_type"] == "execute_result":
                    output["execution_count"] = count


def _ask_for_gpu(notebook: Notebook) -> None:
    """Ask Colab for a GPU if a lesson trains a full model, and for no other lesson."""
    code = (source(cell) for cell in notebook["cells"] if cell["cell_type"] == "code")
    notebook["metadata"].pop("accelerator", None)
    if any(TRAINS in said for said in code):
        notebook["metadata"] = {"accelerator": "GPU"} | notebook["metadata"]
