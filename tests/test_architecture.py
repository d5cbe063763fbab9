"""The package keeps its shape: imports run downwards, files and functions stay short.

The order is that of README's table of the package, which has a row for each file and folder.
"""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.helpers import ROOT

PACKAGE = ROOT / "transformer"
NETWORK = ("masks", "attention", "embeddings", "layers", "model", "baselines")
# The network knows no data; the search and the loop take any model.
FORBIDDEN = {
    **{part: {"data", "training", "charts"} for part in NETWORK},
    "decoding": {"data", "model", "baselines"},
    **{f"training.{name}": {"model", "baselines"} for name in ("loop", "run", "updates", "loss")},
}
MAX_FILE_LINES, MAX_FUNCTION_LINES = 250, 40  # docstrings, comments and blank lines not counted

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def module_name(path: Path) -> str:
    """`training.loop` for transformer/training/loop.py; `training` for its __init__."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}
NAMED = [name for name in MODULES if name]


def imports(name: str) -> set[str]:
    """The package's modules that a module imports anywhere, in its functions too."""
    found = set()
    for node in ast.walk(tree(MODULES[name])):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}: write `from transformer...`, not a relative import"
            assert node.module is not None
            members = {f"{node.module}.{alias.name}" for alias in node.names}
            modules = {m for m in members if m.removeprefix("transformer.") in MODULES}
            found |= modules or {node.module}
    inside = {m.removeprefix("transformer.") for m in found if m.startswith("transformer.")}
    return {m for m in inside if m in MODULES}


def part(name: str) -> str:
    """The file or folder of the package's root that a module is in."""
    return name.split(".")[0]


def rows(readme: str) -> list[str]:
    """The first column of README's table of the package, from the bottom up."""
    section = readme.partition("\n## The package\n")[2].partition("\n## ")[0]
    return re.findall(r"^\| `([\w./]+)` \|", section, re.MULTILINE)


def upward(imported: Mapping[str, set[str]], order: Sequence[str]) -> list[str]:
    """The imports that do not go to a row above their own in the table, or to their own row."""
    height = {row.removesuffix("/").removesuffix(".py"): i for i, row in enumerate(order)}
    return [
        f"{name} imports {other}"
        for name, others in imported.items()
        for other in sorted(others)
        if height[part(other)] >= height[part(name)] and part(other) != part(name)
    ]


TABLE = rows((ROOT / "README.md").read_text(encoding="utf-8"))
README = """
| `layers.py` | not of the package: a table before its own |

## The package

| file or folder | what |
| --- | --- |
| `support/` | where `files.py` is |
| `model.py` | the network |
| `data/` | text |

## Glossary

| `memory` | the encoder's output |
"""


def test_the_order_is_read_from_the_table_of_the_package() -> None:
    assert rows(README) == ["support/", "model.py", "data/"]


@pytest.mark.parametrize(
    ("name", "other", "found"),
    [
        ("model", "data.batches", ["model imports data.batches"]),
        ("support.files", "model", ["support.files imports model"]),
        ("data.batches", "model", []),
        ("data.batches", "data.words", []),
    ],
)
def test_an_import_that_runs_upwards_is_found(name: str, other: str, found: list[str]) -> None:
    assert upward({name: {other, "support.errors"}}, rows(README)) == found


def test_every_file_and_folder_has_one_row() -> None:
    files = [path.name for path in PACKAGE.glob("*.py") if path.name != "__init__.py"]
    folders = [f"{path.parent.name}/" for path in PACKAGE.glob("*/__init__.py")]
    assert sorted(TABLE) == sorted(files + folders)


def test_the_package_itself_imports_nothing() -> None:
    kinds = {type(node) for node in ast.walk(tree(MODULES[""]))}
    assert not kinds & {ast.Import, ast.ImportFrom}


@pytest.mark.parametrize("name", NAMED)
def test_imports_run_downwards(name: str) -> None:
    assert upward({name: imports(name)}, TABLE) == []


@pytest.mark.parametrize("name", NAMED)
def test_network_search_and_loop_know_no_more_than_they_need(name: str) -> None:
    forbidden = FORBIDDEN.get(name, FORBIDDEN.get(part(name), set()))
    assert not {other for other in imports(name) if part(other) in forbidden}


def test_the_rules_are_about_modules_that_are_there() -> None:
    assert {part(name) for name in FORBIDDEN} <= {part(name) for name in MODULES}
    assert {name for name in FORBIDDEN if "." in name} <= set(MODULES)


def test_no_cycle() -> None:
    graph = {name: imports(name) - {name} for name in MODULES}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"imports go round: {' -> '.join(error.args[1])}")


def docstring_lines(node: ast.AST) -> set[int]:
    lines: set[int] = set()
    for inner in ast.walk(node):
        if not isinstance(inner, ast.Module | ast.ClassDef | Function):
            continue
        if ast.get_docstring(inner, clean=False) is not None:
            text = inner.body[0]
            assert text.end_lineno is not None
            lines |= set(range(text.lineno, text.end_lineno + 1))
    return lines


def code_lines(path: Path, node: ast.AST, first: int, last: int) -> int:
    text = path.read_text(encoding="utf-8").splitlines()
    skipped = docstring_lines(node)
    counted = [i for i in range(first, last + 1) if i not in skipped]
    return sum(not re.fullmatch(r"\s*(#.*)?", text[i - 1]) for i in counted)


@pytest.mark.parametrize("name", NAMED)
def test_files_and_functions_are_short(name: str) -> None:
    path = MODULES[name]
    length = code_lines(path, tree(path), 1, len(path.read_text(encoding="utf-8").splitlines()))
    assert length <= MAX_FILE_LINES, f"{name} has {length} lines: has it still one subject?"
    for node in ast.walk(tree(path)):
        if isinstance(node, Function):
            first, last = node.body[0].lineno, node.body[-1].end_lineno
            assert last is not None
            length = code_lines(path, node, first, last)
            assert length <= MAX_FUNCTION_LINES, f"{name}.{node.name} has {length} lines: split it"


def public(node: ast.Module | ast.ClassDef, name: str) -> Iterator[tuple[str, ast.AST]]:
    """A module's or class's public classes, functions and methods, with their full names."""
    for inner in node.body:
        if isinstance(inner, ast.ClassDef | Function) and not inner.name.startswith("_"):
            yield f"{name}.{inner.name}", inner
            if isinstance(inner, ast.ClassDef):
                yield from public(inner, f"{name}.{inner.name}")


@pytest.mark.parametrize("name", NAMED)
def test_public_names_have_docstrings(name: str) -> None:
    module = tree(MODULES[name])
    if module.body:
        assert ast.get_docstring(module), f"{name} does not say what it is for"
    bare = [full for full, node in public(module, name) if not _documented(node)]
    assert not bare, f"no docstring: {', '.join(bare)}"


def _documented(node: ast.AST) -> bool:
    """Overloads are documented by the function that follows them."""
    assert isinstance(node, ast.ClassDef | Function)
    if isinstance(node, Function) and any("overload" in ast.dump(d) for d in node.decorator_list):
        return True
    return bool(ast.get_docstring(node))
