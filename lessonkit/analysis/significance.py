"""How much of a difference between runs with several seeds may be chance.

Not in the paper, whose tables have one run a row. Intervals and p-values of few runs are by
Student's t (1908).
"""

import math
from collections.abc import Mapping, Sequence
from statistics import mean, stdev, variance
from typing import NamedTuple

from scipy import stats

from transformer.support.checks import check_number, check_numbers
from transformer.support.errors import require, short_repr
from transformer.support.signatures import check_argument_types

CONFIDENCE_LEVEL = 0.95  # of every interval in the course


class ConfidenceInterval(NamedTuple):
    """Where a figure lies, as far as the runs can tell, in the figure's unit."""

    low: float
    high: float


@check_argument_types
def difference_verdict(interval: ConfidenceInterval, worth: float) -> str:
    """Return what an interval of a difference shows: "higher", "lower", ...

    It is "no difference" if the interval lies within `worth`, the least worth having, to both
    sides, and "not shown" if none of these holds.
    """
    check_numbers("interval", interval, min_count=2)
    check_number("worth", worth, 0)
    low, high = interval[0], interval[-1]
    message = f"interval is {short_repr(interval)}: give two numbers, the lower end first"
    require(len(interval) == 2 and low <= high, message)
    if low > 0:
        return "higher"
    if high < 0:
        return "lower"
    return "no difference" if -worth < low and high < worth else "not shown"


@check_argument_types
def t_critical_value(degrees: float, level: float = CONFIDENCE_LEVEL) -> float:
    """Return how many standard errors an interval goes to either side: 4.30 for two degrees.

    Args:
        degrees: Degrees of freedom, 1 to infinity, which means the normal distribution.
        level: How much of Student's distribution lies inside, 0 to 0.999.
    """
    if degrees != math.inf:
        check_number("degrees", degrees, 1)
    check_number("level", level, 0, 0.999)
    return float(stats.t.ppf((1 + level) / 2, degrees))


@check_argument_types
def one_sided_t_test(runs: Sequence[float], goal: float) -> float:
    """Return the p-value of runs whose mean is to be above a goal (one-sided t-test)."""
    check_numbers("runs", runs, min_count=2)
    check_number("goal", goal)
    above = mean(runs) - goal
    error = stdev(runs) / math.sqrt(len(runs))
    if error == 0:
        return 0.5 if above == 0 else float(above < 0)
    return float(stats.t.sf(above / error, len(runs) - 1))


@check_argument_types
def mean_interval(runs: Sequence[float]) -> ConfidenceInterval:
    """Return the interval of a mean over seeds, of two runs or more."""
    check_numbers("runs", runs, min_count=2)
    half = t_critical_value(len(runs) - 1) * stdev(runs) / math.sqrt(len(runs))
    return ConfidenceInterval(mean(runs) - half, mean(runs) + half)


@check_argument_types
def difference_interval(base: Sequence[float], other: Sequence[float]) -> ConfidenceInterval:
    """Return the interval of how far `other` is above `base` (Welch; Satterthwaite 1947)."""
    difference, error, degrees = _difference_error_and_degrees(base, other)
    half = t_critical_value(degrees) * error if error else 0.0
    return ConfidenceInterval(difference - half, difference + half)


@check_argument_types
def difference_p_value(base: Sequence[float], other: Sequence[float]) -> float:
    """Return the p-value of that difference: how often chance alone puts means so far apart."""
    difference, error, degrees = _difference_error_and_degrees(base, other)
    if error == 0:
        return float(difference == 0)
    return float(2 * stats.t.sf(abs(difference) / error, degrees))


def _difference_error_and_degrees(
    base: Sequence[float], other: Sequence[float]
) -> tuple[float, float, float]:
    """Return the difference of two means, its standard error, and the degrees of freedom."""
    check_numbers("base", base, min_count=2)
    check_numbers("other", other, min_count=2)
    base_variance = variance(base) / len(base)
    other_variance = variance(other) / len(other)
    difference = mean(other) - mean(base)
    total = base_variance + other_variance
    if total == 0:
        return difference, 0.0, math.inf
    share = base_variance / total
    degrees = 1 / (share**2 / (len(base) - 1) + (1 - share) ** 2 / (len(other) - 1))
    return difference, math.sqrt(total), degrees


@check_argument_types
def margin_of_error(scores: Mapping[str, Sequence[float]], runs: int) -> float:
    """Return half the interval of a difference of two means of so many runs, if all vary alike.

    `scores` are the runs of each variant, whose pooled variance says how much one run varies.
    """
    check_number("runs", runs, 1, integer=True)
    require(
        isinstance(scores, Mapping), f"scores are {short_repr(scores)}: give each variant's runs"
    )
    for name, variant_runs in scores.items():
        check_numbers(f"runs of {short_repr(name)}", variant_runs, min_count=0)
    repeated = [variant_runs for variant_runs in scores.values() if len(variant_runs) > 1]
    require(bool(repeated), "no variant has two runs: the spread of one cannot be told; add seeds")
    degrees = sum(len(variant_runs) - 1 for variant_runs in repeated)
    squares = sum(variance(variant_runs) * (len(variant_runs) - 1) for variant_runs in repeated)
    return t_critical_value(degrees) * math.sqrt(squares / degrees) * math.sqrt(2 / runs)


@check_argument_types
def holm_adjusted_p_values(p_values: Sequence[float]) -> list[float]:
    """Adjust the p-values of comparisons made together (Holm 1979), in their order, 0 to 1.

    Of m comparisons the smallest p-value is multiplied by m, the next by m - 1, and so on. If all
    that are at 0.05 or less are reported, one or more is false in at most 5 of 100 such families.
    """
    for p_value in p_values:
        check_number("one of p_values", p_value, 0, 1)
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted
