"""When a Transformer does not learn: which law does its code break?

Not in the paper. `diagnose(model)` tries the laws on anybody's encoder-decoder,
`diagnose_pipeline(pipeline)` those of the text, the data and the score around it.
"""

from transformer.diagnostics.adapter import Adapter, CachedDecoder, Candidate
from transformer.diagnostics.pipeline import Pipeline
from transformer.diagnostics.report import Finding, Line, Report, Verdict
from transformer.diagnostics.run import diagnose
from transformer.diagnostics.run_pipeline import diagnose_pipeline

__all__ = [
    "diagnose",
    "diagnose_pipeline",
    "Adapter",
    "CachedDecoder",
    "Candidate",
    "Pipeline",
    "Report",
    "Line",
    "Finding",
    "Verdict",
]
