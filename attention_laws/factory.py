"""Import what a user names, MODULE:NAME or FILE.py:NAME, as they would (not in the paper)."""

import difflib
import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from torch import nn

from attention_laws.adapter import Adapter, Pipeline
from attention_laws.bare_module import adapter_from_module
from attention_laws.errors import UserError, describe_error

MAX_NAMES_IN_ERROR = 9
IMPORT_ERROR_REMEDY = (
    "name a module of this folder, or my_model.py:make, with a function of no arguments"
)


def parse_factory_target(target: str) -> tuple[Path, str, str]:
    """Return the folder to import from, the module's name, and the name in it.

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
        raise UserError(f"{target} cannot be imported: there is no file {place}")
    folder, parts = path.parent, [] if path.stem == "__init__" else [path.stem]
    while (folder / "__init__.py").is_file():
        folder, parts = folder.parent, [folder.name, *parts]
    return folder, ".".join(parts), name


@contextmanager
def prepended_to_sys_path(folder: Path) -> Iterator[None]:
    """Import modules from a folder before all others in the block."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        if str(folder) in sys.path:
            sys.path.remove(str(folder))


def import_and_call_factory(module_name: str, name: str) -> Any:
    """Import a module and call its factory; return it as it is if it is no function.

    Raises:
        UserError: there is no such module or name, or it raised.
    """
    target = f"{module_name}:{name}"
    try:
        module = _import_module(module_name)
        factory = getattr(module, name, None)
        if callable(factory) and not isinstance(factory, nn.Module | Adapter | Pipeline):
            return factory()
    except BaseException as error:  # Their code may raise anything.
        problem = f"{target} cannot be imported and called"
        raise UserError(f"{problem}: {describe_error(error)}: {IMPORT_ERROR_REMEDY}") from error
    if factory is None:
        names = [public for public in dir(module) if not public.startswith("_")]
        near = difflib.get_close_matches(name, names, n=1)
        hint = (
            f"did you mean {near[0]!r}?"
            if near
            else f"it has {', '.join(names[:MAX_NAMES_IN_ERROR])}"
        )
        raise UserError(f"{module_name} has no {name!r}: {hint}")
    return factory


def _import_module(module_name: str) -> ModuleType:
    """Import a module.

    Raises:
        UserError: there is none of this name; what a module raises itself is passed on.
    """
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        # The name that is missing is the module's own or that of a package above it.
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise
        raise UserError(f"there is no module {error.name!r} in {sys.path[0]}") from error


def to_adapter_or_pipeline(product: Any, options: dict[str, Any]) -> Adapter | Pipeline:
    """Return what a factory made, ready for the laws; `options` are `adapter_from_module`'s.

    Raises:
        UserError: it is nothing of the kind, or there are options for what is no bare module.
    """
    if isinstance(product, nn.Module):
        return adapter_from_module(product, **options)
    if not isinstance(product, Adapter | Pipeline):
        expected = "let it return a torch.nn.Module, an Adapter or a Pipeline"
        raise UserError(
            f"the factory returns {type(product).__name__}: {expected} (see the README)"
        )
    if options:
        flags = ", ".join(f"--{option.replace('_', '-')}" for option in options)
        raise UserError(f"the factory returns no bare module, and {flags} applies to one alone")
    return product
