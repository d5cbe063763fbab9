"""Two systems on one text: sacreBLEU, counting by hand and full enumeration are the oracles."""

import itertools
from random import Random

import numpy as np
import pytest
from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest, _bootstrap_resample

from lessonkit.analysis.bleu_comparison import (
    RESAMPLING_SEED,
    BleuCounts,
    approximate_randomization_p_value,
    bleu_from_counts,
    compare_bleu,
    resampled_bleu,
    sentence_bleu_counts,
)
from transformer.support.errors import UserError

WORDS = ["the", "old", "woman", "reads", "a", "book", "near", "her", "small", "house"]
CHANCE = Random(3)
REFERENCES = [" ".join(CHANCE.choices(WORDS, k=CHANCE.randint(5, 13))) for _ in range(61)]
ACCEPTED = [[reference] for reference in REFERENCES]


def translations(share: float) -> list[str]:
    """A system that gets a share of the references' words right."""
    chance = Random(str(share))
    return [
        " ".join(word if chance.random() < share else "cat" for word in reference.split())
        for reference in REFERENCES
    ]


def counts_of(*perfect_lengths: int, wrong: int = 0) -> BleuCounts:
    """Sentences of so many words, all right, or all wrong in the last `wrong` sentences."""
    rows = []
    for number, length in enumerate(perfect_lengths):
        totals = [max(length - n, 0) for n in range(4)]
        is_right = number < len(perfect_lengths) - wrong
        rows.append([length, length, *(totals if is_right else [0] * 4), *totals])
    return np.array(rows)


def test_bleu_is_sacrebleu_s_for_every_order_without_a_match() -> None:
    metric = BLEU(smooth_method="exp")
    generator = np.random.default_rng(5)
    totals = np.array([[17, 13, 11, 7], [3, 2, 1, 0], [1, 0, 0, 0], [0, 0, 0, 0]])
    for total in np.repeat(totals, 50, axis=0):
        matches = generator.integers(0, np.minimum(total, 3) + 1)
        row = [total[0], generator.integers(1, 23), *matches, *total]
        theirs = metric.compute_bleu(
            matches.tolist(), total.tolist(), *row[:2], smooth_method="exp"
        ).score
        assert bleu_from_counts(np.array(row)) == pytest.approx(theirs)


def test_resamples_are_sacrebleu_s() -> None:
    counts = sentence_bleu_counts(translations(0.8), ACCEPTED)
    _, theirs = _bootstrap_resample(counts.tolist(), BLEU(), n_samples=1013)
    expected = [score.score for score in theirs]  # type: ignore[attr-defined]
    assert resampled_bleu(counts, 1013) == pytest.approx(expected)


def test_p_values_are_sacrebleu_s_approximate_randomization() -> None:
    """Its draws differ, and its p-value leaves out ties: none occur here."""
    for first, second in ((0.8, 0.81), (0.8, 0.85), (0.9, 0.8)):
        a, b = translations(first), translations(second)
        systems, metrics = [("a", a), ("b", b)], {"BLEU": BLEU()}
        test = PairedTest(systems, metrics, [REFERENCES], test_type="ar", n_samples=2000)
        one, other = test()[1]["BLEU"]
        ours = compare_bleu(a, b, ACCEPTED)
        # They differ by less than four standard errors of both shares, 0.05 at most.
        variance = other.p_value * (1 - other.p_value) * (1 / 2000 + 1 / 10_000)
        assert ours.p_value == pytest.approx(other.p_value, abs=4 * np.sqrt(variance) + 1e-3)
        assert ours.difference == pytest.approx(other.score - one.score)
        assert ours.low < ours.difference < ours.high


def test_p_value_by_hand() -> None:
    """The second gets one sentence of two right, the first none: all four exchanges are as far."""
    right, wrong = counts_of(7, 7), counts_of(7, 7, wrong=2)
    one_right = np.stack([right[0], wrong[1]])
    assert approximate_randomization_p_value(wrong, one_right) == 1
    # The second gets both right: two exchanges of four put one right sentence on either side.
    # The share of 10,000 draws deviates by 0.005.
    assert approximate_randomization_p_value(wrong, right) == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("seed", [2, 3, 5])
