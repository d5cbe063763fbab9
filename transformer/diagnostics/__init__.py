"""When a Transformer does not learn: which law does its code break?

Not in the paper. `diagnose(model)` tries the laws on anybody's encoder-decoder.
"""

from transformer.diagnostics.adapter import Adapter, CachedDecoder, Candidate
from transformer.diagnostics.report import Finding, Line, Report, Verdict
from transformer.diagnostics.run import diagnose

__all__ = [
    "diagnose",
    "Adapter",
    "CachedDecoder",
    "Candidate",
    "Report",
    "Line",
    "Finding",
    "Verdict",
]
