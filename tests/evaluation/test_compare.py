"""Comparisons: sacreBLEU's own paired test, tables of Student's t, by hand and by drawing."""

import math
from random import Random

import pytest
from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest

from transformer.evaluation.compare import (
    Interval,
    difference_interval,
    difference_p,
    margin,
    mean_interval,
    paired_bootstrap,
    pooled_deviation,
    student_t,
    verdict,
)
from transformer.support.errors import UserError

WORDS = ["the", "old", "woman", "reads", "a", "book", "near", "her", "small", "house"]


def translations(sentences: int, share: float, seed: int) -> tuple[list[str], list[str]]:
    """References, and a system that gets a share of their words right."""
    chance = Random(seed)
    references = [
        " ".join(chance.choices(WORDS, k=chance.randint(5, 13))) for _ in range(sentences)
    ]
    chance = Random(f"{seed} {share}")
    said = [
        " ".join(word if chance.random() < share else "cat" for word in reference.split())
        for reference in references
    ]
    return references, said


def test_equals_sacrebleu() -> None:
    for first, second in ((0.8, 0.81), (0.8, 0.9), (0.9, 0.8)):
        references, a = translations(61, first, seed=3)
        _, b = translations(61, second, seed=3)
        systems = [("a", a), ("b", b)]
        test = PairedTest(systems, {"BLEU": BLEU()}, [references], test_type="bs", n_samples=1000)
        _, scores = test()
        one, other = scores["BLEU"]
        ours = paired_bootstrap(a, b, [[reference] for reference in references])
        assert ours.p_value == other.p_value
        assert ours.difference == pytest.approx(other.score - one.score)
        assert ours.low < ours.difference < ours.high


def test_several_references_are_all_used() -> None:
    references, a = translations(23, 0.7, seed=5)
    both = [[reference, other] for reference, other in zip(references, a, strict=True)]
    ours = paired_bootstrap(references, a, both)
    assert ours.difference == 0  # each says one of the references
    assert ours.p_value == 1


def test_sides_of_unlike_length_are_refused() -> None:
    with pytest.raises(UserError, match="1 translations and 2 lists of references"):
        paired_bootstrap(["a", "b"], ["a"], [["a"], ["b"]])
    with pytest.raises(UserError, match="no translations to score"):
        paired_bootstrap([], [], [])


# From the tables of textbooks: (degrees of freedom, level) to factor.
TABLE = {
    (1, 0.95): 12.706, (2, 0.95): 4.303, (3, 0.95): 3.182, (4, 0.95): 2.776, (5, 0.95): 2.571,
    (10, 0.95): 2.228, (30, 0.95): 2.042, (120, 0.95): 1.980, (2, 0.99): 9.925, (10, 0.5): 0.700,
}  # fmt: skip


def test_student_t_is_the_table_s() -> None:
    for (degrees, level), factor in TABLE.items():
        assert student_t(degrees, level) == pytest.approx(factor, abs=6e-4)


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


def test_a_difference_s_p_value_by_hand() -> None:
    # 4 degrees of freedom, 2.776 errors apart: 5% of the distribution lies farther out
    apart = 2.776 * math.sqrt(2 / 3)
    assert difference_p([1, 2, 3], [1 + apart, 2 + apart, 3 + apart]) == pytest.approx(0.05, 1e-3)
    assert difference_p([1, 2, 3], [3, 2, 1]) == pytest.approx(1)
    assert (difference_p([1, 1], [2, 2]), difference_p([1, 1], [1, 1])) == (0, 1)


def test_verdicts() -> None:
    for low, high, said in (
        (0.1, 5, "higher"),
        (-5, -0.1, "lower"),
        (-0.4, 0.3, "no difference"),
        (-0.4, 0.6, "not shown"),
        (-3, 0.2, "not shown"),
    ):
        assert verdict(Interval(low, high), worth=0.5) == said


def test_pooled_deviation_and_margin_by_hand() -> None:
    scores = {"base": [1.0, 3.0], "other": [10.0, 11.0, 12.0], "once": [7.0], "none": []}
    # squares within: 2 and 2; degrees of freedom: 1 and 2
    assert pooled_deviation(scores) == pytest.approx(math.sqrt(4 / 3))
    wanted = 3.182 * math.sqrt(4 / 3) * math.sqrt(2 / 3)
    assert margin(scores, runs=3) == pytest.approx(wanted, abs=1e-3)


def test_errors() -> None:
    with pytest.raises(UserError, match="add seeds"):
        pooled_deviation({"a": [1.0], "b": []})
    with pytest.raises(UserError, match="runs: give 2 or more numbers, not 1"):
        mean_interval([1.0])
    with pytest.raises(UserError, match="other: give 2 or more numbers, not 0"):
        difference_interval([1.0, 2.0], [])
