"""The exercises of lesson 09, in its order: resampled sentences, swapped translations, runs.

Not in the paper: Koehn (2004), "Statistical Significance Tests for Machine Translation Evaluation";
Riezler and Maxwell (2005), "On Some Pitfalls in Automatic Evaluation"; Student (1908).
"""

import itertools
import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from lessonkit.analysis.significance import t_critical_value
from lessonkit.exercises.exercise import Exercise
from lessonkit.exercises.progress_table import show_progress as show_progress
from lessonkit.exercises.toys import BaseToy, seeded_generator
from lessonkit.exercises.wording import read_lesson_wording

ScoreFromSums = Callable[[Tensor], float]

lesson_wording = read_lesson_wording("09")
earlier_lessons_quiz = lesson_wording.earlier_lessons_quiz()
seven_points_significant = lesson_wording.prediction("seven_points_significant")
bootstrap_false_positives = lesson_wording.prediction("bootstrap_false_positives")
power_for_one_point = lesson_wording.prediction("power_for_one_point")


@dataclass(repr=False)
class RatioOfSumsScorer(BaseToy):
    """A toy score of a text: the sum of what is right, over the sum of all, in points."""

    def __call__(self, sums: Tensor) -> float:
        """Score two sums, (2,)."""
        right, whole = sums.tolist()
        return float(100 * right / whole)


def my_paired_bootstrap(
    first: Tensor, second: Tensor, draws: Tensor, score: ScoreFromSums
) -> list[float]:
    """Return how far the second is ahead in each draw of sentences."""
    differences = []
    for rows in draws:
        one, other = first[rows].sum(0), second[rows].sum(0)
        differences.append(score(other) - score(one))
    return differences


def _paired_bootstrap_case(
    sentences: int, number: int
) -> tuple[Tensor, Tensor, Tensor, RatioOfSumsScorer]:
    """Two systems on some sentences, and as many draws as there are sentences."""
    generator = seeded_generator(10 * sentences + number)
    whole = torch.randint(1, 9, (2, sentences), generator=generator)
    right = (whole * torch.rand(2, sentences, generator=generator)).long()
    draws = torch.randint(sentences, (sentences, sentences), generator=generator)
    counts = torch.stack((right, whole), dim=-1)  # (systems, sentences, 2)
    return counts[0], counts[1], draws, RatioOfSumsScorer()


_ALONE, _BOTH = torch.tensor([[1, 2], [0, 2]]), torch.tensor([[1, 2], [2, 2]])
_RESAMPLED_SENTENCE_INDICES = torch.tensor([[0, 1], [1, 1], [0, 0]])

paired_bootstrap = Exercise(
    my_paired_bootstrap,
    lesson_wording,
    worked=[
        # of 4 words 3 right and 1; 4 and 0; of the first sentence alone both have half
        ((_ALONE, _BOTH, _RESAMPLED_SENTENCE_INDICES, RatioOfSumsScorer()), [50.0, 100.0, 0.0]),
        ((_ALONE, _ALONE, _RESAMPLED_SENTENCE_INDICES, RatioOfSumsScorer()), [0.0, 0.0, 0.0]),
    ],
    cases=[
        _paired_bootstrap_case(sentences, number) for sentences in (2, 3, 5) for number in range(4)
    ],
    # how often each sentence is drawn, times its counts
    expected=lambda first, second, draws, score: [
        score(often @ second) - score(often @ first)
        for often in (torch.bincount(rows, minlength=len(first)) for rows in draws)
    ],
)


def my_swapped_differences(
    first: Tensor, second: Tensor, coins: Tensor, score: ScoreFromSums
) -> list[float]:
    """Return how far the second is ahead after each exchange."""
    differences = []
    for is_exchanged in coins:
        one = torch.where(is_exchanged[:, None], second, first)
        other = torch.where(is_exchanged[:, None], first, second)
        differences.append(score(other.sum(0)) - score(one.sum(0)))
    return differences


def _swapped_differences_case(
    sentences: int, number: int
) -> tuple[Tensor, Tensor, Tensor, RatioOfSumsScorer]:
    """Two systems on some sentences, and three rows of coins more than there are sentences."""
    first, second, _, score = _paired_bootstrap_case(sentences, number)
    generator = seeded_generator(100 * sentences + number)
    coins = torch.randint(2, (sentences + 3, sentences), generator=generator).bool()
    return first, second, coins, score


_EXCHANGE_MASKS = torch.tensor([[False, False], [True, True], [True, False]])

swapped_differences = Exercise(
    my_swapped_differences,
    lesson_wording,
    worked=[
        # of 4 words 1 right and 3; then 3 and 1; the first sentences are alike
        ((_ALONE, _BOTH, _EXCHANGE_MASKS, RatioOfSumsScorer()), [50.0, -50.0, 50.0]),
        ((_ALONE, _ALONE, _EXCHANGE_MASKS, RatioOfSumsScorer()), [0.0, 0.0, 0.0]),
    ],
    cases=[
        _swapped_differences_case(sentences, number)
        for sentences in (2, 3, 5)
        for number in range(4)
    ],
    # what changes sides, taken from one sum and added to the other
    expected=lambda first, second, coins, score: [
        score(second.sum(0) - moved) - score(first.sum(0) + moved)
        for moved in coins.long() @ (second - first)
    ],
)


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
        *(
            (runs, round(t_critical_value(len(runs) - 1), 3))
            for runs in (
                [42.2, 42.46, 41.33],
                [90.1, 88.9, 91.4, 89.9],
                [30.0, 31.0, 29.5, 30.5, 32.0],
            )
        ),
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
