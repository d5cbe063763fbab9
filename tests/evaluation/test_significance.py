"""Significance: by hand, by tables of Student's t, and by drawing."""

import math
import statistics
from random import Random

import pytest

from transformer.evaluation.significance import (
    Interval,
    difference_interval,
    margin,
    mean_interval,
    pooled_deviation,
    share_interval,
    student_t,
    verdict,
)
from transformer.support.errors import UserError

# From the tables of textbooks: (degrees of freedom, level) to factor.
TABLE = {
    (1, 0.95): 12.706, (2, 0.95): 4.303, (3, 0.95): 3.182, (4, 0.95): 2.776, (5, 0.95): 2.571,
    (10, 0.95): 2.228, (30, 0.95): 2.042, (120, 0.95): 1.980, (2, 0.99): 9.925, (10, 0.5): 0.700,
}  # fmt: skip


@pytest.mark.parametrize(("degrees", "level"), TABLE)
def test_student_t_is_the_table_s(degrees: int, level: float) -> None:
    assert student_t(degrees, level) == pytest.approx(TABLE[degrees, level], abs=6e-4)


def test_student_t_comes_near_the_normal_distribution() -> None:
    assert student_t(1e6) == pytest.approx(statistics.NormalDist().inv_cdf(0.975), abs=1e-5)


def test_student_t_of_one_and_two_degrees_in_closed_form() -> None:
    for level in (0.1, 0.5, 0.9, 0.999):
        assert student_t(1, level) == pytest.approx(math.tan(math.pi * level / 2), rel=1e-6)
        wanted = level * math.sqrt(2 / (1 - level**2))
        assert student_t(2, level) == pytest.approx(wanted, rel=1e-6)


def test_a_mean_s_interval_by_hand() -> None:
    # mean 3, deviation 1, standard error 1 / sqrt 3
    low, high = mean_interval([2.0, 3.0, 4.0])
    assert (low, high) == pytest.approx(
        (3 - 4.303 / math.sqrt(3), 3 + 4.303 / math.sqrt(3)), abs=1e-3
    )


def test_a_difference_s_interval_by_hand() -> None:
    # variances 1 and 1 of three runs each: error sqrt(2/3), 4 degrees of freedom
    low, high = difference_interval([1.0, 2.0, 3.0], [6.0, 7.0, 8.0])
    half = 2.776 * math.sqrt(2 / 3)
    assert (low, high) == pytest.approx((5 - half, 5 + half), abs=1e-3)
    # A spread on one side alone leaves that side's degrees of freedom: 2.
    low, high = difference_interval([5.0, 5.0, 5.0], [1.0, 2.0, 3.0])
    half = 4.303 * math.sqrt(1 / 3)
    assert (low, high) == pytest.approx((-3 - half, -3 + half), abs=1e-3)
    assert difference_interval([1.0, 1.0], [2.0, 2.0]) == (1.0, 1.0)


@pytest.mark.slow
def test_intervals_hold_the_truth_nineteen_times_in_twenty() -> None:
    chance, held, held_difference = Random(1), 0, 0
    for _ in range(2000):
        a = [chance.gauss(10, 3) for _ in range(3)]
        b = [chance.gauss(11, 3) for _ in range(3)]
        low, high = mean_interval(a)
        held += low < 10 < high
        low, high = difference_interval(a, b)
        held_difference += low < 1 < high
    assert 0.935 < held / 2000 < 0.965
    assert 0.935 < held_difference / 2000 < 0.985  # Welch is careful with so few


@pytest.mark.parametrize(
    ("interval", "said"),
    [
        ((0.1, 5), "higher"),
        ((-5, -0.1), "lower"),
        ((-0.4, 0.3), "no difference"),
        ((-0.4, 0.6), "not shown"),
        ((-3, 0.2), "not shown"),
    ],
)
def test_verdicts(interval: tuple[float, float], said: str) -> None:
    assert verdict(Interval(*interval), worth=0.5) == said


