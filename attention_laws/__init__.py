"""When a Transformer does not learn: which law does its code break?

Not in the paper. `diagnose(model)` tries the laws on anybody's encoder-decoder,
`diagnose_pipeline(pipeline)` those about the text, the data and the score around it. Each name is
loaded when it is first used, so that the command minds Ctrl-C before torch is imported, and pytest
is imported for `make_law_tests` alone.
"""
# ruff: noqa: F401 (type checkers and editors use the imports of TYPE_CHECKING)

from importlib import import_module
from typing import TYPE_CHECKING, Any

# The exported names, by the module that defines them. The block below repeats them for editors.
EXPORTED_NAMES_BY_MODULE = {
    "adapter": ("Adapter", "CachedDecoder", "Candidate", "Pipeline"),
    "pytest_plugin": ("make_law_tests",),
    "report": ("Finding", "LawResult", "Report", "Verdict"),
    "run": ("diagnose", "diagnose_pipeline"),
}
__all__ = [name for names in EXPORTED_NAMES_BY_MODULE.values() for name in names]

if TYPE_CHECKING:
    from attention_laws.adapter import Adapter, CachedDecoder, Candidate, Pipeline
    from attention_laws.pytest_plugin import make_law_tests
    from attention_laws.report import Finding, LawResult, Report, Verdict
    from attention_laws.run import diagnose, diagnose_pipeline


def __getattr__(name: str) -> Any:
    """Import the module that defines an exported name (PEP 562)."""
    for module, names in EXPORTED_NAMES_BY_MODULE.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
