"""When a Transformer does not learn: which law does its code break?

Not in the paper. `diagnose(model)` tries the laws on anybody's encoder-decoder,
`diagnose_pipeline(pipeline)` those of the text, the data and the score around it.
"""

from attention_laws.adapter import Adapter, CachedDecoder, Candidate
from attention_laws.pipeline import Pipeline
from attention_laws.report import Finding, Line, Report, Verdict
from attention_laws.run import diagnose, diagnose_pipeline

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
