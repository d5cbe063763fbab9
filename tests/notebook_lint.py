"""The lint of the lessons: `python -m tests.notebook_lint [FILE ...]`, every lesson by default.

A finding names the notebook, the cell (counted from 0), the rule, and the remedy.
"""

import ast
import json
import re
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.helpers import ROOT
from tests.helpers.names import missing

NOTEBOOKS = ROOT / "notebooks"
EXECUTE = "run `make notebooks`"

MAX_BYTES = 600_000
MAX_LINES, MAX_CLASS_LINES, MAX_MEDIAN_LINES, MAX_COLUMNS = 20, 30, 8, 80
MAX_IGNORED = 5  # cells whose output is not compared
MAX_IMPORT_LINES = 6  # before the first idea, which ends at the second heading
SHOW_PROGRESS = "ex.show_progress()"  # the cell at the end of every lesson
CANARY_CELLS = 4  # a cell with a comparable text must be among the first so many

HEADER = ("paper", "module", "test", "minute", "CPU", "GPU")
CALLOUTS = ("Shape", "Pitfall", "Differs from the paper", "Predict", "Try it")
PAPER = re.compile(r"Paper (§\d|Table \d|Figure \d|abstract|appendix)")
PAPER_LINK = re.compile(r"https://arxiv\.org/(abs|html)/1706\.03762")
SEE = re.compile(r"\*What to (see|look for)\.\*")
MACHINE_PATH = re.compile(
    r"(?<![\w.~-])/(home|root|tmp|Users|work|opt|mnt|var)/\w|\b[A-Z]:\\+(Users|home)"
)
NOTHING_YET = re.compile(r"^\w+: (there is no guess|not attempted)")
TIMESTAMP = re.compile(r"\b20\d\d-\d\d-\d\d[ T]\d\d:\d\d")

APPENDIX = re.compile(r"# A\d")  # the title of a notebook that belongs to a lesson
QUOTED_TABLE = re.compile(r"^>\s*\|", re.MULTILINE)
# A list's mark after a line of prose: Markdown may begin a list there.
STRAY_ITEM = re.compile(
    r"^(?:> ?)*(?! |[-+*] |\d+[.)] )\S.*\n(?:> ?)*((?:\d+[.)]|[-+*]) .*)", re.MULTILINE
)

Cell = dict[str, Any]
Finding = tuple[int, str]  # the place of a cell; what is wrong, and the remedy


def source(cell: Cell) -> str:
    """The text of a cell."""
    return "".join(cell["source"])


def code_cells(cells: list[Cell]) -> list[tuple[int, Cell]]:
    """The code cells that are not empty, with their places."""
    return [(i, c) for i, c in enumerate(cells) if c["cell_type"] == "code" and source(c).strip()]


def is_tagged(cell: Cell, tag: str) -> bool:
    """Whether a cell has a tag: colab (it fetches the course there), or nbval-ignore-output."""
    return tag in cell["metadata"].get("tags", [])


def output_texts(cell: Cell) -> list[str]:
    """What a cell has printed or returned, as plain text."""
    texts = [o.get("text") or o.get("data", {}).get("text/plain") for o in cell["outputs"]]
    return ["".join(text) for text in texts if text]


def pictures(cell: Cell) -> list[Cell]:
    """The outputs of a cell that have a picture."""
    return [output for output in cell["outputs"] if "image/png" in output.get("data", {})]


def executed(cell: Cell, count: int) -> Iterator[str]:
    """A code cell ran once, in its order, and what it printed is stored."""
    if cell["execution_count"] != count:
        yield f"execution count {cell['execution_count']}, not {count}: {EXECUTE}"
    statements = ast.parse(source(cell)).body
    calls = [s.value for s in statements if isinstance(s, ast.Expr)]
    prints = any(isinstance(c, ast.Call) and ast.unparse(c.func) == "print" for c in calls)
    if prints and not output_texts(cell):
        yield f"prints, but no output is stored: {EXECUTE}"
    if source(cell).rstrip().endswith(";"):  # nbval would see the value all the same
        yield "ends in a semicolon: assign the value: `_ = ...`"


def clean_outputs(cell: Cell) -> Iterator[str]:
    """No errors, no warnings, no vector pictures, no state of widgets."""
    for output in cell["outputs"]:
        data = output.get("data", {})
        if output["output_type"] == "error":
            yield f"ends in {output['ename']}: mend the cell, then {EXECUTE}"
        if output.get("name") == "stderr":
            yield f"wrote to stderr: remove the cause of the warning, then {EXECUTE}"
        if "image/svg+xml" in data:
            yield "stores an SVG: show the figure as PNG"
        if "application/vnd.jupyter.widget-view+json" in data:
            yield "stores a widget: show a chart that needs no kernel"


