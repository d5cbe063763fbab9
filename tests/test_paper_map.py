"""Every part of the paper has a lesson that restates it and a name in the package.

The map is docs/paper_map.md. The list of the paper's parts stands here, independently.
"""

import importlib
import json
import re
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.notebook_lint import NOTEBOOKS, source

MAP = NOTEBOOKS.parent / "docs" / "paper_map.md"
LATER = {"08", "09", "10", "11", "12", "13"}  # lessons that may still be planned

# What arXiv 1706.03762v7 consists of, and by what a passage of a lesson is known to restate it:
# patterns that one passage must hold, the first in its heading where it begins with ^.
SECTIONS = (
    *("§1", "§2", "§3", "§3.1", "§3.2", "§3.2.1", "§3.2.2", "§3.2.3", "§3.3", "§3.4", "§3.5"),
    *("§4", "§5.1", "§5.2", "§5.3", "§5.4", "§6.1", "§6.2", "§6.3", "§7"),
)
FLOATS = (*(f"Figure {n}" for n in range(1, 6)), *(f"Table {n}" for n in range(1, 5)))
FOOTNOTES = ("Footnote 4", "Footnote 5")
PARTS: dict[str, tuple[str, ...]] = {
    "Abstract": (r"^Paper abstract\b",),
    **{part: (rf"^Paper .*{re.escape(part)}(?!\d|\.\d)",) for part in SECTIONS},
    **{part: (rf"^Paper .*\b{part}(?!\d)",) for part in FLOATS},
    **{part: (rf"^Paper .*\b{part.lower()}(?!\d)",) for part in FOOTNOTES},
    "Eq. 1": (r"Eq\. ?1|tag\{1\}", r"softmax", r"sqrt"),
    "MultiHead": (r"MultiHead", r"Concat"),
    "Eq. 2": (r"Eq\. ?2|tag\{2\}", r"max"),
    "PE": (r"sin", r"cos", r"10\D{0,4}000"),
    "Eq. 3": (r"Eq\. ?3|tag\{3\}", r"min", r"warm"),
    "Appendix": (r"^Paper appendix\b",),
}


class Row(NamedTuple):
    """A row of the map."""

    part: str
    what: str
    lessons: list[str]  # file names
    planned: list[str]  # numbers of lessons to be written
    names: list[str]


def read_map(text: str) -> list[Row]:
    rows = []
    for line in text.splitlines():
        if not line.startswith("| ") or line.startswith(("| part |", "| --- |")):
            continue
        part, what, lesson, package = (cell.strip() for cell in line.strip("|").split(" | "))
        lessons = re.findall(r"\]\(\.\./notebooks/([^)]+)\)", lesson)
        planned = re.findall(r"(\d\d), planned", lesson)
        rows.append(Row(part, what, lessons, planned, re.findall(r"`([^`]+)`", package)))
    return rows


class Passage(NamedTuple):
    """A blockquote of a lesson that restates a part of the paper."""

    heading: str
    text: str


def passages(path: Path) -> list[Passage]:
    found = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "markdown":
            for block in re.findall(r"(?:^>.*\n?)+", source(cell), re.MULTILINE):
                for piece in re.split(r"^(?=> \*\*)", block, flags=re.MULTILINE):
                    if heading := re.match(r"> \*\*(Paper .+?)\*\*", piece):
                        found.append(Passage(heading[1], piece))
    return found


def restates(passage: Passage, part: str) -> bool:
    return all(
        re.search(pattern, passage.heading if pattern.startswith("^") else passage.text)
        for pattern in PARTS[part]
    )


def find(name: str) -> object:
    """Import a module, or a name of a module, or a name of a class of a module."""
    parts = name.split(".")
    for split in range(len(parts), 0, -1):
        module = ".".join(parts[:split])
        try:
            found: object = importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name is None or not module.startswith(error.name):
                raise
            continue
        for attribute in parts[split:]:
            found = getattr(found, attribute)
        return found
    raise ModuleNotFoundError(name)


def missing(rows: list[Row]) -> list[str]:
    """The paper's parts that have not exactly one row."""
    return [part for part in PARTS if [row.part for row in rows].count(part) != 1]


def stale_plans(row: Row, notebooks: Path) -> list[str]:
    """The lessons that a row calls planned, and that are written or were never to be planned."""
    return [n for n in row.planned if n not in LATER or list(notebooks.glob(f"{n}_*.ipynb"))]


def unexplained(part: str, path: Path) -> str:
    """What a lesson lacks that shall restate a part of the paper; nothing where it does."""
    if not path.is_file():
        return f"there is no lesson {path.name}"
    found = passages(path)
    if any(restates(passage, part) for passage in found):
        return ""
    return f"{path.name} has no passage on {part}, only {[p.heading for p in found]}"