def test_pooled_deviation_and_margin_by_hand() -> None:
    scores = {"base": [1.0, 3.0], "other": [10.0, 11.0, 12.0], "once": [7.0], "none": []}
    # squares within: 2 and 2; degrees of freedom: 1 and 2
    assert pooled_deviation(scores) == pytest.approx(math.sqrt(4 / 3))
    wanted = 3.182 * math.sqrt(4 / 3) * math.sqrt(2 / 3)
    assert margin(scores, runs=3) == pytest.approx(wanted, abs=1e-3)


def test_one_variant_is_its_own_deviation() -> None:
    runs = [3.0, 5.0, 11.0, 2.0]
    assert pooled_deviation({"a": runs}) == pytest.approx(statistics.stdev(runs))


def test_a_mean_of_each_variant_makes_no_difference() -> None:
    near = {"a": [1.0, 2.0], "b": [3.0, 5.0]}
    far = {"a": [1.0, 2.0], "b": [103.0, 105.0]}
    assert pooled_deviation(near) == pooled_deviation(far)


@pytest.mark.slow
@pytest.mark.parametrize("variants", ["ab", "abcdefghijkl"])
def test_two_equal_variants_differ_by_more_in_one_draw_of_twenty(variants: str) -> None:
    chance, beyond = Random(1), 0
    for _ in range(2000):
        draws = {name: [chance.gauss(0, 3) for _ in range(3)] for name in variants}
        a, b = statistics.mean(draws["a"]), statistics.mean(draws["b"])
        beyond += abs(a - b) > margin(draws, runs=3)
    assert 0.035 < beyond / 2000 < 0.065


def test_errors() -> None:
    with pytest.raises(UserError, match="add seeds"):
        pooled_deviation({"a": [1.0], "b": []})
    with pytest.raises(UserError, match="runs is 0"):
        margin({"a": [1.0, 2.0]}, runs=0)
    with pytest.raises(UserError, match="1 run: the spread of one"):
        mean_interval([1.0])
    with pytest.raises(UserError, match="0 run"):
        difference_interval([1.0, 2.0], [])
    for degrees, level in ((0, 0.95), (2, 1.0), (math.nan, 0.5)):
        with pytest.raises(UserError, match="give more runs"):
            student_t(degrees, level)


def test_a_share_s_interval_by_hand() -> None:
    # Wilson's ends are the shares from which what was seen is 1.96 standard errors away.
    for hits, trials in ((3, 4), (9, 24), (1, 20), (500, 997)):
        for end in share_interval(hits, trials):
            error = math.sqrt(end * (1 - end) / trials)
            assert abs(hits / trials - end) == pytest.approx(1.96 * error, rel=1e-4)
    # None of n: from 0 to 1.96^2 / (n + 1.96^2).
    assert share_interval(0, 24) == pytest.approx((0.0, 3.8415 / 27.8415), abs=1e-5)
    assert share_interval(24, 24) == pytest.approx((1 - 3.8415 / 27.8415, 1.0), abs=1e-5)
    low, high = share_interval(12, 24, level=0.5)
    assert (low + high) / 2 == pytest.approx(0.5)
    assert high - low < share_interval(12, 24).high - share_interval(12, 24).low


def test_a_share_s_interval_holds_the_truth_as_often_as_it_says() -> None:
    chance = Random(7)
    for truth in (0.1, 0.5, 0.9):
        drawn = [sum(chance.random() < truth for _ in range(24)) for _ in range(2000)]
        inside = sum(low <= truth <= high for low, high in (share_interval(n, 24) for n in drawn))
        assert 0.92 < inside / len(drawn) < 0.985


@pytest.mark.parametrize(("hits", "trials"), [(0, 0), (-1, 4), (5, 4)])
def test_no_share(hits: int, trials: int) -> None:
    with pytest.raises(UserError, match=f"{hits} of {trials}: count 0 to all"):
        share_interval(hits, trials)
