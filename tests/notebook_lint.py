"""The lint of the lessons: `python -m tests.notebook_lint [FILE ...]`, every lesson by default.

A finding names the notebook, the cell (counted from 0), the rule, and the remedy.
"""

import ast
import json
import re
import statistics
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.helpers import ROOT
from tests.helpers.names import missing

NOTEBOOKS = ROOT / "notebooks"
EXECUTE = "run `make notebooks`"

MAX_BYTES = 600_000
MAX_LINES, MAX_CLASS_LINES, MAX_MEDIAN_LINES, MAX_COLUMNS = 20, 30, 8, 80
MAX_IGNORED = 5  # cells whose output is not compared
CANARY_CELLS = 4  # a cell with a comparable text must be among the first so many

HEADER = ("paper", "module", "test", "minute", "CPU", "GPU")
CALLOUTS = ("Shape", "Pitfall", "Differs from the paper", "Predict", "Try it")
PAPER = re.compile(r"Paper (§\d|Table \d|Figure \d|abstract|appendix)")
PAPER_LINK = re.compile(r"https://arxiv\.org/(abs|html)/1706\.03762")
SEE = re.compile(r"\*What to (see|look for)\.\*")
MACHINE_PATH = re.compile(
    r"(?<![\w.~-])/(home|root|tmp|Users|work|opt|mnt|var)/\w|\b[A-Z]:\\+(Users|home)"
)
TIMESTAMP = re.compile(r"\b20\d\d-\d\d-\d\d[ T]\d\d:\d\d")

APPENDIX = re.compile(r"# A\d")  # the title of a notebook that belongs to a lesson
QUOTED_TABLE = re.compile(r"^>\s*\|", re.MULTILINE)
# A list's mark after a line of prose: Markdown may begin a list there.
STRAY_ITEM = re.compile(
    r"^(?:> ?)*(?! |[-+*] |\d+[.)] )\S.*\n(?:> ?)*((?:\d+[.)]|[-+*]) .*)", re.MULTILINE
)

Cell = dict[str, Any]
Finding = tuple[int, str, str]  # cell, rule, remedy
Rule = Callable[[list[Cell]], Iterator[Finding]]


def source(cell: Cell) -> str:
    """The text of a cell."""
    return "".join(cell["source"])


def code_cells(cells: list[Cell]) -> list[tuple[int, Cell]]:
    """The code cells that are not empty, with their places."""
    return [(i, c) for i, c in enumerate(cells) if c["cell_type"] == "code" and source(c).strip()]


def is_ignored(cell: Cell) -> bool:
    """Whether nbval is told not to compare this cell's output."""
    return "nbval-ignore-output" in cell["metadata"].get("tags", [])


def is_setup(cell: Cell) -> bool:
    """Whether this is the cell that fetches the course on Colab, the same in every lesson."""
    return "colab" in cell["metadata"].get("tags", [])


def output_texts(cell: Cell) -> list[str]:
    """What a cell has printed or returned, as plain text."""
    texts = [o.get("text") or o.get("data", {}).get("text/plain") for o in cell["outputs"]]
    return ["".join(text) for text in texts if text]


def has_picture(cell: Cell) -> bool:
    """Whether a cell has stored a picture."""
    return any("image/png" in output.get("data", {}) for output in cell["outputs"])


def canary_cell(cells: list[Cell]) -> int | None:
    """The place of the first cell with an output that nbval compares as text."""
    for index, cell in code_cells(cells):
        if not is_ignored(cell) and output_texts(cell) and not has_picture(cell):
            return index
    return None


def executed(cells: list[Cell]) -> Iterator[Finding]:
    """Every code cell ran once, in order, and what it printed is stored."""
    for count, (index, cell) in enumerate(code_cells(cells), start=1):
        if cell["execution_count"] != count:
            yield index, f"execution count {cell['execution_count']}, not {count}", EXECUTE
        statements = ast.parse(source(cell)).body
        calls = [s.value for s in statements if isinstance(s, ast.Expr)]
        prints = any(isinstance(c, ast.Call) and ast.unparse(c.func) == "print" for c in calls)
        if prints and not output_texts(cell):
            yield index, "prints, but no output is stored", EXECUTE
        if source(cell).rstrip().endswith(";"):  # nbval would see the value all the same
            yield index, "ends in a semicolon", "assign the value: `_ = ...`"


