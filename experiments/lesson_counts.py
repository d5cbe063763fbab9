"""How much a lesson asks of its reader: words, code to read, figures, gaps, and honest minutes.

`python -m experiments lessons` prints the table; README's minutes are its own. The body is counted:
what stands before the exercises at the end, the cell for Colab and the links left out.
"""

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

MAX_WORDS, MAX_MINUTES = 1_800, 30  # of a body
EXERCISE = re.compile(r"^### .+ \(\d+ minutes, \w+\)", re.MULTILINE)
TITLE = re.compile(r"(?<= · ).+")
SECTIONS = re.compile(r"(?<=\*\*Paper sections:\*\* )(?:.+(?:\n  .+)*)")
UNREAD = re.compile(r"!\[[^]]*\]|\]\([^)\s]*\)")  # a picture's other words, a link's address
WORDS_A_MINUTE, SECONDS_A_LINE, FIGURE, DOING = 180, 5, 0.75, 2


class Count(NamedTuple):
    """What the body of a lesson holds; `exercises` are those after it."""

    lesson: str  # its file's name
    words: int  # of text
    lines: int  # of code to read; blank ones, folded cells and gaps are not
    figures: int
    guesses: int  # asked before something is shown
    gaps: int  # of code that the learner writes
    tries: int  # "Try it", and cells to change
    exercises: int
    title: str = ""
    sections: str = ""  # of the paper

    @property
    def minutes(self) -> float:
        """How long an honest reader takes."""
        reading = self.words / WORDS_A_MINUTE + self.lines * SECONDS_A_LINE / 60
        return reading + FIGURE * (self.figures + self.guesses) + DOING * (self.gaps + self.tries)


def count(name: str, text: str) -> Count:
    """Count a notebook, given as its file has it."""
    cells = json.loads(text)["cells"]
    first = next((i for i, cell in enumerate(cells) if EXERCISE.search(_source(cell))), len(cells))
    body = [cell for cell in cells[:first] if "colab" not in cell["metadata"].get("tags", [])]
    texts = [_source(cell) for cell in body if cell["cell_type"] == "markdown"]
    code = [cell for cell in body if cell["cell_type"] == "code"]
    sources = [_source(cell) for cell in code]
    return Count(
        lesson=name,
        words=sum(len(re.findall(r"\S*\w\S*", UNREAD.sub("", each))) for each in texts),
        lines=sum(_lines_to_read(cell) for cell in code),
        figures=sum(_has_figure(cell) for cell in code),
        guesses=sum(".predict(" in each for each in sources),
        gaps=sum(".accept(" in each for each in sources),
        tries=sum(each.count("> **Try it.**") for each in texts),
        exercises=sum(bool(EXERCISE.search(_source(cell))) for cell in cells),
        title=(TITLE.search(texts[0]) or [""])[0],
        sections=" ".join((SECTIONS.search(texts[0]) or [""])[0].split()),
    )


def lessons(root: Path) -> list[Count]:
    """Count every lesson of a checkout."""
    paths = sorted((root / "notebooks").glob("*.ipynb"))
    return [count(path.stem, path.read_text(encoding="utf-8")) for path in paths]


def table(root: Path) -> str:
    """Return a line for each lesson, and their sums."""
    counts = lessons(root)
    heads = ("words", "lines", "figures", "guesses", "gaps", "tries", "exercises", "minutes")
    rows = [f"{'lesson':34}" + "".join(f"{head:>10}" for head in heads)]
    sums = Count("all", *(sum(values) for values in list(zip(*counts, strict=True))[1:8]))
    for each in [*counts, sums]:
        numbers = [*each[1:8], round(each.minutes)]
        rows.append(f"{each.lesson:34}" + "".join(f"{number:10,}" for number in numbers))
    return "\n".join(rows)


def page_table(counts: list[Count]) -> str:
    """Return the table of lessons of README: title, sections, minutes, a link."""
    rows = ["| # | lesson | paper | minutes | |", "| --- | --- | --- | ---: | --- |"]
    for each in counts:
        number, link = each.lesson[:2], f"[read](notebooks/{each.lesson}.ipynb)"
        if not number.isdigit():  # an appendix
            continue
        rows.append(f"| {number} | {each.title} | {each.sections} | {each.minutes:.0f} | {link} |")
    return "\n".join(rows)


def _source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def _lines_to_read(cell: dict[str, Any]) -> int:
    source = _source(cell)
    folded = cell["metadata"].get("jupyter", {}).get("source_hidden", False)
    if folded or "# your answer" in source or ".predict(" in source or "recall.answer(" in source:
        return 0
    return sum(bool(line.strip()) for line in source.splitlines())


def _has_figure(cell: dict[str, Any]) -> bool:
    return any("image/png" in output.get("data", {}) for output in cell["outputs"])
