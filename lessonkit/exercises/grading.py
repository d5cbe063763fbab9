"""Grading: each answer of a learner in a process of its own, on cases of another seed.

Not in the paper. Of a notebook only imports, functions, classes and plain assignments are run,
and no stored output is read. What an answer gives is judged outside its process, so that nothing
it does there makes it right.
"""

import ast
import contextlib
import io
import itertools
import json
import multiprocessing
import pkgutil
import re
import socket
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch

import lessonkit.exercises
from lessonkit.exercises import own
from lessonkit.exercises.check import PREFIX, REPEATED, Exercise
from lessonkit.exercises.outcome import Outcome, sealed
from transformer.support.errors import UserError

RIGHT, WRONG, OPEN, LATE = "right", "wrong", "not attempted", "no answer in time"
LESSON = re.compile(r"from lessonkit\.exercises import (\w+) as ex")
LIBRARIES = {"bisect", "collections", "copy", "dataclasses", "functools", "heapq", "itertools"}
LIBRARIES |= {"math", "numpy", "operator", "random", "re", "statistics", "torch", "transformer"}
FORBIDDEN = {"compile", "eval", "exec", "gc", "globals", "inspect", "open", "os", "sys", "vars"}
FORBIDDEN |= {"ex", "own"}  # the lesson's names of all answers
DEFINED = (ast.FunctionDef, ast.ClassDef)
FORK = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"
Statements = Sequence[ast.stmt]


def grade(path: Path, seconds: float) -> dict[str, str]:
    """Judge a notebook, a Python file or a folder of them: each answer's verdict, or why not.

    An answer is stopped after so many seconds. Where there is none to judge, it is a UserError.
    """
    files = [path] if path.is_file() else sorted([*path.glob("*.ipynb"), *path.glob("*.py")])
    texts = [text for file in files for text in _texts(file)]
    lessons = {name for text in texts for name in LESSON.findall(text)}
    statements = [each for text in texts for each in _parsed(text)]
    written = {each.name for each in statements if isinstance(each, DEFINED)}
    asked = {
        name: exercise
        for lesson, exercises in known().items()
        for name, exercise in exercises.items()
        if lesson in lessons or name in written
    }
    if not asked:
        raise UserError(f"{path}: no exercise in it; give a notebook of the course, or a folder")
    return {name: _graded(name, each, statements, seconds) for name, each in asked.items()}


@cache
def known() -> dict[str, dict[str, Exercise]]:
    """Give every exercise by its lesson's module and by the name that an answer has."""
    found = {}
    for info in pkgutil.iter_modules(lessonkit.exercises.__path__):
        names = vars(import_module(f"{lessonkit.exercises.__name__}.{info.name}"))
        if lesson := names.get("words", {}).get("lesson"):
            functions = [each for each in names.values() if isinstance(each, Exercise)]
            found[info.name] = {f"{PREFIX}{each.name}": each for each in functions}
            found[info.name] |= {k: each for k, each in own.PARTS.items() if each.lesson == lesson}
    return found


def _texts(file: Path) -> list[str]:
    """Give the cells of code of a notebook, or the text of a file."""
    try:
        text = file.read_text(encoding="utf-8")
        if file.suffix != ".ipynb":
            return [text]
        cells = json.loads(text)["cells"]
        return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{file} cannot be read as a notebook or Python: {error}") from error


def _parsed(text: str) -> Statements:
    """Give a cell's statements, without IPython's own; none where it is no Python."""
    lines = ["" if line.startswith(("%", "!")) else line for line in text.splitlines()]
    with contextlib.suppress(SyntaxError, ValueError):
        tree: ast.Module = _WithoutChecks().visit(ast.parse("\n".join(lines)))
        return tree.body
    return []


class _WithoutChecks(ast.NodeTransformer):
    """Write `ex.NAME.accept(my_NAME)` as `my_NAME`, and `own.load("MyName")` as `MyName`."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Exchange a call for what it gives."""
        called = ast.unparse(node.func)
        if called.endswith(".accept") and len(node.args) == 1:
            return node.args[0]
        if called == "own.load" and isinstance(node.args[0], ast.Constant):
            return ast.Name(str(node.args[0].value), ast.Load())
        return self.generic_visit(node)


