"""A family of comparisons: Welch's test adjusted for all of them, and what counts as shown."""

import statistics
from typing import Any

import pytest
from scipy import stats

from lessonkit.analysis.significance import ConfidenceInterval
from lessonkit.analysis.variant_comparison import compare_variants, family_verdict
from transformer.support.errors import UserError


def run(variant: str, bleu: float) -> dict[str, Any]:
    return {"variant": variant, "figures": {"test": {"bleu": {"score": bleu}, "loss": 0.3}}}


def test_a_comparison_is_welchs_adjusted_for_the_whole_family() -> None:
    """All six count, those that were not run yet with the largest p-value."""
    runs = [run("base", bleu) for bleu in (60.0, 61.0, 62.0)]
    runs += [run("changed", bleu) for bleu in (71.0, 72.5, 73.0)]
    compared = [("changed", "base"), ("not run", "base"), ("not run", "changed")]
    comparisons = compare_variants(runs, compared)
    assert set(comparisons) == {("changed", "base", "BLEU"), ("changed", "base", "loss")}
    bleu = comparisons["changed", "base", "BLEU"]
    by_scipy = stats.ttest_ind([71.0, 72.5, 73.0], [60.0, 61.0, 62.0], equal_var=False)
    assert bleu.difference == pytest.approx(statistics.mean((71, 72.5, 73)) - 61)
    assert bleu.p_value == pytest.approx(6 * by_scipy.pvalue)
    assert bleu.interval == pytest.approx(tuple(by_scipy.confidence_interval()))
    assert bleu.verdict == "higher"
    same = comparisons["changed", "base", "loss"]
    assert (same.p_value, same.verdict) == (1.0, "no difference")
    with pytest.raises(UserError, match="runs is no such record"):
        compare_variants([{"variant": "base", "figures": {}}], compared)


def test_an_interval_beside_zero_shows_nothing_without_its_p_value() -> None:
    for low, high, p_value, verdict in (
        (0.1, 3.0, 0.06, "not shown"),
        (0.1, 3.0, 0.05, "higher"),
        (-3.0, -0.1, 0.01, "lower"),
        (-0.9, 0.9, 0.4, "no difference"),
        (0.1, 0.9, 0.06, "no difference"),
        (-1.1, 0.9, 0.4, "not shown"),
    ):
        assert family_verdict(ConfidenceInterval(low, high), p_value, worth=1.0) == verdict
