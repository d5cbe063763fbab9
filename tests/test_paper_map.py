"""Every part of the paper has a lesson that restates it and a name in the package.

The map is docs/paper_map.md. The list of the paper's parts stands here, independently.
"""

import json
import re
from collections import namedtuple
from functools import cache
from pathlib import Path

from tests.notebook_lint import NOTEBOOKS, source

MAP = NOTEBOOKS.parent / "docs" / "paper_map.md"

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


Row = namedtuple("Row", "part what lessons names")  # of the map; lessons are file names
Passage = namedtuple("Passage", "heading text")  # a blockquote that restates a part of the paper


def read_map(text: str) -> list[Row]:
    rows = []
    for line in text.splitlines():
        if not line.startswith("| ") or line.startswith(("| part |", "| --- |")):
            continue
        part, what, lesson, package = (cell.strip() for cell in line.strip("|").split(" | "))
        lessons = re.findall(r"\]\(\.\./notebooks/([^)]+)\)", lesson)
        rows.append(Row(part, what, lessons, re.findall(r"`([^`]+)`", package)))
    return rows


@cache
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


ROWS = read_map(MAP.read_text(encoding="utf-8"))


def test_every_part_has_one_whole_row() -> None:
    assert sorted(row.part for row in ROWS) == sorted(PARTS), "docs/paper_map.md: one row for each"
    for row in ROWS:
        assert row.what, row.part
        assert row.lessons, f"{row.part}: name a lesson"
        assert row.names, f"{row.part}: name what carries it out in the package"


def test_lessons_restate_the_parts() -> None:
    for row in ROWS:
        for lesson in row.lessons:
            found = passages(NOTEBOOKS / lesson)
            headings = [passage.heading for passage in found]
            there = any(restates(passage, row.part) for passage in found)
            assert there, f"{lesson} has no passage on {row.part}, only {headings}"


def test_lessons_name_only_what_the_paper_has() -> None:
    known = set(PARTS) | {"§5", "§6"}
    named = re.compile(r"§[\d.]*\d|(?:Figure|Table|[Ff]ootnote) \d+")
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        for passage in passages(path):
            for part in named.findall(passage.heading):
                assert part[0].upper() + part[1:] in known, f"{passage.heading}: not in the paper"


def test_headings_are_told_apart_and_an_equation_needs_its_formula() -> None:
    for heading, parts, others in (
        ("Paper §3.2.", ["§3.2"], ["§3.2.1"]),
        ("Paper §3.2.1, footnote 4.", ["§3.2.1", "Footnote 4"], ["§3.2", "§2"]),
        ("Paper appendix, Figure 3, Table 3 row (E).", ["Appendix", "Figure 3"], ["Table 2"]),
    ):
        passage = Passage(heading, f"> **{heading}** Text.")
        assert [part for part in [*parts, *others] if restates(passage, part)] == parts
    number = "> **Paper §3.3.** See Eq. 2."
    assert not restates(Passage("Paper §3.3.", number), "Eq. 2")
    assert restates(Passage("Paper §3.3.", number + r" $\max(0, x W_1 + b_1)$"), "Eq. 2")
