"""How much of a difference may be chance: two systems on one text, runs with several seeds.

Not in the paper, whose tables have one run a row. On one text: paired bootstrap resampling (Koehn
2004). Of few runs: intervals by Student's t (1908).
"""

import math
from collections.abc import Mapping, Sequence
from statistics import mean, stdev, variance
from typing import NamedTuple

import numpy as np
from sacrebleu.metrics import BLEU

from transformer.evaluation.scores import check_hypotheses
from transformer.support.checks import check_number, check_numbers
from transformer.support.errors import require, short_repr

LEVEL = 0.95  # of every interval in the course
RESAMPLES = 1000
SEED = 12345  # sacreBLEU's own


class Comparison(NamedTuple):
    """What a paired bootstrap says of two systems."""

    difference: float  # BLEU of the second less BLEU of the first, on all sentences, in points
    low: float  # of the middle 95% of the differences over the resamples
    high: float
    p_value: float  # how often chance alone would put a system as far ahead; one-sided, 0 to 1


def paired_bootstrap(
    first: Sequence[str], second: Sequence[str], references: Sequence[Sequence[str]]
) -> Comparison:
    """Compare two systems' translations of the same sentences by BLEU (13a), as sacreBLEU does.

    `references` hold for each sentence its accepted translations. The seed is fixed.
    """
    counts = [sentence_counts(said, references) for said in (first, second)]
    draws = np.random.default_rng(SEED).choice(len(references), (RESAMPLES, len(references)))
    a, b = (np.array([bleu_of_counts(count[rows].sum(0)) for rows in draws]) for count in counts)
    difference = bleu_of_counts(counts[1].sum(0)) - bleu_of_counts(counts[0].sum(0))
    spread = np.abs(b - a) - np.abs(b - a).mean()
    # sacreBLEU has > in place of >=: there two equal systems have the smallest p of all
    p_value = (np.sum(spread >= abs(difference)) + 1) / (RESAMPLES + 1)
    low, high = np.percentile(b - a, (2.5, 97.5))
    return Comparison(difference, float(low), float(high), float(p_value))


def sentence_counts(said: Sequence[str], references: Sequence[Sequence[str]]) -> np.ndarray:
    """Count what BLEU (13a) adds up, (sentences, 10): lengths, matches of 1 to 4 words, all."""
    check_hypotheses(said, references)
    metric = BLEU(effective_order=True)  # silences a warning about single sentences
    scores = [metric.sentence_score(*pair) for pair in zip(said, references, strict=True)]
    return np.array([[s.sys_len, s.ref_len, *s.counts, *s.totals] for s in scores])


def bleu_of_counts(counts: np.ndarray) -> float:
    """Give BLEU in points from the sums of `sentence_counts` over a text, (10,)."""
    said, wanted, *grams = counts.tolist()
    return float(BLEU.compute_bleu(grams[:4], grams[4:], said, wanted, smooth_method="exp").score)


class Interval(NamedTuple):
    """Where a figure lies, as far as the runs can tell, in the figure's unit."""

    low: float
    high: float


def verdict(interval: Interval, worth: float) -> str:
    """Say what an interval of a difference shows: "higher", "lower", ...

    "no difference" where it lies within `worth`, the least worth having, to both sides.
    """
    check_numbers("interval", interval, min_count=2)
    check_number("worth", worth, 0)
    low, high = interval[0], interval[-1]
    message = f"interval is {short_repr(interval)}: give two numbers, the lower end first"
    require(len(interval) == 2 and low <= high, message)
    if low > 0 or high < 0:
        return "higher" if low > 0 else "lower"
    return "no difference" if -worth < low and high < worth else "not shown"


def student_t(degrees: float, level: float = LEVEL) -> float:
    """Give how many standard errors to go to either side: 4.30 for two degrees of freedom.

    Degrees are 1 to infinity, which means the normal distribution; the level is 0 to 0.999.
    """
    if not (isinstance(degrees, float) and degrees == math.inf):
        check_number("degrees", degrees, 1)
    check_number("level", level, 0, 0.999)
    low, high = 0.0, 1.0
    while _within(high, degrees) < level:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, degrees) < level else (low, middle)
    return high


