"""An exercise of lesson 11: the standard error of a difference."""

import math
import statistics

from lessonkit.exercises.asking import read_words
from lessonkit.exercises.check import Exercise

words = read_words("11")


def my_standard_error(first: list[float], second: list[float]) -> float:
    """Give the standard error of the difference of two means."""
    squared = 0.0
    for runs in (first, second):
        squared += statistics.variance(runs) / len(runs)
    return math.sqrt(squared)


def of_one_run(first: list[float], second: list[float]) -> float:
    """Give the spread of a single run's difference."""
    return math.sqrt(statistics.variance(first) + statistics.variance(second))


def added(first: list[float], second: list[float]) -> float:
    """Add the two standard errors."""
    return math.sqrt(statistics.variance(first) / len(first)) + math.sqrt(
        statistics.variance(second) / len(second)
    )


def no_root(first: list[float], second: list[float]) -> float:
    """Give the variance of the difference."""
    return my_standard_error(first, second) ** 2


def of_the_population(first: list[float], second: list[float]) -> float:
    """Divide the squares by n, as if the mean were known."""
    total = 0.0
    for runs in (first, second):
        squares = sum((run - statistics.fmean(runs)) ** 2 for run in runs)
        total += squares / len(runs) ** 2
    return math.sqrt(total)


def subtracted(first: list[float], second: list[float]) -> float:
    """Subtract the variances, as the means are subtracted."""
    return math.sqrt(
        abs(statistics.variance(first) / len(first) - statistics.variance(second) / len(second))
    )


def one_spread(first: list[float], second: list[float]) -> float:
    """Take one spread for both, from all runs together."""
    n, m = len(first), len(second)
    squares = (n - 1) * statistics.variance(first) + (m - 1) * statistics.variance(second)
    return math.sqrt(squares / (n + m - 2) * (1 / n + 1 / m))


def one_number_of_runs(first: list[float], second: list[float]) -> float:
    """Take the mean variance, and as many runs of the second as of the first."""
    variance = (statistics.variance(first) + statistics.variance(second)) / 2
    return math.sqrt(variance * 2 / len(first))


def _by_sums(first: list[float], second: list[float]) -> float:
    """The same from sums and sums of squares."""
    squared = 0.0
    for runs in (first, second):
        n, total = len(runs), math.fsum(runs)
        spread = math.fsum(run * run for run in runs) - total * total / n
        squared += spread / (n - 1) / n
    return math.sqrt(squared)


standard_error = Exercise(
    my_standard_error,
    words,
    worked=[
        (([1.0, 3.0], [5.0, 5.0]), 1.0),  # variances 2 and 0
        (([1.0, 2.0, 3.0], [4.0, 6.0, 8.0]), math.sqrt(1 / 3 + 4 / 3)),
    ],
    cases=[
        ([1.0, 2.0], [1.0, 3.0]),
        ([25.8, 25.1, 26.3], [24.9, 25.5, 24.0]),
        ([3.0, 7.0, 5.0, 9.0], [1.0, 2.0]),
        ([1.0, 2.0], [3.0, 4.0, 8.0]),
        ([90.1, 90.4, 89.7], [90.1, 90.4, 89.7]),
    ],
    expected=_by_sums,
    wrong={
        "of_one_run": of_one_run,
        "added": added,
        "no_root": no_root,
        "of_the_population": of_the_population,
        "one_spread": one_spread,
        "one_number_of_runs": one_number_of_runs,
        "subtracted": subtracted,
    },
)
