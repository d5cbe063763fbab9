"""How much a lesson asks of its reader: words, code to read, figures, gaps, and honest minutes.

`python -m experiments lessons` prints the table, and README has its minutes. Only the body is
counted, which ends at the exercises, without the cell for Colab and the links.
"""

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

# Of a lesson's body.
MAX_WORDS, MAX_MINUTES = 1_800, 40
EXERCISE_HEADING_PATTERN = re.compile(r"^### .+ \(\d+ minutes, \w+\)", re.MULTILINE)
LESSON_TITLE_PATTERN = re.compile(r"(?<= · ).+")
PAPER_SECTIONS_PATTERN = re.compile(r"(?<=\*\*Paper sections:\*\* )(?:.+(?:\n  .+)*)")
# Nobody reads a picture's other words, or the address of a link.
UNREAD_MARKDOWN_PATTERN = re.compile(r"!\[[^]]*\]|\]\([^)\s]*\)")
WORDS_A_MINUTE, SECONDS_A_LINE = 180, 5
MINUTES_A_FIGURE, MINUTES_A_GAP = 0.75, 2


class LessonCount(NamedTuple):
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
        looking = MINUTES_A_FIGURE * (self.figures + self.guesses)
        return reading + looking + MINUTES_A_GAP * (self.gaps + self.tries)


def count_lesson(name: str, text: str) -> LessonCount:
    """Count a notebook, given as its file has it."""
    cells = json.loads(text)["cells"]
    first = next(
        (i for i, cell in enumerate(cells) if EXERCISE_HEADING_PATTERN.search(_cell_source(cell))),
        len(cells),
    )
    body = [cell for cell in cells[:first] if "colab" not in cell["metadata"].get("tags", [])]
    texts = [_cell_source(cell) for cell in body if cell["cell_type"] == "markdown"]
    code = [cell for cell in body if cell["cell_type"] == "code"]
    sources = [_cell_source(cell) for cell in code]
    return LessonCount(
        lesson=name,
        words=sum(
            len(re.findall(r"\S*\w\S*", UNREAD_MARKDOWN_PATTERN.sub("", text))) for text in texts
        ),
        lines=sum(_num_code_lines_to_read(cell) for cell in code),
        figures=sum(_has_figure(cell) for cell in code),
        guesses=sum(".predict(" in source for source in sources),
        gaps=sum(".accept(" in source for source in sources),
        tries=sum(text.count("> **Try it.**") for text in texts),
        exercises=sum(bool(EXERCISE_HEADING_PATTERN.search(_cell_source(cell))) for cell in cells),
        title=(LESSON_TITLE_PATTERN.search(texts[0]) or [""])[0],
        sections=" ".join((PAPER_SECTIONS_PATTERN.search(texts[0]) or [""])[0].split()),
    )


def count_lessons(root: Path) -> list[LessonCount]:
    """Count every lesson of a checkout."""
    paths = sorted((root / "notebooks").glob("*.ipynb"))
    return [count_lesson(path.stem, path.read_text(encoding="utf-8")) for path in paths]


def lesson_counts_table(root: Path) -> str:
    """Return a line for each lesson, and their sums."""
    counts = count_lessons(root)
    heads = ("words", "lines", "figures", "guesses", "gaps", "tries", "exercises", "minutes")
    rows = [f"{'lesson':34}" + "".join(f"{head:>10}" for head in heads)]
    totals = {
        field: sum(getattr(lesson, field) for lesson in counts)
        for field in LessonCount._fields[1:8]
    }
    for lesson in [*counts, LessonCount("all", **totals)]:
        numbers = [*lesson[1:8], round(lesson.minutes)]
        rows.append(f"{lesson.lesson:34}" + "".join(f"{number:10,}" for number in numbers))
    return "\n".join(rows)


def readme_lessons_table(counts: list[LessonCount]) -> str:
    """Return the table of lessons of README: title, sections, minutes, a link."""
    rows = ["| # | lesson | paper | minutes | |", "| --- | --- | --- | ---: | --- |"]
    for lesson in counts:
        number = lesson.lesson[:2]
        if number.isdigit():  # no appendix
            link = f"[read](notebooks/{lesson.lesson}.ipynb)"
            about = f"{lesson.title} | {lesson.sections} | {lesson.minutes:.0f}"
            rows.append(f"| {number} | {about} | {link} |")
    return "\n".join(rows)


def _cell_source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def _num_code_lines_to_read(cell: dict[str, Any]) -> int:
    source = _cell_source(cell)
    folded = cell["metadata"].get("jupyter", {}).get("source_hidden", False)
    if (
        folded
        or "# your answer" in source
        or ".predict(" in source
        or "earlier_lessons_quiz.answer(" in source
    ):
        return 0
    return sum(bool(line.strip()) for line in source.splitlines())


def _has_figure(cell: dict[str, Any]) -> bool:
    return any("image/png" in output.get("data", {}) for output in cell["outputs"])
