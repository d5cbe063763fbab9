"""An exercise of lesson 07: the average of checkpoints."""

import torch
from torch import Tensor
from torch.optim.swa_utils import get_swa_avg_fn

from lessonkit.exercises.asking import read_words
from lessonkit.exercises.check import Exercise

words = read_words("07")

State = dict[str, Tensor]


def my_average(states: list[State]) -> State:
    """Average the weights of checkpoints, name by name."""
    mean = {}
    for name in states[0]:
        tensors = [state[name] for state in states]
        mean[name] = torch.stack(tensors).mean(dim=0)
    return mean


def sum_of_all(states: list[State]) -> State:
    """Forget to divide."""
    return {name: len(states) * mean for name, mean in my_average(states).items()}


def one_number_each(states: list[State]) -> State:
    """Average over a tensor's own numbers as well."""
    return {name: mean.mean() for name, mean in my_average(states).items()}


def half_and_half(states: list[State]) -> State:
    """Meet each further checkpoint in the middle, so that the last one weighs a half."""
    mean = dict(states[0])
    for state in states[1:]:
        mean = {name: (mean[name] + state[name]) / 2 for name in mean}
    return mean


def by_place(states: list[State]) -> State:
    """Trust that every checkpoint has its names in the same order."""
    rows = zip(*(state.values() for state in states), strict=True)
    means = [sum(row) / len(states) for row in rows]
    return dict(zip(states[0], means, strict=True))


def spoils_the_first(states: list[State]) -> State:
    """Add the others into the first checkpoint's own memory."""
    total = states[0]
    for state in states[1:]:
        for name in total:
            total[name] += state[name]
    return {name: tensor / len(states) for name, tensor in total.items()}


def _running_mean(states: list[State]) -> State:
    """Let PyTorch's own weight averaging do it, a checkpoint at a time."""
    step = get_swa_avg_fn()
    mean = dict(states[0])
    for count, state in enumerate(states[1:], start=1):
        mean = {name: step(mean[name], state[name], torch.tensor(count)) for name in mean}
    return mean


def _states() -> list[tuple[list[State]]]:
    """One, two and three checkpoints, of one number and more, in one order and another."""
    generator = torch.Generator().manual_seed(0)

    def state(**shapes: tuple[int, ...]) -> State:
        return {name: torch.randn(shape, generator=generator) for name, shape in shapes.items()}

    one, two, three = (torch.tensor([number]) for number in (1.0, 3.0, 8.0))
    small = [[{"w": one}], [{"w": one}, {"w": two}], [{"w": one}, {"w": two}, {"w": three}]]
    wide = [{"w": torch.tensor([1.0, 2.0])}, {"w": torch.tensor([3.0, 6.0])}]
    turned = [{"a": one, "b": two}, {"b": three, "a": one}]
    large = [state(bias=(5,), weight=(2, 3)) for _ in range(4)]
    return [(states,) for states in [*small, wide, turned, large]]


average = Exercise(
    my_average,
    words,
    worked=[
        (
            ([{"w": torch.tensor([2.0])}, {"w": torch.tensor([6.0])}],),
            {"w": torch.tensor([4.0])},
        )
    ],
    cases=_states(),
    expected=_running_mean,
    wrong={
        "sum_of_all": sum_of_all,
        "one_number_each": one_number_each,
        "half_and_half": half_and_half,
        "by_place": by_place,
        "spoils_the_first": spoils_the_first,
    },
)
