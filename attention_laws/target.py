"""What a user names, MODULE:NAME or FILE.py:NAME, is imported as they would (not in the paper)."""

import difflib
import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torch import nn

from attention_laws.adapter import Adapter, Pipeline
from attention_laws.adapters import from_module
from attention_laws.errors import UserError, told


def split(target: str) -> tuple[Path, str, str]:
    """Give the folder that is to be on the path, the module's name, and the name in it.

    A file in a package is imported as a part of it, so that `from .layers import` works.

    Raises:
        UserError: there is no colon, or no such file.
    """
    place, _, name = target.rpartition(":")
    if not place or not name.isidentifier():
        raise UserError(f"{target} is not MODULE:NAME: write my_model:make, or my_model.py:make")
    if not place.endswith(".py"):
        return Path.cwd(), place, name
    path = Path(place).resolve()
    if not path.is_file():
        raise UserError(f"{target} cannot be had: there is no file {place}")
    folder, parts = path.parent, [] if path.stem == "__init__" else [path.stem]
    while (folder / "__init__.py").is_file():
        folder, parts = folder.parent, [folder.name, *parts]
    return folder, ".".join(parts), name


@contextmanager
def on_path(folder: Path) -> Iterator[None]:
    """Let a folder be the first that modules are imported from within."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        if str(folder) in sys.path:
            sys.path.remove(str(folder))


def made(module_name: str, name: str) -> Any:
    """Import a module and call its factory; what is no function is taken as it is.

    Raises:
        UserError: there is no such module or name, or it raised.
    """
    target = f"{module_name}:{name}"
    try:
        module = importlib.import_module(module_name)
        factory = getattr(module, name, None)
        if callable(factory) and not isinstance(factory, nn.Module | Adapter | Pipeline):
            return factory()
    except BaseException as error:  # whatever their code raises
        give = "give a module from here, or my_model.py:make, with a function of no arguments"
        raise UserError(f"{target} cannot be had: {told(error)}: {give}") from error
    if factory is None:
        names = [each for each in dir(module) if each[0] != "_"]
        near = difflib.get_close_matches(name, names, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(names[:9])}"
        raise UserError(f"{module_name} has no {name!r}: {hint}")
    return factory


def subject_of(given: Any, options: dict[str, Any]) -> Adapter | Pipeline:
    """Make what a factory gave ready for the laws, a bare module with `from_module`'s options.

    Raises:
        UserError: it is nothing of the kind, or options are given of what is no bare module.
    """
    if isinstance(given, nn.Module):
        return from_module(given, **options)
    if not isinstance(given, Adapter | Pipeline):
        may = "let it give a torch.nn.Module, an Adapter or a Pipeline"
        raise UserError(f"the factory gives {type(given).__name__}: {may} (see the README)")
    if options:
        flags = ", ".join(f"--{each.replace('_', '-')}" for each in options)
        raise UserError(f"what the factory gives is no bare module, and {flags} is of one")
    return given
