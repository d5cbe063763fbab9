"""The learner's own file: what passed in a lesson is kept there, and later ones go on with it.

Not in the paper.
"""

import ast
import contextlib
import importlib.util
import json
import linecache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from transformer.support.errors import UserError
from transformer.support.files import write_atomically

FILE = Path("my_transformer.py")  # beside the lessons
NOTES = Path("my_progress.json")  # the names of what was right, and of what was predicted


def keep(piece: Any, file: Path | None = None) -> Path:
    """Write a class or function of a cell into the file, after all that it uses of the notebook.

    What the file holds under other names stays in it. A piece from elsewhere is a UserError.
    """
    file = file or FILE
    imports, pieces = _read(file)
    _collect(piece.__name__, piece, imports, pieces)
    lines = [*sorted(imports), "", "", "\n\n\n".join(pieces.values()), ""]
    write_atomically(file, "\n".join(lines).encode())
    return file


def find(name: str, file: Path | None = None) -> Any:
    """Give a class or function of the file, "MyTransformer", say; None where it has none."""
    file = file or FILE
    if not file.is_file():
        return None
    spec = importlib.util.spec_from_file_location("my_transformer", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise UserError(f"{file} cannot be run ({what}): mend it, or remove it") from error
    return getattr(module, name, None)


def note(what: str, name: str) -> None:
    """Note that an exercise was "right" or a figure "predicted", where a file can be written."""
    with contextlib.suppress(OSError):
        found = noted()
        found[what] = sorted({*found[what], name})
        write_atomically(NOTES, f"{json.dumps(found, indent=1)}\n".encode())


def noted() -> dict[str, list[str]]:
    """Give what was noted: "right" (with what the learner's file has) and "predicted"."""
    found: dict[str, list[str]] = {"right": [], "predicted": []}
    with contextlib.suppress(OSError, ValueError, TypeError):
        found |= json.loads(NOTES.read_text(encoding="utf-8"))
    with contextlib.suppress(OSError, SyntaxError):
        found["right"] += [name.removeprefix("my_") for name in _read(FILE)[1]]
    return found


def _read(file: Path) -> tuple[set[str], dict[str, str]]:
    """Give a kept file's lines of import, and its pieces by name, in order."""
    imports: set[str] = set()
    pieces: dict[str, str] = {}
    if file.is_file():
        text = file.read_text(encoding="utf-8")
        for node in ast.parse(text).body:
            source = ast.get_source_segment(text, node) or ""
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                pieces[node.name] = source
            elif isinstance(node, ast.Assign):  # the name that a lesson goes on with
                pieces[ast.unparse(node.targets[0])] = source
            else:
                imports.add(source)
    return imports, pieces


def _collect(name: str, value: Any, imports: set[str], pieces: dict[str, str]) -> None:
    """Add a class or function of the notebook, after all that it uses itself."""
    code = next(_functions(value), None)
    cell = "".join(linecache.getlines(code.__code__.co_filename)) if code else ""
    found = [node for node in ast.parse(cell).body if getattr(node, "name", None) == name]
    if code is None or not found:
        raise UserError(f"{name} was not written in a cell: run its cell, then keep it")
    pieces.pop(name, None)
    pieces[name] = ""  # whoever uses itself is not collected for ever
    for used in sorted(_names(found[-1])):
        if used not in code.__globals__ or used == name:
            continue
        other = code.__globals__[used]
        module = getattr(other, "__module__", None)
        if module == FILE.stem:  # kept in an earlier lesson: the file has it already
            continue
        if isinstance(other, ModuleType):
            imports.add(f"import {other.__name__} as {used}")
        elif module == code.__module__:
            if isinstance(other, type | FunctionType) and not pieces.get(used):
                _collect(other.__name__, other, imports, pieces)
                if used != other.__name__:
                    pieces[used] = f"{used} = {other.__name__}"
        elif isinstance(other, type | FunctionType):
            imports.add(f"from {module} import {other.__name__} as {used}")
    pieces.pop(name)
    pieces[name] = ast.get_source_segment(cell, found[-1]) or ""


def _functions(value: Any) -> Any:
    """Give a function, or the methods of a class."""
    if isinstance(value, FunctionType):
        yield value
    elif isinstance(value, type):
        yield from (each for each in vars(value).values() if isinstance(each, FunctionType))


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
