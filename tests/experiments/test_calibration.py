"""The tests of a difference are themselves tested: by sacreBLEU, by hand, and by simulation."""

from typing import Any

import numpy as np
import pytest
from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest
from scipy.stats import binom

from experiments import bleu_populations, calibration
from lessonkit.analysis.bleu_comparison import (
    RESAMPLING_SEED,
    bleu_from_counts,
    sentence_bleu_counts,
)
from transformer.data import corpora

REFERENCES = corpora.load("embedded", "test", "fr", "en").tgt[:61]
ACCEPTED = [[reference] for reference in REFERENCES]


def copies(share: float, seed: int) -> list[str]:
    shares = np.full(len(REFERENCES), share)
    return bleu_populations.noisy_sentence_copies(REFERENCES, shares, np.random.default_rng(seed))


def test_sacrebleu_s_p_values_are_its_own() -> None:
    base = copies(0.8, 1)
    systems = [("base", base), ("alike", copies(0.8, 2)), ("ahead", copies(0.9, 3)), ("same", base)]
    test = PairedTest(systems, {"BLEU": BLEU()}, [REFERENCES], test_type="bs", n_samples=1000)
    _, *theirs = test()[1]["BLEU"]
    first = sentence_bleu_counts(base, ACCEPTED)
    for (_, said), result in zip(systems[1:], theirs, strict=True):
        second = sentence_bleu_counts(said, ACCEPTED)
        drawn = calibration.bootstrap_test_set_scores(first, second, RESAMPLING_SEED)
        assert calibration.sacrebleu_p_value(drawn) == result.p_value


def test_p_values_by_hand() -> None:
    nothing = np.zeros((1, 10), dtype=int)
    drawn = calibration.ResampledTestSet(
        nothing, nothing, 2.0, np.zeros(4), np.array([-1.0, 1.0, 3.0, 5.0]), 1
    )
    # Distances 1, 1, 3 and 5 less their mean, 2.5: one is farther than 2, by 0.5.
    assert calibration.sacrebleu_p_value(drawn) == (1 + 1) / 5
    # Their distances from 2: 3, 1, 1 and 3.
    assert calibration.centred_p_value(drawn) == (2 + 1) / 5
    assert calibration.percentile_p_value(drawn) == 2 * (1 + 1) / 5
    drawn = drawn._replace(difference=2.5)
    assert calibration.sacrebleu_p_value(drawn) == (0 + 1) / 5
    assert calibration.sacrebleu_p_value_with_ties(drawn) == (1 + 1) / 5


def test_identical_systems_do_not_differ_but_for_sacrebleu() -> None:
    counts = sentence_bleu_counts(copies(0.8, 1), ACCEPTED)
    drawn = calibration.bootstrap_test_set_scores(counts, counts, 5)
    found = {
        name: p_value(drawn) for name, p_value in calibration.P_VALUE_FUNCTIONS_BY_TEST.items()
    }
    assert found.pop("sacreBLEU's paired bootstrap") == 1 / 1001
    del found["share beyond 0, doubled"]  # knows nothing of ties
    assert set(found.values()) == {1.0}


def test_populations_are_what_they_are_called() -> None:
    populations = bleu_populations.simulated_populations(613)
    scores = {name: each.scores() for name, each in populations.items()}
    for first, second in (scores["alike"], scores["uneven"]):
        assert second == pytest.approx(first, abs=0.1)
    first, second = scores["ahead"]
    assert second - first == pytest.approx(bleu_populations.SIMULATED_LEAD, abs=0.1)
    exchanged = populations["ahead"]._replace(is_exchanged=True)
    assert first < exchanged.scores()[0] == exchanged.scores()[1] < second
    # Both translations of each sentence that was drawn are there, in either order.
    rng = np.random.default_rng(2)
    drawn = exchanged.draw_test_set(97, rng)
    rng = np.random.default_rng(2)
    expected = populations["ahead"].draw_test_set(97, rng)
    assert (sum(drawn) == sum(expected)).all()
    changed = (drawn[0] != expected[0]).any(axis=1)
    assert 0 < changed.sum() < 97
    assert (drawn[0][changed] == expected[1][changed]).all()


def test_spliced_systems_have_the_bleu_that_was_asked_for() -> None:
    one, other = (sentence_bleu_counts(copies(share, 7), ACCEPTED) for share in (0.9, 0.6))
    low, high = (bleu_from_counts(each.sum(0)) for each in (other, one))
    spliced = bleu_populations.spliced_system_bleu_counts(one, other, (low + high) / 2)
    assert bleu_from_counts(spliced.sum(0)) == pytest.approx((low + high) / 2, abs=1.5)
    is_one = (spliced == one).all(axis=1)
    assert ((spliced == other).all(axis=1) | is_one).all()
    assert 0 < is_one.sum() < len(one)


def test_a_table_joins_equal_systems_and_names_the_others() -> None:
    levels = ("below 0.05", "below 0.2", "above 0.5")

    def kind(second: float, *shares: float) -> dict[str, Any]:
        tests = {"centred bootstrap": dict(zip(levels, shares, strict=True))}
        held = {"score": shares[0], "difference": shares[1]}
        return {"sentences": 7, "bleu": [40.0, second], "tests": tests, "coverage": held}

    record = {
        "figures": {
            "alike": [kind(40.0, 0.25, 0.5, 0.75)],
            "exchanged": [kind(40.01, 0.75, 0.5, 0.25)],
            "ahead": [kind(43.0, 0.875, 1.0, 0.0)],
        },
        "test_sets": 13,
        "identical": {"centred bootstrap": 1.0},
    }
    table = calibration.calibration_table(record).splitlines()
    assert table[3] == "| centred bootstrap | 50.0% | 50.0% | 50.0% | 87.5% | 1.000 |"
    assert "3 BLEU apart, 7 sentences" in table[0]
    assert "2 times 13 test sets" in table[-1]
    assert "over all 3: score 25.0% to 87.5%, difference 50.0% to 100.0%." in table[-1]


@pytest.mark.weekly
def test_the_course_s_test_and_intervals_are_calibrated() -> None:
    """Of 400 pairs of equal systems, as many as chance allows in all but one case of 1,000."""
    pairs = 400
    populations = bleu_populations.simulated_populations(3001)
    for name in ("alike", "uneven"):
        found = calibration.measure_tests(populations[name], 101, pairs)

        def is_as_chance_allows(share: float, probability: float) -> bool:
            low, high = binom.ppf((0.0005, 0.9995), pairs, probability)
            return bool(low <= round(share * pairs) <= high)

        for level, probability in (("below 0.05", 0.05), ("below 0.2", 0.2), ("above 0.5", 0.5)):
            shares = {test: levels[level] for test, levels in found["tests"].items()}
            assert is_as_chance_allows(shares["approximate randomization"], probability), shares
            assert not is_as_chance_allows(shares["sacreBLEU's paired bootstrap"], probability)
        for interval, share in found["coverage"].items():
            assert 0.92 < share < 0.98, interval
    power = calibration.measure_tests(populations["ahead"], 307, 100)["tests"]
    assert power["approximate randomization"]["below 0.05"] > 0.3