def _misused(statement: ast.stmt) -> list[str]:
    """Name what no answer needs: what reaches out of it, or into the course."""
    found = set()
    for node in ast.walk(statement):
        names = {getattr(node, "id", ""), getattr(node, "attr", ""), getattr(node, "module", "")}
        if isinstance(node, ast.Import | ast.ImportFrom):
            names |= {each.name for each in node.names}
            roots = [getattr(node, "module", None) or each.name for each in node.names]
            found |= {each.partition(".")[0] for each in roots} - LIBRARIES
        parts = {part for each in names for part in str(each).split(".")}
        found |= parts & FORBIDDEN
        found |= {part for part in parts if part.startswith("__") and part != "__init__"}
    return sorted(found)


def _is_taken(statement: ast.stmt) -> bool:
    """Whether an answer may need it: what is defined, imported, or named without any work."""
    if isinstance(statement, ast.Assign):
        return not any(isinstance(node, ast.Call) for node in ast.walk(statement))
    return isinstance(statement, (*DEFINED, ast.Import, ast.ImportFrom))


def _graded(name: str, exercise: Exercise, statements: Statements, seconds: float) -> str:
    """Have an answer run in another process, and judge what comes back."""
    own_ones = [each for each in statements if isinstance(each, DEFINED) and each.name == name]
    if not own_ones:
        return OPEN
    if misused := _misused(own_ones[-1]):
        return f"uses {misused[0]}"
    context: Any = multiprocessing.get_context(FORK)
    here, there = context.Pipe(duplex=False)
    taken = [each for each in statements if _is_taken(each) and not _misused(each)]
    source = "\n".join(map(ast.unparse, taken))
    process = context.Process(target=_answer, args=(name, source, there), daemon=True)
    process.start()
    there.close()
    try:
        if not here.poll(seconds):
            return LATE
        sent = torch.load(io.BytesIO(here.recv_bytes()), weights_only=True)
        if sent == OPEN:
            return OPEN
        found, number = [Outcome(*each) for each in sent], len(exercise.judged_cases)
        tried = [*exercise.judged(found[:number]), *exercise.judged(found[number:])]
        is_right = len(tried) > number and not any(each.complaint for each in tried)
        return RIGHT if is_right else WRONG
    except Exception:  # whatever was sent is the learner's, and may be nothing
        return WRONG
    finally:
        process.kill()
        process.join()


def _answer(name: str, source: str, there: Any) -> None:
    """Run an answer on all cases, and on the first ones again; send what it did."""
    exercise = next(each[name] for each in known().values() if name in each)
    socket.socket = None  # type: ignore[assignment,misc]  # nothing is fetched
    said, written = io.StringIO(), io.BytesIO()
    sent: Any = OPEN
    with (
        contextlib.suppress(BaseException),  # a SystemExit, too
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(said),
        sealed(),
    ):
        others = {key: each for found in known().values() for key, each in found.items()}
        names = {key: each.right for key, each in others.items() if key != name}
        body = ast.parse(source).body
        mine = [each for each in body if getattr(each, "name", "") == name]
        used = {getattr(node, "id", "") for each in mine for node in ast.walk(each)}
        for statement in body:
            made = getattr(statement, "name", name)
            other = others.get(made) if made != name else None
            if other and made not in used:
                continue  # the course's takes its place: it may never end
            with contextlib.suppress(Exception):  # it may need what is not there
                exec(ast.unparse(statement), names)
            if other and not other.passes(names[made]):
                names[made] = other.right  # as the lesson goes on
        if not exercise.is_open(names[name]):
            again = itertools.islice(exercise.outcomes(names[name]), REPEATED)
            done = [*exercise.outcomes(names[name]), *again]
            sent = [(_plain(x.value), x.error, x.line, x.broken, "", x.changed) for x in done]
        torch.save(sent, written)
        there.send_bytes(written.getvalue())


def _plain(value: Any) -> Any:
    """Give a value as it can be sent: what `difference` takes for a plain one is one."""
    if isinstance(value, list | tuple):
        return (tuple if isinstance(value, tuple) else list)(map(_plain, value))
    if isinstance(value, dict):
        return {_plain(key): _plain(each) for key, each in value.items()}
    return value.item() if isinstance(value, np.generic) else value
