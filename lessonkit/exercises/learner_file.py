"""The learner's own file: what passed in a lesson is saved there, and later lessons go on with it.

Not in the paper.
"""

import ast
import contextlib
import importlib.util
import linecache
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from transformer.support.errors import UserError
from transformer.support.files import write_atomically

LEARNER_FILE = Path("my_transformer.py")  # beside the lessons


def save_definition(definition: Any, file: Path | None = None) -> Path:
    """Write a class or function of a cell into the file, after all that it uses of the notebook.

    What the file has under other names stays in it.

    Args:
        definition: The class or function.
        file: The learner's file; None is `my_transformer.py`.

    Returns:
        The file.

    Raises:
        UserError: it was not written in a cell.
    """
    file = file or LEARNER_FILE
    imports, definitions = _read_imports_and_definitions(file)
    _collect_with_dependencies(definition.__name__, definition, imports, definitions)
    lines = [*sorted(imports), "", "", "\n\n\n".join(definitions.values()), ""]
    write_atomically(file, "\n".join(lines).encode())
    return file


def load_definition(name: str, file: Path | None = None) -> Any:
    """Return a class or function of the file, such as "MyTransformer"; None if it has none.

    Raises:
        UserError: the file cannot be run.
    """
    file = file or LEARNER_FILE
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


def saved_exercise_names() -> list[str]:
    """Return the names of the exercises whose answers are in the file, without their `my_`."""
    with contextlib.suppress(OSError, SyntaxError):
        return [name.removeprefix("my_") for name in _read_imports_and_definitions(LEARNER_FILE)[1]]
    return []


def _read_imports_and_definitions(file: Path) -> tuple[set[str], dict[str, str]]:
    """Return the lines of import of a learner's file, and its definitions by name, in order."""
    imports: set[str] = set()
    definitions: dict[str, str] = {}
    if file.is_file():
        text = file.read_text(encoding="utf-8")
        for node in ast.parse(text).body:
            source = ast.get_source_segment(text, node) or ""
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                definitions[node.name] = source
            elif isinstance(node, ast.Assign):  # another name, with which a lesson goes on
                definitions[ast.unparse(node.targets[0])] = source
            else:
                imports.add(source)
    return imports, definitions


def _collect_with_dependencies(
    name: str, value: Any, imports: set[str], definitions: dict[str, str]
) -> None:
    """Add a class or function of the notebook, after all that it uses itself."""
    function = next(_function_or_method_objects(value), None)
    cell = "".join(linecache.getlines(function.__code__.co_filename)) if function else ""
    nodes = [node for node in ast.parse(cell).body if getattr(node, "name", None) == name]
    if function is None or not nodes:
        raise UserError(f"{name} was not written in a cell: run its cell, then keep it")
    definitions.pop(name, None)
    definitions[name] = ""  # a definition that uses itself is not collected for ever
    for used_name in sorted(_used_names(nodes[-1])):
        if used_name not in function.__globals__ or used_name == name:
            continue
        used = function.__globals__[used_name]
        module = getattr(used, "__module__", None)
        if module == LEARNER_FILE.stem:  # saved in an earlier lesson: the file has it already
            continue
        if isinstance(used, ModuleType):
            imports.add(f"import {used.__name__} as {used_name}")
        elif module == function.__module__:
            if isinstance(used, type | FunctionType) and not definitions.get(used_name):
                _collect_with_dependencies(used.__name__, used, imports, definitions)
                if used_name != used.__name__:
                    definitions[used_name] = f"{used_name} = {used.__name__}"
        elif isinstance(used, type | FunctionType):
            imports.add(f"from {module} import {used.__name__} as {used_name}")
    definitions.pop(name)
    definitions[name] = ast.get_source_segment(cell, nodes[-1]) or ""


def _function_or_method_objects(value: Any) -> Iterator[FunctionType]:
    """Yield a function, or the methods of a class."""
    if isinstance(value, FunctionType):
        yield value
    elif isinstance(value, type):
        yield from (member for member in vars(value).values() if isinstance(member, FunctionType))


def _used_names(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
