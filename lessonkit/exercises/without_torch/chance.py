"""Exercises of lesson 09 that need no PyTorch: intervals and a p-value over training runs."""

import itertools
import math
import statistics

from lessonkit.exercises.exercise import Exercise
from lessonkit.exercises.wording import read_lesson_wording

lesson_wording = read_lesson_wording("09")


def my_seed_interval(runs: list[float], factor: float) -> tuple[float, float]:
    """Return the mean less and plus `factor` times its standard error."""
    error = statistics.stdev(runs) / math.sqrt(len(runs))
    middle = statistics.mean(runs)
    return middle - factor * error, middle + factor * error


def _seed_interval_by_sums_of_squares(runs: list[float], factor: float) -> tuple[float, float]:
    """Return the same, from the sum of the runs and that of their squares."""
    n, total = len(runs), math.fsum(runs)
    squares = math.fsum(run * run for run in runs) - total * total / n
    half = factor * math.sqrt(squares / (n - 1) / n)
    return total / n - half, total / n + half


seed_interval = Exercise(
    my_seed_interval,
    lesson_wording,
    worked=[
        (([1.0, 3.0], 2.0), (0.0, 4.0)),  # deviation root 2, standard error 1
        (([5.0, 5.0, 5.0], 4.3), (5.0, 5.0)),
    ],
    cases=[
        ([1.0, 2.0], 1.0),
        ([2.0, 4.0, 6.0], 1.0),
        # Student's t at 95%, for 2, 3 and 4 degrees of freedom
        ([42.2, 42.46, 41.33], 4.303),
        ([90.1, 88.9, 91.4, 89.9], 3.182),
        ([30.0, 31.0, 29.5, 30.5, 32.0], 2.776),
    ],
    expected=_seed_interval_by_sums_of_squares,
)


def my_difference_standard_error(first: list[float], second: list[float]) -> float:
    """Return the standard error of the difference of two means."""
    squared = 0.0
    for runs in (first, second):
        squared += statistics.variance(runs) / len(runs)
    return math.sqrt(squared)


def _difference_error_by_half_widths(first: list[float], second: list[float]) -> float:
    """Join the half widths of both means' intervals, at one standard error."""
    low, high = _seed_interval_by_sums_of_squares(first, 1.0)
    other_low, other_high = _seed_interval_by_sums_of_squares(second, 1.0)
    return math.hypot((high - low) / 2, (other_high - other_low) / 2)


difference_standard_error = Exercise(
    my_difference_standard_error,
    lesson_wording,
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
    expected=_difference_error_by_half_widths,
)


def my_sign_flip_p_value(differences: list[int]) -> float:
    """Return the p-value of paired differences, by all choices of signs."""
    measured = abs(sum(differences))
    as_far = 0
    for signs in itertools.product((1, -1), repeat=len(differences)):
        pairs = zip(signs, differences, strict=True)
        flipped = sum(sign * difference for sign, difference in pairs)
        as_far += abs(flipped) >= measured
    return as_far / 2 ** len(differences)


def _sums_under_all_sign_flips(differences: list[int]) -> list[int]:
    """Return the sum under every choice of signs, one difference after the other."""
    sums = [0]
    for difference in differences:
        sums = [total + step for total in sums for step in (difference, -difference)]
    return sums


sign_flip_p_value = Exercise(
    my_sign_flip_p_value,
    lesson_wording,
    worked=[
        (([1, 2],), 0.5),  # sums 3, -1, 1, -3: two of four are as far from 0 as 3
        (([1, -2],), 1.0),  # all are as far as -1
        (([0, 5],), 1.0),
        (([1, 1, 1],), 0.25),
    ],
    cases=[(list(each),) for n in (1, 2, 3) for each in itertools.product((-2, 0, 1, 3), repeat=n)]
    + [([4, 1, -2, 3, 3],), ([1, 2, 3, 4, 5, -6],), ([2, 2, 2, 1, -1, 2],)],
    expected=lambda differences: float(
        statistics.mean(
            abs(each) >= abs(sum(differences)) for each in _sums_under_all_sign_flips(differences)
        )
    ),
)
