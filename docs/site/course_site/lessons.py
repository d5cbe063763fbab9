"""What the site knows of the lessons: number, title, how they open, and what they name."""

import json
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from course_site.docstrings import inline
from course_site.gaps import insert_gaps
from course_site.package import ROOMS
from experiments.lesson_counts import count_lesson

ROOM = f"(?:{'|'.join(ROOMS)})"
NAMED = re.compile(rf"(?<![\w./-]){ROOM}(?:\.\w+)+")
MEMBERS = re.compile(rf"`({ROOM}[\w.]*)`\s+\(([^)]*)\)")  # `transformer.data` (`bpe`)
SET_UP = "tag_colab"
BADGE = re.compile(r"\[!\[Open in Colab\]\([^)]*\)\]\((.*?)\)")
LINK = re.compile(r"\[([^\]]+)\]\([^)]*\)")
IMPORTED = re.compile(rf"from ({ROOM}[\w.]*) import \(?([\w, \n]+)")


@dataclass(frozen=True)
class Lesson:
    """A lesson's notebook.

    Attributes:
        path: Its file.
    """

    path: Path

    @property
    def stem(self) -> str:
        """`02_attention`."""
        return self.path.stem

    @cached_property
    def cells(self) -> list[dict[str, Any]]:
        """Its cells, as they are stored."""
        cells: list[dict[str, Any]] = json.loads(self.path.read_text(encoding="utf-8"))["cells"]
        return cells

    @property
    def number(self) -> str:
        """`02`."""
        return self.stem.partition("_")[0]

    @property
    def name(self) -> str:
        """Its title without the number."""
        return source(self.cells[0]).partition("\n")[0].removeprefix(f"# {self.number} · ")

    @property
    def opening(self) -> str:
        """The first paragraph below title and badge, on one line, of links only the words."""
        _, *paragraphs = BADGE.sub("", source(self.cells[0])).split("\n\n")
        first = next(text for text in paragraphs if text.strip())
        return LINK.sub(r"\1", " ".join(first.split()))

    @property
    def sections(self) -> str:
        """The sections of the paper, as the lesson's header names them."""
        found = re.search(r"\*\*Paper sections:\*\* (.*?)\n- ", source(self.cells[0]), re.DOTALL)
        return " ".join(found[1].split()) if found else ""

    @cached_property
    def modules(self) -> frozenset[str]:
        """The dotted names in its text and its code, `transformer.data.tokenizers` among them."""
        text = "\n".join(map(source, self.cells))
        found = set(NAMED.findall(text))
        for package, members in MEMBERS.findall(text):
            found |= {f"{package}.{member}" for member in re.findall(r"`([\w.]+)`", members)}
        for package, members in IMPORTED.findall(text):
            found |= {f"{package}.{member}" for member in re.findall(r"\w+", members)}
        return frozenset(found)


def source(cell: dict[str, Any]) -> str:
    """The text of a cell."""
    return "".join(cell["source"])


def read_lessons(root: Path) -> list[Lesson]:
    """Return the lessons of a course in their order."""
    return [Lesson(path) for path in sorted((root / "notebooks").glob("[0-9][0-9]_*.ipynb"))]


READ_HERE = (
    "\n\n*This page shows the lesson as it was run. Where a gap has a cell to fill in below it, "
    "the page judges your answer. To fill in all of them and run the lesson, open it {where}, or "
    '<a href="{file}" download>download this notebook</a>.*'
)


def prepare(path: Path) -> None:
    """Make a stored lesson ready to be read on a page.

    Cells whose outputs JupyterLab folds answer what a prediction asks: MyST folds them too. The
    first cell says where the lesson can be run, and below each gap is what can be done about it.
    """
    book = json.loads(path.read_text(encoding="utf-8"))
    for cell in book["cells"]:
        if cell["metadata"].get("jupyter", {}).get("outputs_hidden"):
            cell["metadata"]["tags"] = [*cell["metadata"].get("tags", []), "hide-output"]
    first = source(book["cells"][0])
    colab = BADGE.search(first)
    book["cells"] = insert_gaps(book["cells"], colab[1] if colab else None)
    where = f"[on Colab]({colab[1]}), or " if colab else ""
    book["cells"][0]["source"] = first + READ_HERE.format(
        where=f"{where}with `make lab`", file=path.name
    )
    path.write_text(json.dumps(book), encoding="utf-8")


def leave_out_set_up(app: Sphinx, doctree: nodes.document) -> None:
    """Leave out the cell that sets up Colab: on a page it does nothing."""
    for cell in list(doctree.findall(nodes.container)):
        if SET_UP in cell["classes"]:
            cell.parent.remove(cell)


class Lessons(SphinxDirective):
    """The lessons, each with its number, its title and how it opens."""

    def run(self) -> list[nodes.Node]:
        """Return them as a list that the style sheet draws as cards."""
        cards = nodes.bullet_list(classes=["cards"])
        for lesson in read_lessons(self.config.course_root):
            self.env.note_dependency(str(lesson.path))
            page = f"notebooks/{lesson.stem}.html"
            link = nodes.reference(
                "", "", nodes.inline(text=lesson.number), nodes.Text(f" {lesson.name}"), refuri=page
            )
            opening = nodes.paragraph("", "", *inline(lesson.opening))
            minutes = round(
                count_lesson(lesson.stem, lesson.path.read_text(encoding="utf-8")).minutes
            )
            said = f"Paper: {lesson.sections} · {minutes} minutes"
            paper = nodes.paragraph("", said, classes=["paper"])
            title = nodes.paragraph("", "", link, classes=["card-title"])
            cards += nodes.list_item("", title, opening, paper)
        return [cards]
