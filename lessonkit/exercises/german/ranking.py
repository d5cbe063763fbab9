"""An exercise of lesson 07: the best of several hypotheses under the length penalty."""

import itertools
import math
from typing import Any

from lessonkit.exercises.asking import read_words
from lessonkit.exercises.check import Exercise

words = read_words("07")


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
    return my_best_hypothesis(hypotheses, 0.0)


def multiplied(hypotheses: list[tuple[float, int]], alpha: float) -> int:
    """Multiply by the penalty, which favours short sentences even more."""
    return my_best_hypothesis(hypotheses, -alpha)


def plain_length(hypotheses: list[tuple[float, int]], alpha: float) -> int:
    """Divide by a power of the length itself."""
    return _best(log_prob / length**alpha for log_prob, length in hypotheses)


def without_brackets(hypotheses: list[tuple[float, int]], alpha: float) -> int:
    """Divide the length by 6 alone, so that it hardly counts."""
    return _best(log_prob / (5 + length / 6) ** alpha for log_prob, length in hypotheses)


def always_in_full(hypotheses: list[tuple[float, int]], alpha: float) -> int:
    """Divide by the penalty whatever alpha is."""
    return my_best_hypothesis(hypotheses, 1.0)


def per_token(hypotheses: list[tuple[float, int]], alpha: float) -> int:
    """Take the mean per token, with no regard to alpha."""
    return _best(log_prob / length for log_prob, length in hypotheses)


def takes_the_worst(hypotheses: list[tuple[float, int]], alpha: float) -> int:
    """Take the smallest score for the best, as if they were losses."""
    return my_best_hypothesis([(-log_prob, length) for log_prob, length in hypotheses], alpha)


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
    close = [(-1.0, 1), (-3.8, 19)], [(-1.0, 1), (-4.2, 19)]  # 4 or 6 for 5 would tell otherwise
    return [*cases, *((list(pair), 1.0) for pair in close)]


best_hypothesis = Exercise(
    my_best_hypothesis,
    words,
    worked=[
        (([(-2.0, 1), (-3.0, 7)], 1.0), 1),  # -2 against -3 / 2
        (([(-2.0, 1), (-3.0, 7)], 0.0), 0),  # -2 against -3
    ],
    cases=_hypotheses(),
    expected=_by_costs,
    wrong={
        "no_penalty": no_penalty,
        "multiplied": multiplied,
        "plain_length": plain_length,
        "without_brackets": without_brackets,
        "always_in_full": always_in_full,
        "per_token": per_token,
        "takes_the_worst": takes_the_worst,
    },
)