def test_p_value_is_the_share_of_all_exchanges(seed: int) -> None:
    a, b = (sentence_bleu_counts(translations(share), ACCEPTED) for share in (0.7, 0.85))
    few = np.random.default_rng(seed).choice(len(a), 11, replace=False)
    a, b = a[few], b[few]
    flips = np.array(list(itertools.product((False, True), repeat=11)))[..., None]
    ones, others = (np.where(flips, *pair).sum(1) for pair in ((b, a), (a, b)))
    distances = np.abs(bleu_from_counts(others) - bleu_from_counts(ones))
    exact = np.mean(distances >= distances[0] - 1e-9)
    assert 0.0005 < exact < 1
    error = np.sqrt(exact * (1 - exact) / 20_000)
    found = approximate_randomization_p_value(a, b, exchanges=20_000)
    assert found == pytest.approx(exact, abs=4 * error + 1e-4)


def test_the_measured_difference_counts_as_an_exchange() -> None:
    """So the p-value is never 0, however far apart two systems are."""
    right, wrong = counts_of(*[7] * 61), counts_of(*[7] * 61, wrong=61)
    assert approximate_randomization_p_value(wrong, right, exchanges=4001) == 1 / 4002
    # Draws are divided into chunks: none is lost, and none is drawn twice.
    ones = [approximate_randomization_p_value(wrong, right, exchanges=n) for n in (1, 999, 1000)]
    assert ones == [1 / 2, 1 / 1000, 1 / 1001]


def test_several_references_are_all_used_and_equal_systems_do_not_differ() -> None:
    said = translations(0.7)
    both = [[reference, other] for reference, other in zip(REFERENCES, said, strict=True)]
    ours = compare_bleu(REFERENCES, said, both)
    assert (ours.difference, ours.p_value) == (0, 1)  # each says one of the references


def test_both_orders_have_one_p_value_and_opposite_intervals() -> None:
    a, b = translations(0.8), translations(0.9)
    forth, back = compare_bleu(a, b, ACCEPTED), compare_bleu(b, a, ACCEPTED)
    assert back.p_value == forth.p_value
    expected = [-forth.difference, -forth.high, -forth.low]
    assert list(back[:3]) == pytest.approx(expected)


def test_other_seeds_draw_anew() -> None:
    a, b = (sentence_bleu_counts(translations(share), ACCEPTED) for share in (0.8, 0.81))
    seeds = (RESAMPLING_SEED, RESAMPLING_SEED + 1)
    assert len({approximate_randomization_p_value(a, b, seed=seed) for seed in seeds}) == 2
    assert len({resampled_bleu(a, seed=seed)[0] for seed in seeds}) == 2


def test_counts_of_unlike_texts_are_refused() -> None:
    for first, second in ((counts_of(5, 5), counts_of(5)), (counts_of()[None], counts_of()[None])):
        with pytest.raises(UserError, match="give both systems' `sentence_bleu_counts`"):
            approximate_randomization_p_value(first, second)


def test_other_shapes_and_numbers_of_draws_are_refused() -> None:
    counts = counts_of(5, 7)
    with pytest.raises(UserError, match=r"shape \(2, 7\): give `sentence_bleu_counts`"):
        bleu_from_counts(counts[:, :7])
    with pytest.raises(UserError, match=r"shape \(10,\): give `sentence_bleu_counts`"):
        resampled_bleu(counts[0])
    for draws in (0, 2.5):
        with pytest.raises(UserError, match="exchanges is"):
            approximate_randomization_p_value(counts, counts, exchanges=draws)  # type: ignore[arg-type]
        with pytest.raises(UserError, match="resamples is"):
            resampled_bleu(counts, draws)  # type: ignore[arg-type]
    with pytest.raises(UserError, match="seed is -1"):
        resampled_bleu(counts, seed=-1)
