"""Paired bootstrap resampling of BLEU: two systems on one text (Koehn 2004).

Not in the paper, whose tables have one figure a row.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from sacrebleu.metrics import BLEU

from transformer.evaluation.scores import check_hypotheses

NUM_RESAMPLES = 1000
BOOTSTRAP_SEED = 12345  # sacreBLEU's own


class BootstrapComparison(NamedTuple):
    """How far the second of two systems is ahead, and how much of that may be chance."""

    difference: float  # BLEU of the second less BLEU of the first, on all sentences, in points
    low: float  # of the middle 95% of the differences over the resamples
    high: float
    p_value: float  # how often chance alone would put a system as far ahead; one-sided, 0 to 1


def paired_bootstrap(
    first: Sequence[str], second: Sequence[str], references: Sequence[Sequence[str]]
) -> BootstrapComparison:
    """Compare two systems' translations of the same sentences by BLEU (13a), as sacreBLEU does.

    `references` hold for each sentence its accepted translations. The seed is fixed.
    """
    first_counts = sentence_bleu_counts(first, references)
    second_counts = sentence_bleu_counts(second, references)
    draws = np.random.default_rng(BOOTSTRAP_SEED).choice(
        len(references), (NUM_RESAMPLES, len(references))
    )
    differences = _resampled_bleu(second_counts, draws) - _resampled_bleu(first_counts, draws)
    difference = bleu_from_counts(second_counts.sum(0)) - bleu_from_counts(first_counts.sum(0))
    spread = np.abs(differences) - np.abs(differences).mean()
    # sacreBLEU has > in place of >=: there two equal systems have the smallest p of all.
    p_value = (np.sum(spread >= abs(difference)) + 1) / (NUM_RESAMPLES + 1)
    low, high = np.percentile(differences, (2.5, 97.5))
    return BootstrapComparison(difference, float(low), float(high), float(p_value))


def _resampled_bleu(counts: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """Return the BLEU of each resample, (resamples,)."""
    return np.array([bleu_from_counts(counts[rows].sum(0)) for rows in draws])


def sentence_bleu_counts(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]]
) -> np.ndarray:
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


def bleu_from_counts(counts: np.ndarray) -> float:
    """Return BLEU in points from the sums of `sentence_bleu_counts` over a text, (10,)."""
    hypothesis_length, reference_length, *ngrams = counts.tolist()
    score = BLEU.compute_bleu(
        ngrams[:4], ngrams[4:], hypothesis_length, reference_length, smooth_method="exp"
    )
    return float(score.score)
