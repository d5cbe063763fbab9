"""The laws, the cheapest first: those that take a minute come last.

Every module of this folder is found by itself: a new law needs a file here and nothing else. Its
laws are tried in the order of the modules' `LAW_MODULE_SORT_KEY`, after all others if it has none.
"""

import importlib
import pkgutil
from types import ModuleType

from attention_laws.law import laws_in_modules

DEFAULT_MODULE_SORT_KEY = 1000


def _import_law_modules() -> list[ModuleType]:
    """Return the modules of this folder in the order of their `LAW_MODULE_SORT_KEY`."""
    names = [module.name for module in pkgutil.iter_modules(__path__)]
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    return sorted(
        modules,
        key=lambda module: (
            getattr(module, "LAW_MODULE_SORT_KEY", DEFAULT_MODULE_SORT_KEY),
            module.__name__,
        ),
    )


_ALL_LAWS = sorted(laws_in_modules(*_import_law_modules()), key=lambda law: law.minute)
MODEL_LAWS = tuple(law for law in _ALL_LAWS if not law.on_pipeline)
PIPELINE_LAWS = tuple(law for law in _ALL_LAWS if law.on_pipeline)
