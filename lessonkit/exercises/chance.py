"""The exercises of lesson 09, in its order: resampled sentences, swapped translations, runs.

Not in the paper: Koehn (2004), "Statistical Significance Tests for Machine Translation Evaluation";
Riezler and Maxwell (2005), "On Some Pitfalls in Automatic Evaluation"; Student (1908).
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from lessonkit.exercises.exercise import Exercise
from lessonkit.exercises.progress_table import show_progress as show_progress
from lessonkit.exercises.random_tensors import seeded_generator
from lessonkit.exercises.toys import BaseToy
from lessonkit.exercises.without_torch.chance import (
    difference_standard_error as difference_standard_error,
)
from lessonkit.exercises.without_torch.chance import lesson_wording
from lessonkit.exercises.without_torch.chance import seed_interval as seed_interval
from lessonkit.exercises.without_torch.chance import sign_flip_p_value as sign_flip_p_value

ScoreFromSums = Callable[[Tensor], float]
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
