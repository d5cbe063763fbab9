"""Comparisons: sacreBLEU's own paired test, tables of Student's t, by hand and by drawing."""

import math
from random import Random

import pytest
from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest

from lessonkit.analysis import compare
from transformer.support.errors import UserError

WORDS = ["the", "old", "woman", "reads", "a", "book", "near", "her", "small", "house"]


CHANCE = Random(3)
REFERENCES = [" ".join(CHANCE.choices(WORDS, k=CHANCE.randint(5, 13))) for _ in range(61)]


def translations(share: float) -> list[str]:
    """A system that gets a share of the references' words right."""
    chance = Random(str(share))
    return [
        " ".join(word if chance.random() < share else "cat" for word in reference.split())
        for reference in REFERENCES
    ]


def test_equals_sacrebleu() -> None:
    for first, second in ((0.8, 0.81), (0.8, 0.9), (0.9, 0.8)):
        a, b = translations(first), translations(second)
        systems = [("a", a), ("b", b)]
        test = PairedTest(systems, {"BLEU": BLEU()}, [REFERENCES], test_type="bs", n_samples=1000)
        one, other = test()[1]["BLEU"]
        ours = compare.paired_bootstrap(a, b, [[reference] for reference in REFERENCES])
        assert ours.p_value == other.p_value
        assert ours.difference == pytest.approx(other.score - one.score)
        assert ours.low < ours.difference < ours.high


def test_several_references_are_all_used_and_equal_systems_do_not_differ() -> None:
    said = translations(0.7)
    both = [[reference, other] for reference, other in zip(REFERENCES, said, strict=True)]
    ours = compare.paired_bootstrap(REFERENCES, said, both)
    assert (ours.difference, ours.p_value) == (0, 1)  # each says one of the references


# From the tables of textbooks: (degrees of freedom, level) to factor.
TABLE = {
    (1, 0.95): 12.706, (2, 0.95): 4.303, (3, 0.95): 3.182, (4, 0.95): 2.776, (5, 0.95): 2.571,
    (10, 0.95): 2.228, (30, 0.95): 2.042, (120, 0.95): 1.980, (2, 0.99): 9.925, (10, 0.5): 0.700,
}  # fmt: skip


def test_student_t_is_the_table_s() -> None:
    for (degrees, level), factor in TABLE.items():
        assert compare.student_t(degrees, level) == pytest.approx(factor, abs=6e-4)


def test_a_mean_s_interval_by_hand() -> None:
    # mean 3, deviation 1, standard error 1 / sqrt 3
    half = 4.303 / math.sqrt(3)
    assert compare.mean_interval([2.0, 3.0, 4.0]) == pytest.approx((3 - half, 3 + half), abs=1e-3)


def test_a_difference_s_interval_by_hand() -> None:
    # variances 1 and 1 of three runs each: error sqrt(2/3), 4 degrees of freedom
    interval = compare.difference_interval([1.0, 2.0, 3.0], [6.0, 7.0, 8.0])
    half = 2.776 * math.sqrt(2 / 3)
    assert interval == pytest.approx((5 - half, 5 + half), abs=1e-3)
    # A spread on one side alone leaves that side's degrees of freedom: 2.
    interval = compare.difference_interval([5.0, 5.0, 5.0], [1.0, 2.0, 3.0])
    half = 4.303 * math.sqrt(1 / 3)
    assert interval == pytest.approx((-3 - half, -3 + half), abs=1e-3)
    assert compare.difference_interval([1.0, 1.0], [2.0, 2.0]) == (1.0, 1.0)


def test_a_difference_s_p_value_by_hand() -> None:
    # 4 degrees of freedom, 2.776 errors apart: 5% of the distribution lies farther out
    apart = 2.776 * math.sqrt(2 / 3)
    assert compare.difference_p([1, 2, 3], [1 + apart, 2 + apart, 3 + apart]) == pytest.approx(
        0.05, 1e-3
    )
    assert compare.difference_p([1, 2, 3], [3, 2, 1]) == pytest.approx(1)
    assert (compare.difference_p([1, 1], [2, 2]), compare.difference_p([1, 1], [1, 1])) == (0, 1)


def test_verdicts() -> None:
    for low, high, said in (
        (0.1, 5, "higher"),
        (-5, -0.1, "lower"),
        (-0.4, 0.3, "no difference"),
        (-0.4, 0.6, "not shown"),
        (-3, 0.2, "not shown"),
    ):
        assert compare.verdict(compare.Interval(low, high), worth=0.5) == said


def test_margin_by_hand() -> None:
    scores = {"base": [1.0, 3.0], "other": [10.0, 11.0, 12.0], "once": [7.0], "none": []}
    # squares within: 2 and 2; degrees of freedom: 1 and 2
    wanted = 3.182 * math.sqrt(4 / 3) * math.sqrt(2 / 3)
    assert compare.margin(scores, runs=3) == pytest.approx(wanted, abs=1e-3)


def test_errors() -> None:
    for interval in ([-3, -3, -3], [1, 0]):
        with pytest.raises(UserError, match="give two numbers, the lower end first"):
            compare.verdict(interval, worth=0.5)
    with pytest.raises(UserError, match="add seeds"):
        compare.margin({"a": [1.0], "b": []}, runs=3)
    with pytest.raises(UserError, match="runs: give 2 or more numbers, not 1"):
        compare.mean_interval([1.0])
    with pytest.raises(UserError, match="other: give 2 or more numbers, not 0"):
        compare.difference_interval([1.0, 2.0], [])