def code_lines(cell: Cell) -> list[str]:
    """The lines of a cell that are not blank."""
    return [line for line in source(cell).splitlines() if line.strip()]


def short(cell: Cell) -> Iterator[str]:
    """A code cell is read at one glance."""
    lines, kinds = code_lines(cell), [type(s) for s in ast.parse(source(cell)).body]
    is_class = set(kinds) - {ast.Import, ast.ImportFrom} == {ast.ClassDef}
    limit = MAX_CLASS_LINES if is_class and kinds.count(ast.ClassDef) == 1 else MAX_LINES
    if len(lines) > limit:
        remedy = "split the cell, or move the code into the package"
        yield f"{len(lines)} lines of code, over {limit}: {remedy}"
    if (widest := max(map(len, lines))) > MAX_COLUMNS:
        yield f"{widest} columns, over {MAX_COLUMNS}: break the line"


def explained(cell: Cell, below: str) -> Iterator[str]:
    """A picture says in words what it is; under it a sentence says what to see in it."""
    if not SEE.search(below):
        remedy = "begin the markdown cell below it with *What to look for.* and a sentence"
        yield f"a picture without explanation: {remedy}"
    if any(text.startswith("<") for text in output_texts(cell)):
        remedy = "call `renderer.enable()` of lessonkit.charts where plotting begins"
        yield f"a picture without a line of text: {remedy}"
    if not all(each["metadata"].get("image/png", {}).get("alt") for each in pictures(cell)):
        yield f"a picture without alt text in its metadata: {EXECUTE}"


def keeps_its_answer(cell: Cell) -> Iterator[str]:
    """Yield what a folded output gives away, of which JupyterLab 4 shows the first line.

    There must be no figure in it, and what is printed there must stand word for word in the cell.
    """
    folded = cell["metadata"].get("jupyter", {}).get("outputs_hidden")
    texts = output_texts(cell) if folded else []
    line = next((line for text in texts for line in text.splitlines() if line), "")
    is_fixed = line in source(cell) or line.startswith("Picture:") or NOTHING_YET.match(line)
    if re.search(r"\d", line) or not is_fixed:
        remedy = "print a heading first, a text without a figure"
        yield f"a folded output shows {line!r}: {remedy}"


def anonymous(cell: Cell) -> Iterator[str]:
    """Nothing tells which machine ran the lesson, or when."""
    for text in [source(cell), *(output_texts(cell) if cell["cell_type"] == "code" else [])]:
        if found := MACHINE_PATH.search(text):
            yield f"names a path of a machine, {found[0]!r}: name a relative path"
        if found := TIMESTAMP.search(text):
            yield f"holds a time, {found[0]!r}: leave the time out; a date may stay"
    if "execution" in cell["metadata"]:
        yield f"its metadata hold the times of its run: {EXECUTE}"


def plain_text(text: str) -> Iterator[str]:
    """Callouts are known, a passage of the paper is linked, and what is named is there.

    No line of prose begins as an item of a list does, and no table is in a quotation: some of the
    programs that show notebooks would draw the first as a list, the second as bars.
    """
    for name in re.findall(r"^> \*\*(.+?)\.?\*\*", text, re.MULTILINE):
        if not name.startswith("Paper") and name not in CALLOUTS:
            yield f"unknown callout {name!r}: use one of {', '.join(CALLOUTS)}"
        if name.startswith("Paper") and not PAPER.match(name):
            yield f"callout {name!r} names no section: write **Paper §3.2.1.**"
        if name.startswith("Paper") and not PAPER_LINK.search(text):
            remedy = "link its section of https://arxiv.org/abs/1706.03762"
            yield f"callout {name!r} has no link: {remedy}"
    if found := STRAY_ITEM.search(text):
        remedy = "break the line elsewhere, or leave a line free before a list"
        yield f"prose goes on with {found[1][:20]!r}: {remedy}"
    if QUOTED_TABLE.search(text):
        yield "a table in a quotation: let it follow the quotation"
    yield from (f"names {name!r}: that is not there: has it moved?" for name in missing(text))


