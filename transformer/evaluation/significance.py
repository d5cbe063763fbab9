"""How much of a difference between two variants may be chance: runs with several seeds.

Not in the paper, whose Table 3 has one run a row. With three runs a variant's own spread says
little; that of all variants together says more, if each varies about as much as another.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import variance

from transformer.support.errors import UserError


def pooled_deviation(scores: Mapping[str, Sequence[float]]) -> float:
    """Give the standard deviation of a single run, from the spread within every variant.

    Args:
        scores: The figures of each variant's runs.

    Returns:
        In the figures' unit.

    Raises:
        UserError: no variant has two runs.
    """
    several = [runs for runs in scores.values() if len(runs) > 1]
    if not several:
        raise UserError("no variant has two runs: the spread of one cannot be told; add seeds")
    squares = sum(variance(runs) * (len(runs) - 1) for runs in several)
    return math.sqrt(squares / sum(len(runs) - 1 for runs in several))


def margin(scores: Mapping[str, Sequence[float]], runs: int) -> float:
    """Give two standard errors of the difference between two means: about a 95% interval.

    Two variants whose means are nearer than this may well be equal.

    Args:
        scores: The figures of each variant's runs, for the spread.
        runs: How many runs each of the two means is of.

    Raises:
        UserError: no variant has two runs, or `runs` is under 1.
    """
    if runs < 1:
        raise UserError(f"runs is {runs}: a mean is of one run or more")
    return 2 * pooled_deviation(scores) * math.sqrt(2 / runs)
