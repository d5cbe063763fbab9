"""Try every law of data and scores on a pipeline (not in the paper)."""

from collections.abc import Callable, Iterable
from functools import partial

from attention_laws.laws import scores, text
from attention_laws.pipeline import Pipeline, PipelineLaw, missing
from attention_laws.report import Finding, Report, line_of, not_tried

PIPELINE_LAWS: tuple[PipelineLaw, ...] = (*scores.LAWS, *text.LAWS)


def diagnose_pipeline(
    pipeline: Pipeline,
    *,
    laws: Iterable[PipelineLaw] = PIPELINE_LAWS,
    on_law: Callable[[str], None] = lambda name: None,
) -> Report:
    """Try the laws that data, tokenizers and scores must obey, and say what was found of each.

    Args:
        pipeline: What stands around a model.
        laws: Which; all of them unless said otherwise.
        on_law: Called with the name of each law before it is tried.
    """
    lines = []
    for law in laws:
        on_law(law.name)
        lines.append(line_of(law, partial(_tried, law, pipeline)))
    return Report(tuple(lines))


def _tried(law: PipelineLaw, pipeline: Pipeline) -> Finding:
    """Run the check; what somebody's code raises is a reason, never a traceback."""
    lacking = missing(pipeline, law.needs)
    if lacking:
        return lacking
    try:
        return law.check(pipeline)
    except Exception as error:  # whatever somebody's pipeline raises
        return not_tried(f"it raised {type(error).__name__}: {str(error)[:200]}")
