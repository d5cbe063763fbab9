"""Variants of a model with several runs each, compared as one family (not in the paper).

docs/modern.md has the protocol: Welch's t-test over seeds, adjusted by Holm's method.
"""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from lessonkit.analysis.significance import (
    ConfidenceInterval,
    difference_interval,
    difference_p_value,
    holm_adjusted_p_values,
)
from lessonkit.records import reading_record
from transformer.support.signatures import check_argument_types

MIN_SEEDS_FOR_VERDICT = 3
MAX_SHOWN_P_VALUE = 0.05
# The least difference worth having, in points of BLEU and nats a token.
WORTH_BY_MEASURE = {"BLEU": 1.0, "loss": 0.02}

Runs = Sequence[Mapping[str, Any]]


class Comparison(NamedTuple):
    """How far a variant is above what it is held against, by one measure."""

    difference: float
    interval: ConfidenceInterval  # not adjusted
    p_value: float  # adjusted for the whole family (Holm)
    verdict: str  # "higher", "lower", "no difference" or "not shown"


@check_argument_types
def measure_values(runs: Runs, measure: str) -> list[float]:
    """Return a measure of each run on the test text: "BLEU", "chrF++", "loss" or "perplexity"."""
    with reading_record("runs"):
        figures = [run["figures"]["test"] for run in runs]
        if measure in ("BLEU", "chrF++"):
            return [float(figure[measure.lower()]["score"]) for figure in figures]
        return [float(figure[measure]) for figure in figures]


@check_argument_types
def compare_variants(
    runs: Runs, compared: Sequence[tuple[str, str]]
) -> dict[tuple[str, str, str], Comparison]:
    """Return each comparison of the family, by variant, what it is held against, and measure.

    Those whose variants have too few runs are left out, and the others adjusted for all the same.

    Args:
        runs: Of the record of an experiment that is measured on the test text.
        compared: Pairs of variants: one, and what it is held against.

    Raises:
        UserError: the runs are not those of such a record.
    """
    with reading_record("runs"):
        pairs = {
            (name, base, measure): [
                measure_values([run for run in runs if run["variant"] == variant], measure)
                for variant in (base, name)
            ]
            for name, base in compared
            for measure in WORTH_BY_MEASURE
        }
    enough = {
        key: both for key, both in pairs.items() if min(map(len, both)) >= MIN_SEEDS_FOR_VERDICT
    }
    # What was not run yet may turn out with any p-value: it counts with the largest.
    unknown = [1.0] * (len(pairs) - len(enough))
    p_values = [difference_p_value(*both) for both in enough.values()]
    adjusted = holm_adjusted_p_values([*p_values, *unknown])
    comparisons = {}
    for (key, both), p_value in zip(enough.items(), adjusted, strict=False):
        difference = statistics.mean(both[1]) - statistics.mean(both[0])
        interval = difference_interval(*both)
        verdict = family_verdict(interval, p_value, WORTH_BY_MEASURE[key[2]])
        comparisons[key] = Comparison(difference, interval, p_value, verdict)
    return comparisons


def family_verdict(interval: ConfidenceInterval, p_value: float, worth: float) -> str:
    """Return what a comparison of a family shows, by the protocol of docs/modern.md.

    Args:
        interval: Of the difference, not adjusted.
        p_value: Adjusted for the family.
        worth: The least difference worth having.

    Returns:
        "higher", "lower", "no difference" or "not shown".
    """
    if p_value <= MAX_SHOWN_P_VALUE:
        return "higher" if sum(interval) > 0 else "lower"
    return "no difference" if -worth < interval.low and interval.high < worth else "not shown"
