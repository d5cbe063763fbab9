"""How much a lesson asks of its reader: words, code to read, figures, gaps, and honest minutes.

`python -m experiments lessons` prints the table, and README has its minutes. Only the body is
counted, which ends at the exercises, without the cell for Colab and the links.
"""

import ast
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

# Of a lesson's body.
MAX_WORDS, MAX_MINUTES = 1_800, 40
EXERCISE_HEADING_PATTERN = re.compile(r"^### .+ \((\d+) minutes, \w+\)", re.MULTILINE)
LESSON_TITLE_PATTERN = re.compile(r"(?<= · ).+")
PAPER_SECTIONS_PATTERN = re.compile(r"(?<=\*\*Paper sections:\*\* )(?:.+(?:\n  .+)*)")
# Nobody reads a picture's other words, or the address of a link.
UNREAD_MARKDOWN_PATTERN = re.compile(r"!\[[^]]*\]|\]\([^)\s]*\)")
WORDS_A_MINUTE, SECONDS_A_LINE = 180, 5
MINUTES_A_FIGURE, MINUTES_A_TRY = 0.75, 2
# A line to write takes longer than one to read: a gap of one line 2 minutes, of three lines 5, and
# from there on less a line, for a longer answer has plainer ones. A class takes 8 to 12.
MINUTES_A_FIRST_LINE, MINUTES_A_SECOND_LINE, MINUTES_A_FURTHER_LINE = 2, 1.5, 0.75
MAX_MINUTES_A_GAP = 12
GAP_PATTERN = re.compile(r"\b(\w+)\.(\w+)\.accept\((\w+)\)")
EXERCISES_IMPORT_PATTERN = re.compile(r"from lessonkit\.exercises import (\w+)(?: as (\w+))?")
EXERCISES_FOLDER = Path(__file__).parent.parent / "lessonkit" / "exercises"


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
    gap_minutes: float  # by the lines to be written
    exercise_minutes: int  # as their headings say
    title: str = ""
    sections: str = ""  # of the paper

    @property
    def minutes(self) -> float:
        """How long an honest reader of the body takes, who fills its gaps."""
        reading = self.words / WORDS_A_MINUTE + self.lines * SECONDS_A_LINE / 60
        looking = MINUTES_A_FIGURE * (self.figures + self.guesses)
        return reading + looking + self.gap_minutes + MINUTES_A_TRY * self.tries


