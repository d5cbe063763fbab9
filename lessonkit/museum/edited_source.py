"""The course's own code with some lines changed, loaded beside the original (not in the paper).

No file is written. The changed file and all that imports it are run as modules of another name, in
the order of their imports; everything else stays the course's own.
"""

import ast
import sys
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import transformer

REPOSITORY_ROOT = Path(transformer.__file__).parents[1]
# What may be edited: the paper's files, and those that make of them what the laws are tried on.
EDITABLE_FILE_GLOBS = (
    "transformer/[!_]*.py",
    "lessonkit/adapters.py",
    "lessonkit/museum/sound.py",
    "lessonkit/museum/pipeline.py",
)
SOUND_MODULE = "lessonkit.museum.sound"
PIPELINE_MODULE = "lessonkit.museum.pipeline"


class QuoteMisfitError(ValueError):
    """An edit quotes what the source does not say, or says more than once."""


class SourceEdit(NamedTuple):
    """A change of one source file: `new` in place of `old`, which stands in the file once.

    If `old` has several lines, the later ones are indented like the line in which it begins.
    """

    module: str  # last part of its name: "attention" for transformer.attention
    old: str
    new: str
    origin: str = ""  # where the edit is written down: file and line

    @property
    def file_path(self) -> str:
        """The path of the changed file in the repository."""
        return module_to_path(full_module_name(self.module))

    def apply_to_text(self, text: str) -> str:
        """Return the file's text with the change.

        Raises:
            QuoteMisfitError: `old` is not there exactly once. The message has what is most like it.
        """
        old, new = (self._indent_like_quote(code, text) for code in (self.old, self.new))
        if text.count(old) != 1:
            raise QuoteMisfitError(self._describe_misfit(text, text.count(old)))
        return text.replace(old, new)

    def _indent_like_quote(self, code: str, text: str) -> str:
        first_line = self.old.split("\n")[0]
        line = next((line for line in text.splitlines() if first_line in line), "")
        indent = line[: len(line) - len(line.lstrip())]
        return code.replace("\n", f"\n{indent}")

    def _describe_misfit(self, text: str, times: int) -> str:
        lines = text.splitlines()
        wanted = self.old.strip().split("\n")[0]

        def likeness(number: int) -> int:
            return SequenceMatcher(None, wanted, lines[number], False).find_longest_match().size

        nearest = max(range(len(lines)), key=likeness)
        return (
            f"{self.origin or 'an edit'} quotes {self.old!r}, which {self.file_path} has {times} "
            f"times and not once; most like it is line {nearest + 1}: {lines[nearest].strip()!r}"
        )


def quote_misfit_messages(edits: Sequence[SourceEdit]) -> list[str]:
    """Return a message for each edit that does not fit the source, after those before it."""
    return _texts_and_misfit_messages(edits)[1]


def edited_texts_by_module(edits: Sequence[SourceEdit]) -> dict[str, str]:
    """Return the changed text of each module that is edited, by the module's full name.

    Raises:
        QuoteMisfitError: some edits do not fit; the message names each of them.
    """
    texts, messages = _texts_and_misfit_messages(edits)
    if messages:
        raise QuoteMisfitError("\n".join(messages))
    return texts


@cache
def load_edited_modules(
    name: str, edits: tuple[SourceEdit, ...], entry: str = SOUND_MODULE
) -> dict[str, ModuleType]:
    """Run a module, and all that it imports from an edited file, with these edits.

    They import each other, and nobody else does: the layers beside it are made of the edited
    attention, while the package's own stay as they are.

    Args:
        name: A word for these edits alone.
        edits: What is changed.
        entry: The module to run, by its full name.

    Returns:
        The edited modules and all that import them, with the entry, by their own full names.

    Raises:
        QuoteMisfitError: see `edited_texts_by_module`.
    """
    texts = edited_texts_by_module(edits)
    prefix = f"museum.{name}."
    modules: dict[str, ModuleType] = {}
    order = _modules_to_run_in_order(entry, set(texts))
    for module_name in order:
        text = texts.get(module_name) or _read_module_source(module_name)
        tree = ast.parse(text)
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module in order:
                node.module = prefix + node.module
        module = ModuleType(prefix + module_name)
        sys.modules[module.__name__] = modules[module_name] = module
        exec(compile(tree, f"{module_to_path(module_name)} ({name})", "exec"), module.__dict__)
    return modules


@cache
def full_module_name(module: str) -> str:
    """Return the full name of a module that may be edited: "transformer.model" for "model"."""
    found = [name for name in _editable_modules() if name.rpartition(".")[2] == module]
    if len(found) != 1:
        raise ValueError(f"{module!r} is the name of {len(found)} modules that may be edited")
    return found[0]


def module_to_path(module_name: str) -> str:
    """Return the path in the repository of a module, "transformer/model.py"."""
    return f"{module_name.replace('.', '/')}.py"


@cache
def _editable_modules() -> tuple[str, ...]:
    paths = [
        path for pattern in EDITABLE_FILE_GLOBS for path in sorted(REPOSITORY_ROOT.glob(pattern))
    ]
    return tuple(
        ".".join(path.relative_to(REPOSITORY_ROOT).with_suffix("").parts) for path in paths
    )


@cache
def _read_module_source(module_name: str) -> str:
    return (REPOSITORY_ROOT / module_to_path(module_name)).read_text(encoding="utf-8")


def _texts_and_misfit_messages(edits: Sequence[SourceEdit]) -> tuple[dict[str, str], list[str]]:
    texts: dict[str, str] = {}
    messages = []
    for edit in edits:
        module_name = full_module_name(edit.module)
        text = texts.setdefault(module_name, _read_module_source(module_name))
        try:
            texts[module_name] = edit.apply_to_text(text)
        except QuoteMisfitError as error:
            messages.append(str(error))
    return texts, messages


@cache
def _editable_imports_of_module(module_name: str) -> frozenset[str]:
    """Return which modules that may be edited a module imports when it is loaded."""
    return frozenset(_editable_modules_in_imports(ast.parse(_read_module_source(module_name)).body))


def _editable_modules_in_imports(statements: Sequence[ast.stmt]) -> Iterator[str]:
    for statement in statements:
        if isinstance(statement, ast.ImportFrom) and statement.module in _editable_modules():
            yield statement.module


def _modules_to_run_in_order(entry: str, edited: set[str]) -> list[str]:
    """Order the entry, and all that it imports which lead to an edited one, by their imports."""
    graph: dict[str, frozenset[str]] = {}
    waiting = [entry]
    while waiting:
        module_name = waiting.pop()
        if module_name not in graph:
            graph[module_name] = _editable_imports_of_module(module_name)
            waiting += graph[module_name]
    to_run = {entry} | edited
    order = list(TopologicalSorter(graph).static_order())
    for module_name in order:
        if graph[module_name] & to_run:
            to_run.add(module_name)
    return [module_name for module_name in order if module_name in to_run]
