"""Two systems' BLEU on one text: an interval of the difference, and how much may be chance.

Not in the paper, whose tables have one figure a row. The interval is by the paired bootstrap
(Koehn 2004), the p-value by approximate randomization (Riezler and Maxwell 2005,
https://aclanthology.org/W05-0908/). data/results/calibration compares tests of such differences.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics import BLEU

from transformer.evaluation.scores import check_hypotheses
from transformer.support.checks import check_number
from transformer.support.errors import describe_value, require
from transformer.support.signatures import check_argument_types

NUM_RESAMPLES = 1000
NUM_EXCHANGES = 10_000  # sacreBLEU's own
RESAMPLING_SEED = 12345  # sacreBLEU's own
# Of sentences or coins, all resamples together: 800 MB, and seconds.
MAX_SENTENCE_DRAWS_IN_ALL = 10**8
DRAWS_PER_CHUNK = 1000  # draws held in memory together
NUM_NGRAM_ORDERS = 4
TIE_TOLERANCE = 1e-9  # points of BLEU: sums that are equal score alike but for rounding

BleuCounts = NDArray[np.integer[Any]]  # (..., 10), as `sentence_bleu_counts` says
BleuScores = NDArray[np.float64]  # in points


class BleuComparison(NamedTuple):
    """How far the second of two systems is ahead, and how much of that may be chance."""

    difference: float  # BLEU of the second less BLEU of the first, on all sentences, in points
    low: float  # of the middle 95% of the differences over the resamples
    high: float
    p_value: float  # how often chance alone puts two equal systems so far apart; two-sided


@check_argument_types
def compare_bleu(
    first: Sequence[str], second: Sequence[str], references: Sequence[Sequence[str]]
) -> BleuComparison:
    """Compare two systems' translations of the same sentences by BLEU (13a).

    `references` hold for each sentence its accepted translations. The seed is fixed.
    """
    first_counts = sentence_bleu_counts(first, references)
    second_counts = sentence_bleu_counts(second, references)
    first_scores, second_scores = resampled_bleu(first_counts), resampled_bleu(second_counts)
    low, high = np.percentile(second_scores - first_scores, (2.5, 97.5))
    p_value = approximate_randomization_p_value(first_counts, second_counts)
    difference = bleu_difference(first_counts, second_counts)
    return BleuComparison(difference, float(low), float(high), p_value)


@check_argument_types
def bleu_difference(first_counts: BleuCounts, second_counts: BleuCounts) -> float:
    """Return BLEU of the second system less BLEU of the first, on all sentences, in points.

    Args:
        first_counts, second_counts: Each `sentence_bleu_counts` of the same sentences.
    """
    return float(bleu_from_counts(second_counts.sum(0)) - bleu_from_counts(first_counts.sum(0)))


@check_argument_types
def approximate_randomization_p_value(
    first_counts: BleuCounts,
    second_counts: BleuCounts,
    exchanges: int = NUM_EXCHANGES,
    seed: int = RESAMPLING_SEED,
) -> float:
    """Return how often two systems lie so far apart if a coin deals out their translations.

    If both are equally good, each sentence's two translations might as well have come from the
    other system. For each of so many `exchanges` a coin decides that for every sentence. The
    measured difference counts as one more, so the p-value is above 0; it is two-sided.

    Args:
        first_counts, second_counts: Each `sentence_bleu_counts` of the same sentences.
    """
    first, second = np.asarray(first_counts), np.asarray(second_counts)
    require(
        first.shape == second.shape and first.ndim == 2 and first.size > 0,
        f"counts have the shapes {first.shape} and {second.shape}: give both systems' "
        "`sentence_bleu_counts` of the same sentences, one or more",
    )
    _check_bleu_counts(first, "first_counts")
    _check_bleu_counts(second, "second_counts")
    check_number("exchanges", exchanges, 1, MAX_SENTENCE_DRAWS_IN_ALL // len(first), integer=True)
    check_number("seed", seed, 0, integer=True)
    change = second - first
    first_sum, both_sums = first.sum(0), first.sum(0) + second.sum(0)
    rng = np.random.default_rng(seed)
    measured_difference = np.abs(_bleu_differences_from_sums(first_sum[None], both_sums))
    differences = [measured_difference]
    for size in _chunk_sizes(exchanges):
        is_exchanged = rng.integers(2, size=(size, len(change)), dtype=np.int8)
        sums = first_sum + _integer_matrix_product(is_exchanged, change)
        differences.append(np.abs(_bleu_differences_from_sums(sums, both_sums)))
    distances = np.concatenate(differences)
    return float(np.mean(distances >= distances[0] - TIE_TOLERANCE))


def _bleu_differences_from_sums(sums: BleuCounts, both_sums: BleuCounts) -> BleuScores:
    """Return how far the other system is ahead, if one has these sums and both have those."""
    return bleu_from_counts(both_sums - sums) - bleu_from_counts(sums)


@check_argument_types
def resampled_bleu(
    counts: BleuCounts, resamples: int = NUM_RESAMPLES, seed: int = RESAMPLING_SEED
) -> BleuScores:
    """Return the BLEU of each bootstrap resample of the sentences, (resamples,).

    The same seed draws the same sentences for every system, and the same as sacreBLEU.
    """
    counts = np.asarray(counts)
    require(
        counts.ndim == 2 and counts.size > 0,
        f"counts have the shape {counts.shape}: give `sentence_bleu_counts`, of one or more",
    )
    _check_bleu_counts(counts)
    check_number("resamples", resamples, 1, MAX_SENTENCE_DRAWS_IN_ALL // len(counts), integer=True)
    check_number("seed", seed, 0, integer=True)
    draws = np.random.default_rng(seed).choice(len(counts), (resamples, len(counts)))
    sums, done = [], 0
    for size in _chunk_sizes(resamples):
        sums.append(
            _integer_matrix_product(
                _count_sentence_draws_per_resample(draws[done : done + size]), counts
            )
        )
        done += size
    return bleu_from_counts(np.concatenate(sums))


def _count_sentence_draws_per_resample(draws: NDArray[np.integer[Any]]) -> NDArray[np.integer[Any]]:
    """Return how often each row of `draws` names each sentence; both (resamples, sentences)."""
    resamples, sentences = draws.shape
    cells = draws + sentences * np.arange(resamples)[:, None]
    return np.bincount(cells.ravel(), minlength=draws.size).reshape(draws.shape)


def _integer_matrix_product(weights: NDArray[np.integer[Any]], counts: BleuCounts) -> BleuCounts:
    """Return a matrix product of integers by the quick routine for floats, exact below 2**53."""
    product: BleuCounts = np.rint(weights.astype(float) @ counts.astype(float)).astype(int)
    return product


def _chunk_sizes(total: int) -> Iterator[int]:
    """Yield the sizes of the chunks that make up a total number of draws."""
    while total > 0:
        yield min(total, DRAWS_PER_CHUNK)
        total -= DRAWS_PER_CHUNK


@check_argument_types
def sentence_bleu_counts(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]]
) -> BleuCounts:
    """Count what BLEU (13a) adds up, (sentences, 10).

    For each sentence: the lengths of hypothesis and reference, the matching n-grams of 1 to 4
    words, and all the hypothesis's n-grams.
    """
    check_hypotheses(hypotheses, references)
    metric = BLEU(effective_order=True)  # silences a warning about single sentences
    rows = []
    for hypothesis, accepted in zip(hypotheses, references, strict=True):
        score = metric.sentence_score(hypothesis, accepted)
        rows.append([score.sys_len, score.ref_len, *score.counts, *score.totals])
    return np.array(rows)


def _check_bleu_counts(counts: BleuCounts, name: str = "counts") -> None:
    """Raise a UserError unless these are counts of 10 kinds, as `sentence_bleu_counts` has them."""
    array = np.asarray(counts)
    is_right = array.shape[-1:] == (2 + 2 * NUM_NGRAM_ORDERS,) and array.dtype.kind in "iu"
    require(
        is_right and bool((array >= 0).all()),
        f"{name} are {describe_value(array)}: give `sentence_bleu_counts` or their sums, (..., 10)",
    )


@check_argument_types
def bleu_from_counts(counts: BleuCounts) -> BleuScores:
    """Return BLEU in points from sums of `sentence_bleu_counts` over texts, (..., 10) to (...).

    As sacreBLEU: the first n-gram order without a match counts as half a match, the next as a
    quarter, and so on; without any match, or without n-grams of an order, BLEU is 0.
    """
    _check_bleu_counts(counts)
    counts = np.asarray(counts, dtype=float)
    hypothesis_length, reference_length = counts[..., 0], counts[..., 1]
    matches, totals = counts[..., 2 : 2 + NUM_NGRAM_ORDERS], counts[..., 2 + NUM_NGRAM_ORDERS :]
    is_unmatched = matches == 0
    smoothed = np.where(is_unmatched, 0.5 ** np.cumsum(is_unmatched, axis=-1), matches)
    is_zero = (totals == 0).any(-1) | is_unmatched.all(-1)
    logs = np.log(smoothed / np.maximum(totals, 1)).mean(-1)
    shortness = np.minimum(0, 1 - reference_length / np.maximum(hypothesis_length, 1))
    scores: BleuScores = np.where(is_zero, 0.0, 100 * np.exp(logs + shortness))[()]
    return scores