def clean_outputs(cells: list[Cell]) -> Iterator[Finding]:
    """No errors, no warnings, no vector pictures, no state of widgets."""
    for index, cell in code_cells(cells):
        for output in cell["outputs"]:
            data = output.get("data", {})
            if output["output_type"] == "error":
                yield index, f"ends in {output['ename']}", "mend the cell, then " + EXECUTE
            if output.get("name") == "stderr":
                yield index, "wrote to stderr", "remove the cause of the warning, then " + EXECUTE
            if "image/svg+xml" in data:
                yield index, "stores an SVG", "show the figure as PNG"
            if "application/vnd.jupyter.widget-view+json" in data:
                yield index, "stores a widget", "show a chart that needs no kernel"


def anonymous(cells: list[Cell]) -> Iterator[Finding]:
    """Nothing tells which machine ran the lesson, or when."""
    for index, cell in enumerate(cells):
        texts = [source(cell), *(output_texts(cell) if cell["cell_type"] == "code" else [])]
        for text in texts:
            if found := MACHINE_PATH.search(text):
                yield index, f"names a path of a machine, {found[0]!r}", "name a relative path"
            if found := TIMESTAMP.search(text):
                yield index, f"holds a time, {found[0]!r}", "leave the time out; a date may stay"
        if "execution" in cell["metadata"]:
            yield index, "its metadata hold the times of its run", EXECUTE


def short_cells(cells: list[Cell]) -> Iterator[Finding]:
    """A code cell is read at one glance."""
    lengths = []
    for index, cell in code_cells(cells):
        lines = [line for line in source(cell).splitlines() if line.strip()]
        if not is_setup(cell):
            lengths.append(len(lines))
        kinds = [type(s) for s in ast.parse(source(cell)).body]
        is_class = set(kinds) - {ast.Import, ast.ImportFrom} == {ast.ClassDef}
        limit = MAX_CLASS_LINES if is_class and kinds.count(ast.ClassDef) == 1 else MAX_LINES
        if len(lines) > limit:
            remedy = "split the cell, or move the code into the package"
            yield index, f"{len(lines)} lines of code, over {limit}", remedy
        if widest := max((len(line) for line in lines if len(line) > MAX_COLUMNS), default=0):
            yield index, f"{widest} columns, over {MAX_COLUMNS}", "break the line"
    if lengths and statistics.median(lengths) > MAX_MEDIAN_LINES:
        median = statistics.median(lengths)
        yield 0, f"median of {median} lines a code cell, over {MAX_MEDIAN_LINES}", "split cells"


def opens_and_closes(cells: list[Cell]) -> Iterator[Finding]:
    """A lesson says what it needs first, and what was learned last."""
    if not cells or cells[0]["cell_type"] != "markdown":
        yield 0, "does not open with text", "begin with a markdown cell: title and header"
        return
    missing = [word for word in HEADER if word.lower() not in source(cells[0]).lower()]
    if missing or not source(cells[0]).startswith("# "):
        remedy = "open with a title, Paper sections, modules, tests, minutes on CPU and on GPU"
        yield 0, f"header without {', '.join(missing) or 'a title'}", remedy
    text = "\n".join(source(cell) for cell in cells if cell["cell_type"] == "markdown")
    for heading in () if APPENDIX.match(text) else ("Recap", "Exercises"):
        if not re.search(rf"^#+ .*\b{heading}\b", text, re.MULTILINE | re.IGNORECASE):
            yield len(cells) - 1, f"no heading {heading!r}", "close with a recap and exercises"


def explained_pictures(cells: list[Cell]) -> Iterator[Finding]:
    """A picture says in words what it is; under it a sentence says what to see in it."""
    for index, cell in code_cells(cells):
        below = cells[index + 1] if index + 1 < len(cells) else None
        explained = below and below["cell_type"] == "markdown" and SEE.search(source(below))
        if has_picture(cell) and not explained:
            remedy = "begin the markdown cell below it with *What to look for.* and a sentence"
            yield index, "a picture without explanation", remedy
        if has_picture(cell) and any(text.startswith("<") for text in output_texts(cell)):
            remedy = "call `renderer.enable()` of lessonkit.charts where plotting begins"
            yield index, "a picture without a line of text", remedy
        metadata = [o["metadata"] for o in cell["outputs"] if "image/png" in o.get("data", {})]
        if not all(each.get("image/png", {}).get("alt") for each in metadata):
            yield index, "a picture without alt text in its metadata", EXECUTE