def minutes_of_gap(num_lines: int) -> float:
    """Return how long it takes to write a gap's answer, of so many lines."""
    further = max(0, num_lines - 3) * MINUTES_A_FURTHER_LINE
    second = max(0, min(num_lines, 3) - 1) * MINUTES_A_SECOND_LINE
    return min(MINUTES_A_FIRST_LINE + second + further, MAX_MINUTES_A_GAP)


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
    headings = [EXERCISE_HEADING_PATTERN.search(_cell_source(cell)) for cell in cells]
    exercise_minutes = [int(heading[1]) for heading in headings if heading]
    num_lines_of_gaps = _num_lines_to_write(sources)
    return LessonCount(
        lesson=name,
        words=sum(
            len(re.findall(r"\S*\w\S*", UNREAD_MARKDOWN_PATTERN.sub("", text))) for text in texts
        ),
        lines=sum(_num_code_lines_to_read(cell) for cell in code),
        figures=sum(_has_figure(cell) for cell in code),
        guesses=sum(".predict(" in source for source in sources),
        gaps=len(num_lines_of_gaps),
        tries=sum(text.count("> **Try it.**") for text in texts),
        exercises=len(exercise_minutes),
        gap_minutes=sum(map(minutes_of_gap, num_lines_of_gaps)),
        exercise_minutes=sum(exercise_minutes),
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
    fields = ("words", "lines", "figures", "guesses", "gaps", "tries", "exercises")
    heads = (*fields, "minutes", "exercising")
    rows = [f"{'lesson':34}" + "".join(f"{head:>11}" for head in heads)]
    totals = {
        field: sum(getattr(lesson, field) for lesson in counts)
        for field in LessonCount._fields[1:10]
    }
    for lesson in [*counts, LessonCount("all", **totals)]:
        numbers = [*lesson[1:8], round(lesson.minutes), lesson.exercise_minutes]
        rows.append(f"{lesson.lesson:34}" + "".join(f"{number:11,}" for number in numbers))
    return "\n".join(rows)


def readme_hours_sentence(counts: list[LessonCount]) -> str:
    """Return README's sentence on the number of lessons, without appendices, and their hours."""
    lessons, hours, hours_with_exercises = _lessons_and_hours(counts)
    longest = max(lesson.minutes for lesson in lessons)
    return (
        f"{len(lessons)} lessons of at most {longest:.0f} minutes take {hours:.0f} hours, "
        f"or {hours_with_exercises:.0f} with all exercises."
    )


def readme_lessons_table(counts: list[LessonCount]) -> str:
    """Return README's table of lessons: linked title, sections, minutes; at its end their sums.

    Appendices are left out of the rows and of the sums.
    """
    lessons, hours, hours_with_exercises = _lessons_and_hours(counts)
    rows = ["| # | lesson | paper | minutes |", "| --- | --- | --- | ---: |"]
    for lesson in lessons:
        title = f"[{lesson.title}](notebooks/{lesson.lesson}.ipynb)"
        about = f"{title} | {lesson.sections} | {lesson.minutes:.0f}"
        rows.append(f"| {lesson.lesson[:2]} | {about} |")
    rows.append(f"| | hours; with all exercises | | {hours:.0f}; {hours_with_exercises:.0f} |")
    return "\n".join(rows)


def _lessons_and_hours(counts: list[LessonCount]) -> tuple[list[LessonCount], float, float]:
    """Return the lessons without appendices, their hours, and their hours with all exercises."""
    lessons = [lesson for lesson in counts if lesson.lesson[:2].isdigit()]
    hours = sum(lesson.minutes for lesson in lessons) / 60
    return lessons, hours, hours + sum(lesson.exercise_minutes for lesson in lessons) / 60


def _cell_source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def _num_lines_to_write(sources: list[str]) -> list[int]:
    """Return, for each gap of a lesson's cells of code, how many lines its answer adds to it."""
    imports = EXERCISES_IMPORT_PATTERN.findall("\n".join(sources))
    modules = {alias or module: module for module, alias in imports}
    counts = []
    for source in sources:
        if gap := GAP_PATTERN.search(source):
            answer = Counter(_code_lines(_answer_source(modules[gap[1]], gap[2], gap[3])))
            counts.append((answer - Counter(_code_lines(source))).total())
    return counts


def _answer_source(module: str, name: str, answer_name: str) -> str:
    """Return the source of a right answer's body, or of the whole class."""
    own, without_torch = EXERCISES_FOLDER / module, EXERCISES_FOLDER / "without_torch" / module
    paths = [own / "reference.py", own.with_suffix(".py"), without_torch.with_suffix(".py")]
    texts = [path.read_text(encoding="utf-8") for path in paths if path.is_file()]
    for node in (node for text in texts for node in ast.parse(text).body):
        if isinstance(node, ast.FunctionDef) and node.name in (name, answer_name):
            return "\n".join(map(ast.unparse, node.body))
        if isinstance(node, ast.ClassDef) and node.name == answer_name:
            return ast.unparse(node)
    raise LookupError(f"the exercises of {module} have no answer for the gap {name}")


class _AnnotationRemover(ast.NodeTransformer):
    """Turns `names: list[str] = []` into `names = []`."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        if node.value is None:
            return node
        return ast.Assign([node.target], node.value, lineno=node.lineno)


def _code_lines(source: str) -> list[str]:
    """Return the lines of code as `ast` writes them, without comments, docstrings, annotations."""
    tree = _AnnotationRemover().visit(ast.parse(source))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef) and ast.get_docstring(
            node
        ):
            node.body = node.body[1:]
        if isinstance(node, ast.FunctionDef):
            node.returns = None
        if isinstance(node, ast.arg):
            node.annotation = None
    lines = (line.strip() for line in ast.unparse(tree).splitlines())
    return [line for line in lines if line not in ("", "...")]


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