def opens_and_closes(cells: list[Cell]) -> Iterator[Finding]:
    """A lesson says what it needs first, and what was learned last."""
    first = source(cells[0]) if cells and cells[0]["cell_type"] == "markdown" else ""
    lacking = [word for word in HEADER if word.lower() not in first.lower()]
    if lacking or not first.startswith("# "):
        remedy = "open with a title, Paper sections, modules, tests, minutes on CPU and on GPU"
        yield 0, f"header without {', '.join(lacking) or 'a title'}: {remedy}"
    text = "\n".join(source(cell) for cell in cells if cell["cell_type"] == "markdown")
    for heading in () if APPENDIX.match(text) else ("Recap", "Exercises"):
        if not re.search(rf"^#+ .*\b{heading}\b", text, re.MULTILINE | re.IGNORECASE):
            yield len(cells) - 1, f"no heading {heading!r}: close with a recap and exercises"


def begins_soon(cells: list[Cell]) -> Iterator[Finding]:
    """Few imports stand before a lesson's first idea: others stand where they are first needed."""
    if not cells or APPENDIX.match(source(cells[0])):
        return
    num_headings = num_lines = 0
    for index, cell in enumerate(cells):
        if cell["cell_type"] == "markdown":
            num_headings += len(re.findall(r"^## ", source(cell), re.MULTILINE))
        elif cell["cell_type"] == "code" and not is_tagged(cell, "colab"):
            statements = ast.parse(source(cell)).body
            imports = [s for s in statements if isinstance(s, ast.Import | ast.ImportFrom)]
            num_lines += sum((s.end_lineno or s.lineno) - s.lineno + 1 for s in imports)
        if num_headings > 1:
            return
        if num_lines > MAX_IMPORT_LINES:
            remedy = "import each name in the cell that needs it first"
            yield index, f"{num_lines} lines of imports, over {MAX_IMPORT_LINES}: {remedy}"
            return


def compared(cells: list[Cell]) -> Iterator[Finding]:
    """Nearly every output is compared when the lesson is tested, and soon one as text."""
    ignored = [
        i
        for i, cell in code_cells(cells)
        # How far the learner is differs from day to day.
        if is_tagged(cell, "nbval-ignore-output") and source(cell) != SHOW_PROGRESS
    ]
    if len(ignored) > MAX_IGNORED:
        remedy = "print rounded values or verdicts instead"
        yield ignored[-1], f"{len(ignored)} outputs not compared, over {MAX_IGNORED}: {remedy}"
    own = [(i, cell) for i, cell in code_cells(cells) if not is_tagged(cell, "colab")]
    soon = [cell for i, cell in own[:CANARY_CELLS] if i not in ignored and not pictures(cell)]
    if own and not any(map(output_texts, soon)):
        remedy = "print a value that is always the same in one of them"
        yield own[0][0], f"no text to compare in the first {CANARY_CELLS} code cells: {remedy}"
    median = statistics.median([len(code_lines(cell)) for _, cell in own] or [0])
    if median > MAX_MEDIAN_LINES:
        yield 0, f"median of {median} lines a code cell, over {MAX_MEDIAN_LINES}: split cells"


def findings(notebook: Any, size: int) -> Iterator[Finding]:
    """Return what is wrong with a notebook."""
    cells = notebook["cells"]
    if size > MAX_BYTES:
        yield 0, f"{size:,} bytes, over {MAX_BYTES:,}: show fewer or smaller pictures"
    if notebook["metadata"].get("widgets"):
        yield 0, f"holds the state of widgets: {EXECUTE}"
    if (kernel := notebook["metadata"].get("kernelspec", {}).get("name")) != "python3":
        yield 0, f"kernel {kernel!r}: choose the kernel python3"
    yield from (*opens_and_closes(cells), *begins_soon(cells), *compared(cells))
    for count, (index, cell) in enumerate(code_cells(cells), start=1):
        below = cells[index + 1] if index + 1 < len(cells) else {}
        words = source(below) if below.get("cell_type") == "markdown" else ""
        rules = [executed(cell, count), clean_outputs(cell), short(cell), keeps_its_answer(cell)]
        if pictures(cell):
            rules.append(explained(cell, words))
        yield from ((index, what) for rule in rules for what in rule)
    for index, cell in enumerate(cells):
        text = source(cell) if cell["cell_type"] == "markdown" else ""
        yield from ((index, what) for what in (*anonymous(cell), *plain_text(text)))


def lint(path: Path) -> list[str]:
    """Return one line for each thing wrong with a notebook."""
    text = path.read_text(encoding="utf-8")
    found = findings(json.loads(text), len(text.encode()))
    return [f"{path.name}: cell {cell}: {what}" for cell, what in found]


def main(names: list[str]) -> int:
    """Print every finding; the exit status says whether there was one."""
    paths = [Path(name) for name in names] or sorted(NOTEBOOKS.glob("*.ipynb"))
    found = [finding for path in paths for finding in lint(path)]
    print("\n".join([*found, f"{len(paths)} notebooks, {len(found)} findings"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
