"""Every exercise of the package and every lesson that uses one, found by walking."""

import importlib
import pkgutil
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import nbformat

import lessonkit.exercises
from lessonkit.exercises.check import Exercise
from tests.helpers import ROOT

NOTEBOOKS = ROOT / "notebooks"
IMPORT = re.compile(r"^from lessonkit\.exercises import (\w+) as ex$", re.MULTILINE)


def modules() -> list[ModuleType]:
    """All modules of `lessonkit.exercises`."""
    names = [info.name for info in pkgutil.iter_modules(lessonkit.exercises.__path__)]
    return [importlib.import_module(f"lessonkit.exercises.{name}") for name in names]


def exercises(module: ModuleType) -> dict[str, Exercise]:
    """The exercises that can be had from a module, by the name they have there."""
    return {name: each for name, each in vars(module).items() if isinstance(each, Exercise)}


def lesson_module(notebook: Any) -> ModuleType | None:
    """The module that a lesson imports its exercises from."""
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    found = IMPORT.search(text)
    return importlib.import_module(f"lessonkit.exercises.{found[1]}") if found else None


def lessons() -> list[Path]:
    """The notebooks that have exercises to fill in."""
    return [
        path
        for path in sorted(NOTEBOOKS.glob("*.ipynb"))
        if lesson_module(nbformat.read(path, as_version=4)) is not None
    ]


ALL = {each.name: each for module in modules() for each in exercises(module).values()}


def status(name: str, answer: Any) -> str:
    """Have an answer judged: "passed", "wrong" or "not attempted"."""
    return ALL[name].check(answer).status
