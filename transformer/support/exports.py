"""The names that a package exports, each loaded when it is first used (PEP 562)."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def lazy_exports(
    package: str, exports: Mapping[str, Sequence[str]]
) -> tuple[list[str], Callable[[], list[str]], Callable[[str], Any]]:
    """Return a package's `__all__`, `__dir__` and `__getattr__`.

    A type checker and an editor cannot follow these: the package imports the same names in an
    `if TYPE_CHECKING:` block.

    Args:
        package: The package's `__name__`.
        exports: The names to export, by the module that defines them, relative to the package. A
            name may also be that of a submodule.
    """
    modules = {name: f"{package}.{module}" for module, names in exports.items() for name in names}

    def list_names() -> list[str]:
        return sorted(modules)

    def load(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(modules[name])
        if hasattr(module, name):
            return getattr(module, name)
        return import_module(f"{modules[name]}.{name}")

    return list_names(), list_names, load