def compared(cells: list[Cell]) -> Iterator[Finding]:
    """Nearly every output is compared when the lesson is tested."""
    ignored = [index for index, cell in code_cells(cells) if is_ignored(cell)]
    if len(ignored) > MAX_IGNORED:
        remedy = "print rounded values or verdicts instead"
        yield ignored[-1], f"{len(ignored)} outputs not compared, over {MAX_IGNORED}", remedy
    first = [index for index, cell in code_cells(cells) if not is_setup(cell)][:CANARY_CELLS]
    if first and canary_cell(cells) not in first:
        remedy = "print a value that is always the same in one of them"
        yield first[0], f"no text to compare in the first {CANARY_CELLS} code cells", remedy


def callouts(cells: list[Cell]) -> Iterator[Finding]:
    """A callout is of a known kind, and a passage of the paper is linked."""
    for index, cell in enumerate(cells):
        if cell["cell_type"] != "markdown":
            continue
        for name in re.findall(r"^> \*\*(.+?)\.?\*\*", source(cell), re.MULTILINE):
            if name.startswith("Paper"):
                if not PAPER.match(name):
                    yield index, f"callout {name!r} names no section", "write **Paper §3.2.1.**"
                if not PAPER_LINK.search(source(cell)):
                    remedy = "link its section of https://arxiv.org/abs/1706.03762"
                    yield index, f"callout {name!r} has no link", remedy
            elif name not in CALLOUTS:
                yield index, f"unknown callout {name!r}", f"use one of {', '.join(CALLOUTS)}"


def plain_markdown(cells: list[Cell]) -> Iterator[Finding]:
    """No line of prose begins as an item of a list does; no table is in a quotation.

    Some of the programs that show notebooks would draw the first as a list, the second as bars.
    """
    for index, cell in enumerate(cells):
        if cell["cell_type"] != "markdown":
            continue
        if found := STRAY_ITEM.search(source(cell)):
            remedy = "break the line elsewhere, or leave a line free before a list"
            yield index, f"prose goes on with {found[1][:20]!r}", remedy
        if QUOTED_TABLE.search(source(cell)):
            yield index, "a table in a quotation", "let it follow the quotation"


def named_things(cells: list[Cell]) -> Iterator[Finding]:
    """What a lesson names of the package and its tests is there."""
    for index, cell in enumerate(cells):
        if cell["cell_type"] == "markdown":
            for name in missing(source(cell)):
                yield index, f"names {name!r}", "that is not there: has it moved?"


RULES: tuple[Rule, ...] = (
    *(executed, clean_outputs, anonymous, short_cells, opens_and_closes),
    *(explained_pictures, compared, callouts, plain_markdown, named_things),
)


def lint(path: Path) -> list[str]:
    """Give one line for each thing wrong with a notebook."""
    text = path.read_text(encoding="utf-8")
    notebook = json.loads(text)
    findings: list[Finding] = []
    if (size := len(text.encode())) > MAX_BYTES:
        remedy = "show fewer or smaller pictures"
        findings.append((0, f"{size:,} bytes, over {MAX_BYTES:,}", remedy))
    if notebook["metadata"].get("widgets"):
        findings.append((0, "holds the state of widgets", EXECUTE))
    if (kernel := notebook["metadata"].get("kernelspec", {}).get("name")) != "python3":
        findings.append((0, f"kernel {kernel!r}", "choose the kernel python3"))
    for rule in RULES:
        findings.extend(rule(notebook["cells"]))
    return [f"{path.name}: cell {cell}: {what}: {remedy}" for cell, what, remedy in findings]


def main(names: list[str]) -> int:
    """Print every finding; the exit status says whether there was one."""
    paths = [Path(name) for name in names] or sorted(NOTEBOOKS.glob("*.ipynb"))
    findings = [finding for path in paths for finding in lint(path)]
    print("\n".join([*findings, f"{len(paths)} notebooks, {len(findings)} findings"]))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