def _within(factor: float, degrees: float) -> float:
    """Give the probability that t lies within so many standard errors, by Simpson's rule.

    In the angle whose tangent is t / sqrt(degrees) the density is a power of the cosine, and next
    to nothing beyond 12 / sqrt(degrees).
    """
    if degrees > 1e6:  # as good as normal
        return math.erf(factor / math.sqrt(2))
    end, pieces = min(math.atan(factor / math.sqrt(degrees)), 12 / math.sqrt(degrees)), 400
    heights = np.cos(np.linspace(0, end, pieces + 1)) ** (degrees - 1)
    area = heights[0] + heights[-1] + 4 * heights[1:-1:2].sum() + 2 * heights[2:-1:2].sum()
    scale = math.exp(math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2))
    return min(1.0, float(2 * area * end / pieces / 3 * scale / math.sqrt(math.pi)))


def chance_of(runs: Sequence[float], goal: float) -> float:
    """Give the p-value of runs whose mean is to be above a goal (one-sided t-test)."""
    check_numbers("runs", runs, min_count=2)
    check_number("goal", goal)
    above = mean(runs) - goal
    error = stdev(runs) / math.sqrt(len(runs))
    if error == 0:
        return 0.5 if above == 0 else float(above < 0)
    tail = (1 - _within(abs(above) / error, len(runs) - 1)) / 2
    return tail if above > 0 else 1 - tail


def mean_interval(runs: Sequence[float]) -> Interval:
    """Give the interval of a mean over seeds, of two runs or more."""
    check_numbers("runs", runs, min_count=2)
    half = student_t(len(runs) - 1) * stdev(runs) / math.sqrt(len(runs))
    return Interval(mean(runs) - half, mean(runs) + half)


def difference_interval(base: Sequence[float], other: Sequence[float]) -> Interval:
    """Give the interval of how far `other` is above `base` (Welch; Satterthwaite 1947)."""
    difference, error, degrees = _welch(base, other)
    half = student_t(degrees) * error if error else 0.0
    return Interval(difference - half, difference + half)


def difference_p(base: Sequence[float], other: Sequence[float]) -> float:
    """Give the p-value of that difference: how often chance alone puts two means so far apart."""
    difference, error, degrees = _welch(base, other)
    if error == 0:
        return float(difference == 0)
    return 1 - _within(abs(difference) / error, degrees)


def _welch(base: Sequence[float], other: Sequence[float]) -> tuple[float, float, float]:
    """Give the difference of two means, its standard error, and the degrees of freedom."""
    check_numbers("base", base, min_count=2)
    check_numbers("other", other, min_count=2)
    a, b = variance(base) / len(base), variance(other) / len(other)
    difference = mean(other) - mean(base)
    if a + b == 0:
        return difference, 0.0, math.inf
    share = a / (a + b)
    degrees = 1 / (share**2 / (len(base) - 1) + (1 - share) ** 2 / (len(other) - 1))
    return difference, math.sqrt(a + b), degrees


def margin(scores: Mapping[str, Sequence[float]], runs: int) -> float:
    """Give half the interval of a difference of two means of so many runs, if all vary alike.

    `scores` are the runs of each variant, whose pooled variance says how much one run varies.
    """
    check_number("runs", runs, 1, integer=True)
    require(
        isinstance(scores, Mapping), f"scores are {short_repr(scores)}: give each variant's runs"
    )
    for name, of_one in scores.items():
        check_numbers(f"runs of {short_repr(name)}", of_one, min_count=0)
    several = [of_one for of_one in scores.values() if len(of_one) > 1]
    require(bool(several), "no variant has two runs: the spread of one cannot be told; add seeds")
    degrees = sum(len(of_one) - 1 for of_one in several)
    squares = sum(variance(of_one) * (len(of_one) - 1) for of_one in several)
    return student_t(degrees) * math.sqrt(squares / degrees) * math.sqrt(2 / runs)
