"""An exercise of lesson 07: the best of several hypotheses under the length penalty."""

import itertools
import math
from typing import Any

from transformer.exercises.check import Exercise, Wrong


def my_best_hypothesis(hypotheses: list[tuple[float, int]], alpha: float) -> int:
    """Give the place of the best under the length penalty."""
    scores = []
    for log_prob, length in hypotheses:
        scores.append(log_prob / ((5 + length) / 6) ** alpha)
    return scores.index(max(scores))


def _best(scores: Any) -> int:
    scores = list(scores)
    return scores.index(max(scores))


def no_penalty(hypotheses: list[tuple[float, int]], alpha: float) -> int:
    """Take the most probable, whatever its length."""
    return _best(log_prob for log_prob, _ in hypotheses)


def multiplied(hypotheses: list[tuple[float, int]], alpha: float) -> int:
    """Multiply by the penalty, which favours short sentences even more."""
    return _best(log_prob * ((5 + length) / 6) ** alpha for log_prob, length in hypotheses)


def plain_length(hypotheses: list[tuple[float, int]], alpha: float) -> int:
    """Divide by a power of the length itself."""
    return _best(log_prob / length**alpha for log_prob, length in hypotheses)


def per_token(hypotheses: list[tuple[float, int]], alpha: float) -> int:
    """Take the mean per token, with no regard to alpha."""
    return _best(log_prob / length for log_prob, length in hypotheses)


def takes_the_worst(hypotheses: list[tuple[float, int]], alpha: float) -> int:
    """Take the smallest score for the best, as if they were losses."""
    return _best(-log_prob / ((5 + length) / 6) ** alpha for log_prob, length in hypotheses)


def _costs(hypotheses: list[tuple[float, int]], alpha: float) -> list[float]:
    """Measure each by the logarithm of its penalised loss: a difference, with no power."""
    return [
        math.log(-log_prob) - alpha * math.log1p((length - 1) / 6)
        for log_prob, length in hypotheses
    ]


def _by_costs(hypotheses: list[tuple[float, int]], alpha: float) -> int:
    costs = _costs(hypotheses, alpha)
    return costs.index(min(costs))


def _hypotheses() -> list[tuple[list[tuple[float, int]], float]]:
    """Pairs and triples of hypotheses of which one is clearly the best."""
    each = [(-1.0, 1), (-2.0, 2), (-2.0, 4), (-3.0, 4), (-3.0, 7), (-4.0, 9), (-6.0, 19)]
    chosen = [list(pair) for pair in itertools.permutations(each, 2)]
    chosen += [list(triple) for triple in itertools.permutations(each[1:5], 3)]
    cases = []
    for hypotheses, alpha in itertools.product(chosen, (0.0, 0.6, 1.0)):
        costs = sorted(_costs(hypotheses, alpha))
        if costs[1] - costs[0] > 0.02:
            cases.append((hypotheses, alpha))
    return cases


best_hypothesis = Exercise(
    my_best_hypothesis,
    minutes=10,
    difficulty="medium",
    hints=(
        "Every log probability is negative, and each further token makes it more so. The "
        "penalty has to bring long sentences nearer to zero.",
        "The score is the log probability divided by ((5 + length) / 6) ** alpha.",
        "Make the list of scores; the answer is scores.index(max(scores)).",
    ),
    worked=[
        (([(-2.0, 1), (-3.0, 7)], 1.0), 1),  # -2 against -3 / 2
        (([(-2.0, 1), (-3.0, 7)], 0.0), 0),  # -2 against -3
    ],
    cases=_hypotheses(),
    expected=_by_costs,
    wrong=[
        Wrong(
            no_penalty,
            "This is the most probable one; alpha changes nothing. Short sentences win that "
            "way, for each token costs: where does the length come in?",
        ),
        Wrong(
            multiplied,
            "Log probabilities are negative: multiplied by the penalty, long sentences sink "
            "further. It belongs under the fraction bar.",
        ),
        Wrong(
            plain_length,
            "You divide by length ** alpha. Wu et al. put (5 + length) / 6 in its place, "
            "which treats short sentences less harshly.",
        ),
        Wrong(
            per_token,
            "This is the mean per token, whatever alpha is. With alpha 0 there must be no "
            "penalty at all.",
        ),
        Wrong(
            takes_the_worst,
            "You choose the lowest score. These are log probabilities, not losses: the one "
            "nearest to zero is the best.",
        ),
    ],
)
