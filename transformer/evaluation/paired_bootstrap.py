"""Two systems on one test set: is one better, or only better on these sentences?

Not in the paper. Paired bootstrap resampling (Koehn 2004, "Statistical Significance Tests for
Machine Translation Evaluation"): draw sentences with replacement, the same for both systems,
and look how the difference of their BLEU moves. Equal to sacreBLEU's `--paired-bs`.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from sacrebleu.metrics import BLEU

from transformer.support.errors import UserError

RESAMPLES = 1000
SEED = 12345  # sacreBLEU's own


class Comparison(NamedTuple):
    """What a paired bootstrap says of two systems.

    Attributes:
        difference: BLEU of the second less BLEU of the first, on all sentences, in points.
        low, high: The middle 95% of the differences over the resamples.
        p_value: How often chance alone would put the same system as far ahead, 0 to 1. One-sided,
            as sacreBLEU's is: about half of what a difference to either side would have, so that
            it may be under 0.05 where `low` to `high` holds 0.
    """

    difference: float
    low: float
    high: float
    p_value: float


def paired_bootstrap(
    first: Sequence[str], second: Sequence[str], references: Sequence[Sequence[str]]
) -> Comparison:
    """Compare two systems' translations of the same sentences by BLEU (13a).

    Args:
        first, second: Translations, in the order of the references.
        references: For each sentence its accepted translations, one or more.

    Returns:
        The same at each call: the resamples are drawn with a fixed seed.

    Raises:
        UserError: the numbers of sentences differ, or there is none.
    """
    if not len(first) == len(second) == len(references) or not references:
        raise UserError(
            f"{len(first)} and {len(second)} translations of {len(references)} sentences: give "
            "one of each system for every sentence"
        )
    counts = [_counts(said, references) for said in (first, second)]
    draws = np.random.default_rng(SEED).choice(len(references), (RESAMPLES, len(references)))
    a, b = ([_bleu(count[rows].sum(0)) for rows in draws] for count in counts)
    differences = np.array(b) - np.array(a)
    whole = [_bleu(count.sum(0)) for count in counts]
    spread = np.abs(differences) - np.abs(differences).mean()
    low, high = np.percentile(differences, (2.5, 97.5))
    return Comparison(
        difference=whole[1] - whole[0],
        low=float(low),
        high=float(high),
        # sacreBLEU has > in place of >=: there two equal systems have the smallest p of all
        p_value=float((np.sum(spread >= abs(whole[1] - whole[0])) + 1) / (RESAMPLES + 1)),
    )


def _counts(said: Sequence[str], references: Sequence[Sequence[str]]) -> np.ndarray:
    """Count what BLEU adds up, a row for each sentence: lengths, matches of 1 to 4 words, words."""
    metric = BLEU(effective_order=True)  # silences a warning about single sentences
    scores = [metric.sentence_score(*pair) for pair in zip(said, references, strict=True)]
    return np.array([[s.sys_len, s.ref_len, *s.counts, *s.totals] for s in scores])


def _bleu(counts: np.ndarray) -> float:
    """Give BLEU from the sums over a text: (10,) to points."""
    said, wanted, *grams = counts.tolist()
    return float(BLEU.compute_bleu(grams[:4], grams[4:], said, wanted, smooth_method="exp").score)
