"""The laws, the cheapest first.

Every module of this folder is found by itself: a new law needs a file here and nothing else. Its
laws are tried in the order of the modules' `ORDER`, after all others if it has none.
"""

import importlib
import pkgutil
from types import ModuleType

from attention_laws.law import laws_of

LAST = 1000


def _law_modules() -> list[ModuleType]:
    """Return the modules of this folder in the order of their `ORDER`."""
    names = [module.name for module in pkgutil.iter_modules(__path__)]
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    return sorted(modules, key=lambda module: (getattr(module, "ORDER", LAST), module.__name__))


_ALL = laws_of(*_law_modules())
LAWS = tuple(law for law in _ALL if not law.on_pipeline)
PIPELINE_LAWS = tuple(law for law in _ALL if law.on_pipeline)