ROWS = read_map(MAP.read_text(encoding="utf-8"))
EXPLAINED = [(row.part, lesson) for row in ROWS for lesson in row.lessons]
NAMED = [(row.part, name) for row in ROWS for name in row.names]


def test_every_part_has_its_row() -> None:
    assert not missing(ROWS), "docs/paper_map.md: write one row for each"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.part)
def test_row_is_whole(row: Row) -> None:
    assert row.part in PARTS, "the paper has no such part"
    assert row.what
    assert row.lessons or row.planned, "name a lesson"
    assert row.names, "name what carries it out in the package"
    assert not stale_plans(row, NOTEBOOKS), "link the lesson in place of 'planned'"


@pytest.mark.parametrize(("part", "lesson"), EXPLAINED)
def test_lesson_restates_the_part(part: str, lesson: str) -> None:
    problem = unexplained(part, NOTEBOOKS / lesson)
    assert not problem, problem


@pytest.mark.parametrize(("part", "name"), NAMED)
def test_package_has_the_name(part: str, name: str) -> None:
    find(name)


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.name)
def test_lessons_name_only_what_the_paper_has(path: Path) -> None:
    known = set(PARTS) | {"§5", "§6"}
    named = re.compile(r"§[\d.]*\d|(?:Figure|Table|[Ff]ootnote) \d+")
    for passage in passages(path):
        for part in named.findall(passage.heading):
            assert part[0].upper() + part[1:] in known, f"{passage.heading}: not in the paper"


# And it can fail: each of its findings, on a map or a lesson that was changed.


@pytest.mark.parametrize("part", PARTS)
def test_a_removed_row_is_missed(part: str) -> None:
    lines = MAP.read_text(encoding="utf-8").splitlines(keepends=True)
    rest = [line for line in lines if not line.startswith(f"| {part} |")]
    assert part in missing(read_map("".join(rest)))


WRITTEN = [(part, lesson) for part, lesson in EXPLAINED if (NOTEBOOKS / lesson).is_file()]


@pytest.mark.parametrize(("part", "lesson"), WRITTEN)
def test_a_removed_passage_is_missed(part: str, lesson: str, tmp_path: Path) -> None:
    """Of a copy of the lesson all passages on the part are taken away."""
    copy = Path(shutil.copy(NOTEBOOKS / lesson, tmp_path))
    notebook = json.loads(copy.read_text(encoding="utf-8"))
    on_it = [passage for passage in passages(copy) if restates(passage, part)]
    for cell in notebook["cells"]:
        cell["source"] = source(cell)
        for passage in on_it:
            cell["source"] = cell["source"].replace(passage.text, "")
    copy.write_text(json.dumps(notebook), encoding="utf-8")
    assert unexplained(part, copy).startswith(f"{lesson} has no passage on {part}")


def test_a_lesson_that_is_not_there_is_missed(tmp_path: Path) -> None:
    assert unexplained("§1", tmp_path / "00_x.ipynb") == "there is no lesson 00_x.ipynb"


def test_a_plan_ends_with_its_lesson(tmp_path: Path) -> None:
    row = Row("§2", "before", [], ["10", "11"], ["transformer.model"])
    assert not stale_plans(row, tmp_path)
    (tmp_path / "10_before.ipynb").touch()
    assert stale_plans(row, tmp_path) == ["10"]
    assert stale_plans(row._replace(planned=["02"]), tmp_path) == ["02"]


@pytest.mark.parametrize(
    ("heading", "part", "same"),
    [
        ("Paper §3.2.", "§3.2", True),
        ("Paper §3.2.1, footnote 4.", "§3.2.1", True),
        ("Paper §3.2.1, footnote 4.", "Footnote 4", True),
        ("Paper §3.2.1.", "§3.2", False),
        ("Paper §3.2.1.", "§2", False),
        ("Paper §3.2.", "§3.2.1", False),
        ("Paper §3.5, Table 3 row (E).", "Table 3", True),
        ("Paper §3.5, Table 3 row (E).", "Table 2", False),
        ("Paper Figure 2.", "Figure 2", True),
        ("Paper appendix, Figure 3.", "Appendix", True),
        ("Paper appendix, Figure 3.", "Figure 3", True),
    ],
)
def test_headings_are_told_apart(heading: str, part: str, same: bool) -> None:
    assert restates(Passage(heading, f"> **{heading}** Text."), part) == same


def test_an_equation_needs_its_formula() -> None:
    number = "> **Paper §3.3.** See Eq. 2."
    assert not restates(Passage("Paper §3.3.", number), "Eq. 2")
    assert restates(Passage("Paper §3.3.", number + r" $\max(0, x W_1 + b_1)$"), "Eq. 2")


@pytest.mark.parametrize(
    "name",
    ["transformer.attention.Atention", "transformer.atention", "transformer.model.Encoder.x"],
)
def test_a_wrong_name_is_missed(name: str) -> None:
    with pytest.raises((AttributeError, ModuleNotFoundError)):
        find(name)
