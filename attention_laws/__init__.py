"""When a Transformer does not learn: which law does its code break?

Not in the paper. `diagnose(model)` tries the laws on anybody's encoder-decoder,
`diagnose_pipeline(pipeline)` those about the text, the data and the score around it.
"""

from typing import Any

from attention_laws.adapter import Adapter, CachedDecoder, Candidate, Pipeline
from attention_laws.report import Finding, LawResult, Report, Verdict
from attention_laws.run import diagnose, diagnose_pipeline

__all__ = [
    "diagnose",
    "diagnose_pipeline",
    "Adapter",
    "CachedDecoder",
    "Candidate",
    "Pipeline",
    "Report",
    "LawResult",
    "Finding",
    "Verdict",
    "make_law_tests",
]


def __getattr__(name: str) -> Any:
    """Import `make_law_tests`, which needs pytest, only when it is asked for."""
    if name == "make_law_tests":
        from attention_laws.pytest_plugin import make_law_tests

        return make_law_tests
    raise AttributeError(f"attention_laws has no {name!r}")
