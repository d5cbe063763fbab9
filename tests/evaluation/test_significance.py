"""Chance: by hand, and by drawing."""

import math
import statistics
from random import Random

import pytest

from transformer.evaluation.significance import margin, pooled_deviation
from transformer.support.errors import UserError


def test_by_hand() -> None:
    scores = {"base": [1.0, 3.0], "other": [10.0, 11.0, 12.0], "once": [7.0]}
    # squares within: 2 and 2; degrees of freedom: 1 and 2
    assert pooled_deviation(scores) == pytest.approx(math.sqrt(4 / 3))
    assert margin(scores, runs=3) == pytest.approx(2 * math.sqrt(4 / 3) * math.sqrt(2 / 3))


def test_one_variant_is_its_own_deviation() -> None:
    runs = [3.0, 5.0, 11.0, 2.0]
    assert pooled_deviation({"a": runs}) == pytest.approx(statistics.stdev(runs))


def test_a_mean_of_each_variant_makes_no_difference() -> None:
    near = {"a": [1.0, 2.0], "b": [3.0, 5.0]}
    far = {"a": [1.0, 2.0], "b": [103.0, 105.0]}
    assert pooled_deviation(near) == pooled_deviation(far)


def test_two_equal_variants_differ_by_more_in_one_draw_of_twenty() -> None:
    chance = Random(1)
    beyond = 0
    for _ in range(2000):
        draws = {name: [chance.gauss(0, 3) for _ in range(3)] for name in "abcdefghijkl"}
        a, b = statistics.mean(draws["a"]), statistics.mean(draws["b"])
        beyond += abs(a - b) > margin(draws, runs=3)
    assert 0.03 < beyond / 2000 < 0.08


def test_errors() -> None:
    with pytest.raises(UserError, match="add seeds"):
        pooled_deviation({"a": [1.0], "b": []})
    with pytest.raises(UserError, match="runs is 0"):
        margin({"a": [1.0, 2.0]}, runs=0)
