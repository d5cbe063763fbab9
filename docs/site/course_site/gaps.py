"""Gaps that a page judges: which they are, and what a browser needs to judge them.

The browser runs the course's own checks, by Pyodide. An exercise of `lessonkit.exercises`'s
`without_torch` can be judged so; below the others a page says where they are.
"""

import ast
import json
import pkgutil
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from lessonkit.exercises import without_torch
from lessonkit.exercises.compare import are_identical
from lessonkit.exercises.exercise import Exercise
from lessonkit.exercises.judge_cell import RIGHT_VALUES_FILE
from lessonkit.exercises.outcome import fixed_torch_state_context

GAP = re.compile(
    r"^(?:def my_|class My)\w+.*\b(\w+)\.(\w+)\.(?:accept|check)\(", re.DOTALL | re.MULTILINE
)
LESSON_MODULE = re.compile(r"from lessonkit\.exercises import (\w+) as ex")
GAP_ELEMENT = '<script type="application/json" class="gap">'
PYODIDE_FILES = (
    *("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm"),
    *("python_stdlib.zip", "pyodide-lock.json"),
)
# Run without site-packages: it fails where a module needs more than Python itself.
LIST_LOADED_FILES = """
import importlib, json, pkgutil, sys
sys.path.insert(0, sys.argv[1])
from lessonkit.exercises import judge_cell, without_torch
for module in pkgutil.iter_modules(without_torch.__path__, f"{without_torch.__name__}."):
    importlib.import_module(module.name)
files = [getattr(module, "__file__", None) or "" for module in sys.modules.values()]
print(json.dumps(sorted(file for file in files if file.startswith(sys.argv[1]))))
"""


def judged_exercises() -> dict[str, dict[str, Exercise]]:
    """Return the exercises that a browser can judge, by the lesson's module and their name."""
    by_module = {}
    for info in pkgutil.iter_modules(without_torch.__path__):
        members = vars(import_module(f"{without_torch.__name__}.{info.name}")).values()
        exercises = {each.name: each for each in members if isinstance(each, Exercise)}
        if exercises:
            by_module[info.name] = exercises
    return by_module


def course_files(root: Path) -> dict[str, str]:
    """Return the text of each file of the course that judging needs, by its path in the checkout.

    Raises:
        subprocess.CalledProcessError: one of them needs more than Python itself.
    """
    command = [sys.executable, "-I", "-S", "-c", LIST_LOADED_FILES, f"{root}/"]
    listed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    paths = [Path(file) for file in json.loads(listed)]
    for module in judged_exercises():
        lesson = import_module(f"{without_torch.__name__}.{module}").lesson_wording.lesson
        paths.append(root / "lessonkit" / "exercises" / "words" / f"{lesson}.toml")
    files = {path.relative_to(root).as_posix(): path.read_text("utf-8") for path in paths}
    return files | {RIGHT_VALUES_FILE.relative_to(root).as_posix(): _right_values()}


def _right_values() -> str:
    """Return the right values of every case: some are computed by libraries that browsers lack."""
    recorded = {}
    for exercises in judged_exercises().values():
        for name, exercise in exercises.items():
            with fixed_torch_state_context():
                values = exercise.right_values
            recorded[name] = repr(values)
            assert are_identical(ast.literal_eval(recorded[name]), values), name
    return json.dumps(recorded)


def write_browser_files(root: Path, pyodide: Path, folder: Path) -> None:
    """Write what a page loads when somebody has a gap judged: Pyodide, and the course's files.

    Args:
        root: The checkout.
        pyodide: The npm package.
        folder: The new folder.
    """
    folder.mkdir(parents=True)
    for name in PYODIDE_FILES:
        shutil.copyfile(pyodide / name, folder / name)
    # Scripts are imported, so that a page cannot count their bytes as they arrive.
    size = sum((pyodide / name).stat().st_size for name in PYODIDE_FILES if "mjs" not in name)
    course = {"bytes": size, "files": course_files(root)}
    (folder / "course.json").write_text(json.dumps(course), encoding="utf-8")


def insert_gaps(cells: list[dict[str, Any]], colab: str | None) -> list[dict[str, Any]]:
    """Return a lesson's cells, with one more below each gap or exercise.

    It has what the page's script needs to offer the gap, or says where the gap is judged.

    Args:
        cells: Of the notebook.
        colab: The lesson's address on Colab; None if it has none.
    """
    judged = judged_exercises()
    module, imports, new = "", dict[str, None](), []
    for cell in cells:
        new.append(cell)
        if cell["cell_type"] != "code":
            continue
        text = "".join(cell["source"])
        if found := LESSON_MODULE.search(text):
            module = found[1]
        imports |= dict.fromkeys(_imports_of_python_itself(text))
        if call := GAP.search(text):
            exercise = judged.get(module, {}).get(call[2]) if call[1] == "ex" else None
            if exercise:
                text_below = _gap_element(module, exercise, list(imports))
            else:
                text_below = _note_where_it_is_judged(colab)
            below = {"id": f"gap-{len(new)}", "cell_type": "markdown", "metadata": {}}
            new.append(below | {"source": text_below})
    return new


def _imports_of_python_itself(text: str) -> list[str]:
    """Return the lines of a cell that import modules of Python's own library."""
    try:
        body = ast.parse(text).body
    except SyntaxError:  # a line for IPython
        return []
    lines = []
    for node in body:
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [node.module or ""]
        else:
            continue
        if all(name.partition(".")[0] in sys.stdlib_module_names for name in modules):
            lines.append(ast.unparse(node))
    return lines


def _gap_element(module: str, exercise: Exercise, imports: list[str]) -> str:
    """Return the element from which the page's script makes a cell to fill in."""
    offer = {
        "module": module,
        "name": exercise.name,
        "blank": exercise.blank_source,
        "imports": "\n".join(imports),
        "hints": [exercise.hint_message(n).text for n in range(1, len(exercise.hints) + 1)],
        "solution": exercise.solution_source(),
    }
    data = json.dumps(offer).replace("<", r"\u003c")  # nothing in it ends the element
    return f"{GAP_ELEMENT}{data}</script>"


def _note_where_it_is_judged(colab: str | None) -> str:
    where = f"with `make lab`, or [on Colab]({colab})" if colab else "with `make lab`"
    return f"*Its check needs PyTorch, which no browser has: fill it in {where}.*"
