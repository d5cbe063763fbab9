"""Imports run one way, and in no circle."""

import ast
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.helpers import ROOT

# What each room may import at all. docs/tour.md says what each is for.
ROOMS: dict[str, set[str]] = {
    "attention_laws": set(),
    "transformer": set(),
    "engines": {"transformer"},
    "lessonkit": {"transformer", "attention_laws", "engines"},
    "attention_course": {"transformer", "attention_laws", "engines", "lessonkit"},
}
ROOMS["data"] = {"transformer", "lessonkit"}  # the generator of the embedded corpus
ROOMS["experiments"] = {*ROOMS} - {"data"}
# Search, loop and loss take any model.
OF_ANY_MODEL = {
    "transformer.decoding",
    "transformer.training.loop",
    "transformer.training.loss",
    "transformer.training.model_loss",
}


def files(room: str) -> list[Path]:
    return sorted((ROOT / room).rglob("*.py"))


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def module_name(path: Path) -> str:
    """`transformer.training.loop`; `transformer.training` for its __init__."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for room in ROOMS for path in files(room)}


def imported(node: ast.AST) -> set[str]:
    """The modules that an import names."""
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names}
    if isinstance(node, ast.ImportFrom):
        assert node.level == 0, f"write `from {node.module}` in full, not a relative import"
        members = {f"{node.module}.{alias.name}" for alias in node.names}
        return {member for member in members if member in MODULES} or {node.module}
    return set()


def imports(name: str, for_types: bool = True) -> set[str]:
    """The modules that a module imports, in its functions too, and for type checkers if wanted."""
    nodes = list(ast.walk(tree(MODULES[name])))
    unwanted = [node for node in nodes if is_for_types(node) and not for_types]
    skipped = {id(inner) for node in unwanted for inner in ast.walk(node)}
    names = {other for node in nodes if id(node) not in skipped for other in imported(node)}
    return names & set(MODULES)


def is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


def room(name: str) -> str:
    return name.split(".")[0]


def upward(name: str, others: set[str]) -> set[str]:
    """Of what a module imports, what lies in a room that its own may not know."""
    return {other for other in others if room(other) not in ROOMS[room(name)] | {room(name)}}


def test_imports_run_one_way() -> None:
    arrows_up = {name: upward(name, imports(name)) for name in MODULES}
    assert not {name: others for name, others in arrows_up.items() if others}


def test_the_laws_need_torch_alone() -> None:
    plugin = ROOT / "attention_laws" / "pytest_plugin.py"  # imported by pytest, or for it
    others = [path for path in files("attention_laws") if path != plugin]
    named = {name for path in others for name in third_party(tree(path))}
    assert named <= {"torch", "attention_laws"}


def third_party(module: ast.Module) -> Iterator[str]:
    for node in ast.walk(module):
        names = {alias.name for alias in node.names} if isinstance(node, ast.Import) else set()
        if isinstance(node, ast.ImportFrom):
            names = {str(node.module)}
        yield from {name.split(".")[0] for name in names} - sys.stdlib_module_names


def test_the_network_and_the_search_know_neither_data_nor_training() -> None:
    """The files that lie in transformer/ itself use each other and transformer/support/ alone."""
    own = {path.stem for path in (ROOT / "transformer").glob("*.py")} | {"support"}
    for path in (ROOT / "transformer").glob("[!_]*.py"):
        known = {name.split(".")[1] for name in imports(module_name(path))}
        assert known <= own, f"{path.name} imports {known - own}"


def test_search_loop_and_loss_take_any_model() -> None:
    for name in OF_ANY_MODEL:
        known = imports(name) & {"transformer.model", "transformer.lstm"}
        assert not known, f"{name} imports {known}"


def test_no_cycle() -> None:
    graph = {name: imports(name, for_types=False) - {name} for name in MODULES}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"imports go round: {' -> '.join(error.args[1])}")
