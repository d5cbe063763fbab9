"""The gaps and the exercise of lesson 10: an average, pairs kept, and what to average.

`SquaredDistanceFromBestWeights` is its toy.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, tensor

from lessonkit.exercises.exercise import Exercise
from lessonkit.exercises.progress_table import show_progress as show_progress
from lessonkit.exercises.random_tensors import make_normal_sampler
from lessonkit.exercises.toys import BaseToy
from lessonkit.exercises.without_torch.german import lesson_wording
from lessonkit.exercises.without_torch.german import minimal_pairs_kept as minimal_pairs_kept

StateDict = dict[str, Tensor]
earlier_lessons_quiz = lesson_wording.earlier_lessons_quiz()
ablations_beyond_chance = lesson_wording.prediction("ablations_beyond_chance")
whole_word_perplexity_rank = lesson_wording.prediction("whole_word_perplexity_rank")
negation_pairs_right = lesson_wording.prediction("negation_pairs_right")


def my_average_checkpoints(states: list[StateDict]) -> StateDict:
    """Average the weights of checkpoints, name by name."""
    mean = {}
    for name in states[0]:
        tensors = [state[name] for state in states]
        mean[name] = torch.stack(tensors).mean(dim=0)
    return mean


def _average_checkpoints_cases() -> list[tuple[list[StateDict]]]:
    draw = make_normal_sampler(0)
    one, two, three = (tensor([number]) for number in (1.0, 3.0, 8.0))
    small = [[{"w": one}], [{"w": one}, {"w": two}], [{"w": one}, {"w": two}, {"w": three}]]
    wide = [{"w": tensor([1.0, 2.0])}, {"w": tensor([3.0, 6.0])}]
    turned = [{"a": one, "b": two}, {"b": three, "a": one}]
    shapes = {"bias": (5,), "weight": (2, 3)}
    large = [{name: draw(*shape) for name, shape in shapes.items()} for _ in range(4)]
    return [(states,) for states in [*small, wide, turned, large]]


average_checkpoints = Exercise(
    my_average_checkpoints,
    lesson_wording,
    worked=[(([{"w": tensor([2.0])}, {"w": tensor([6.0])}],), {"w": tensor([4.0])})],
    cases=_average_checkpoints_cases(),
    expected=lambda states: {
        name: sum(state[name] for state in states) / len(states) for name in states[0]
    },
)


@dataclass(repr=False)
class SquaredDistanceFromBestWeights(BaseToy):
    """A toy loss: how far the weights "w" of a state are from the best."""

    best: list[float]

    def __call__(self, state: StateDict) -> float:
        """Return the sum of the squares, to three digits, so that rounding decides nothing."""
        return round(float((state["w"] - tensor(self.best)).square().sum()), 3)


def my_choose_checkpoints(
    states: list[StateDict], loss_of: Callable[[StateDict], float]
) -> list[int]:
    """Return the places of the checkpoints to average, from the last back."""
    chosen = [len(states) - 1]
    best = loss_of(states[-1])
    for place in reversed(range(len(states) - 1)):
        tried = [place, *chosen]
        mean = {}
        for name in states[0]:
            tensors = [states[i][name] for i in tried]
            mean[name] = torch.stack(tensors).mean(dim=0)
        if loss_of(mean) < best:
            chosen, best = tried, loss_of(mean)
    return chosen


def _checkpoints_chosen_by_running_mean(
    states: list[StateDict], loss_of: SquaredDistanceFromBestWeights
) -> list[int]:
    """Move the mean by its distance from each checkpoint, and move it back."""
    chosen, mean = [len(states) - 1], states[-1]["w"]
    for place in range(len(states) - 2, -1, -1):
        moved = mean + (states[place]["w"] - mean) / (len(chosen) + 1)
        if loss_of({"w": moved}) < loss_of({"w": mean}):
            chosen, mean = sorted([place, *chosen]), moved
    return chosen


def _chosen_checkpoints_cases() -> list[tuple[list[StateDict], SquaredDistanceFromBestWeights]]:

    def run(*weights: float) -> list[StateDict]:
        return [{"w": tensor([each])} for each in weights]

    lines = [(1.0,), (0.0, 1.0), (3.0, 1.0), (1.0, -1.0), (2.0, -1.0, 1.0), (4.0, 1.0, -1.0)]
    lines += [(-1.0, 5.0, 1.0), (1.0, 2.0, 4.0, -2.0), (0.5, -3.0, 2.0, 1.0), (-2.0, 2.0, 5.0, 1.0)]
    lines += [(-1.0, 3.0, -2.0, 2.0, 1.0), (6.0, -3.0, 3.0, -1.0, 0.5)]
    cases = [
        (run(*line), SquaredDistanceFromBestWeights([best]))
        for line in lines
        for best in (0.0, 1.5)
    ]
    draw = make_normal_sampler(5)
    for _ in range(6):
        states = [{"b": draw(1), "w": draw(2)} for _ in range(5)]
        cases.append((states, SquaredDistanceFromBestWeights([0.0, 0.0])))
    return cases


_UP, _DOWN = {"w": tensor([1.0])}, {"w": tensor([-1.0])}
choose_checkpoints = Exercise(
    my_choose_checkpoints,
    lesson_wording,
    worked=[
        (([_UP, _DOWN], SquaredDistanceFromBestWeights([0.0])), [0, 1]),  # their mean is 0
        (([_UP, _DOWN], SquaredDistanceFromBestWeights([-1.0])), [1]),  # the last one alone is best
        (
            ([_UP, _UP, _DOWN], SquaredDistanceFromBestWeights([0.0])),
            [1, 2],
        ),  # a third would be too many
    ],
    cases=_chosen_checkpoints_cases(),
    expected=_checkpoints_chosen_by_running_mean,
)
