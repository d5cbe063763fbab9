"""Intervals and p-values of few runs: the textbooks' tables of Student's t, and by hand."""

import math

import pytest

from lessonkit.analysis import significance
from transformer.support.errors import UserError

# From the tables of textbooks: (degrees of freedom, level) to factor.
TABLE = {
    (1, 0.95): 12.706, (2, 0.95): 4.303, (3, 0.95): 3.182, (4, 0.95): 2.776, (5, 0.95): 2.571,
    (10, 0.95): 2.228, (30, 0.95): 2.042, (120, 0.95): 1.980, (2, 0.99): 9.925, (10, 0.5): 0.700,
}  # fmt: skip


def test_student_t_is_the_table_s() -> None:
    for (degrees, level), factor in TABLE.items():
        assert significance.t_critical_value(degrees, level) == pytest.approx(factor, abs=6e-4)


def test_a_mean_s_interval_by_hand() -> None:
    # mean 3, deviation 1, standard error 1 / sqrt 3
    half = 4.303 / math.sqrt(3)
    assert significance.mean_interval([2.0, 3.0, 4.0]) == pytest.approx(
        (3 - half, 3 + half), abs=1e-3
    )


def test_a_difference_s_interval_by_hand() -> None:
    # variances 1 and 1 of three runs each: error sqrt(2/3), 4 degrees of freedom
    interval = significance.difference_interval([1.0, 2.0, 3.0], [6.0, 7.0, 8.0])
    half = 2.776 * math.sqrt(2 / 3)
    assert interval == pytest.approx((5 - half, 5 + half), abs=1e-3)
    # A spread on one side alone leaves that side's degrees of freedom: 2.
    interval = significance.difference_interval([5.0, 5.0, 5.0], [1.0, 2.0, 3.0])
    half = 4.303 * math.sqrt(1 / 3)
    assert interval == pytest.approx((-3 - half, -3 + half), abs=1e-3)
    assert significance.difference_interval([1.0, 1.0], [2.0, 2.0]) == (1.0, 1.0)


def test_a_difference_s_p_value_by_hand() -> None:
    # 4 degrees of freedom, 2.776 errors apart: 5% of the distribution lies farther out
    apart = 2.776 * math.sqrt(2 / 3)
    assert significance.difference_p_value(
        [1, 2, 3], [1 + apart, 2 + apart, 3 + apart]
    ) == pytest.approx(0.05, 1e-3)
    assert significance.difference_p_value([1, 2, 3], [3, 2, 1]) == pytest.approx(1)
    assert (
        significance.difference_p_value([1, 1], [2, 2]),
        significance.difference_p_value([1, 1], [1, 1]),
    ) == (0, 1)


def test_verdicts() -> None:
    for low, high, said in (
        (0.1, 5, "higher"),
        (-5, -0.1, "lower"),
        (-0.4, 0.3, "no difference"),
        (-0.4, 0.6, "not shown"),
        (-3, 0.2, "not shown"),
    ):
        assert (
            significance.difference_verdict(significance.ConfidenceInterval(low, high), worth=0.5)
            == said
        )


def test_margin_by_hand() -> None:
    scores = {"base": [1.0, 3.0], "other": [10.0, 11.0, 12.0], "once": [7.0], "none": []}
    # squares within: 2 and 2; degrees of freedom: 1 and 2
    wanted = 3.182 * math.sqrt(4 / 3) * math.sqrt(2 / 3)
    assert significance.margin_of_error(scores, runs=3) == pytest.approx(wanted, abs=1e-3)


def test_errors() -> None:
    for interval in ([-3, -3, -3], [1, 0]):
        with pytest.raises(UserError, match=r"give (a ConfidenceInterval|two numbers, the lower)"):
            significance.difference_verdict(interval, worth=0.5)
    with pytest.raises(UserError, match="add seeds"):
        significance.margin_of_error({"a": [1.0], "b": []}, runs=3)
    with pytest.raises(UserError, match="runs: give 2 or more numbers, not 1"):
        significance.mean_interval([1.0])
    with pytest.raises(UserError, match="other: give 2 or more numbers, not 0"):
        significance.difference_interval([1.0, 2.0], [])


def test_holm_by_hand() -> None:
    # sorted 0.01 * 4, 0.02 * 3, 0.02 * 2 (but not under the one before), 0.6
    assert significance.holm_adjusted_p_values([0.02, 0.6, 0.01, 0.02]) == pytest.approx(
        [0.06, 0.6, 0.04, 0.06]
    )
    assert significance.holm_adjusted_p_values([0.5, 0.7]) == [1.0, 1.0]
    assert significance.holm_adjusted_p_values([]) == []
    for no_p_value in (math.nan, -0.1, 1.1):
        with pytest.raises(UserError, match="one of p_values is"):
            significance.holm_adjusted_p_values([0.5, no_p_value])
