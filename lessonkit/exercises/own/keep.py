"""Keep the classes that a learner wrote in a file, so that later lessons can go on with them.

Not in the paper.
"""

import ast
import importlib.util
import linecache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from torch import nn

from lessonkit.exercises.own import reference
from transformer.support.errors import UserError
from transformer.support.files import write_atomically

FILE = Path("my_transformer.py")  # beside the lessons


def keep(*classes: type[nn.Module], file: Path = FILE) -> str:
    """Write classes of cells into a file, with all that they use of the notebook; say so in a line.

    What the file holds under other names stays in it. A class from elsewhere is a UserError.
    """
    imports, pieces = _read(file)
    for each in classes:
        _collect(each.__name__, each, imports, pieces)
    lines = [*sorted(imports), "", "", "\n\n\n".join(pieces.values()), ""]
    write_atomically(file, "\n".join(lines).encode())
    return f"kept in {file}: {', '.join(each.__name__ for each in classes)}"


def kept(name: str, file: Path = FILE) -> type[nn.Module]:
    """Give a class that was kept, "MyTransformer", say; the course's own where none was."""
    own: Any = None
    if file.is_file():
        spec = importlib.util.spec_from_file_location("my_transformer", file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except Exception as error:
            what = f"{type(error).__name__}: {error}"
            raise UserError(f"{file} cannot be run ({what}): mend it, or remove it") from error
        own = getattr(module, name, None)
    found: type[nn.Module] = getattr(reference, name) if own is None else own
    return found


def _read(file: Path) -> tuple[set[str], dict[str, str]]:
    """Give a kept file's lines of import, and its definitions by name, in order."""
    imports: set[str] = set()
    pieces: dict[str, str] = {}
    if file.is_file():
        text = file.read_text(encoding="utf-8")
        for node in ast.parse(text).body:
            source = ast.get_source_segment(text, node) or ""
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                pieces[node.name] = source
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
                _collect(used, other, imports, pieces)
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
