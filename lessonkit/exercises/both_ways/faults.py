"""An exercise of lesson 08: which fault a step of training has, told by what it does."""

import itertools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from lessonkit.exercises.asking import read_words
from lessonkit.exercises.check import Exercise
from lessonkit.exercises.toys import FAULTS, Trainer

words = read_words("08")

State = dict[str, Tensor]


def my_fault(trainer: Any) -> str:
    """Name the fault of a training, or "none"."""
    states, losses = [], []
    for _ in range(3):
        state = trainer.state_dict()
        states.append({name: weight.clone() for name, weight in state.items()})
        losses.append(trainer.step())
    one, other = (
        [(after[name] - before[name]).norm() for name in before]
        for before, after in itertools.pairwise(states)
    )
    if not any(one):
        return "nothing moves"
    if not all(one):
        return "some weights stay"
    if losses[1] > losses[0]:
        return "uphill"
    return "gradients add up" if sum(other) > 1.5 * sum(one) else "none"


def _watched(
    trainer: Trainer,
    *,
    is_same: Callable[[Tensor, Tensor], bool] = torch.equal,
    copies: bool = True,
    steps: int = 2,
) -> str:
    """Watch some steps, with one part done otherwise."""
    states, losses = [], []
    for _ in range(steps + 1):
        state = trainer.state_dict()
        states.append({name: w.clone() for name, w in state.items()} if copies else state)
        losses.append(trainer.step())
    stays = [is_same(states[0][name], states[1][name]) for name in states[0]]
    if all(stays) or any(stays):
        return "nothing moves" if all(stays) else "some weights stay"
    if losses[1] > losses[0]:
        return "uphill"
    way = [_distance(one, other) for one, other in itertools.pairwise(states)]
    return "gradients add up" if way[-1] > 1.5 * way[0] else "none"


def _distance(one: State, other: State) -> float:
    return sum(float((one[name] - other[name]).abs().sum()) for name in one)


def nothing_copied(trainer: Trainer) -> str:
    """Compare the weights with themselves."""
    return _watched(trainer, copies=False)


def overlooks_small_steps(trainer: Trainer) -> str:
    """Take nearly the same for the same."""
    return _watched(trainer, is_same=torch.allclose)


def one_number_is_enough(trainer: Trainer) -> str:
    """Take a tensor for unmoved as soon as one of its numbers stays."""
    return _watched(trainer, is_same=lambda one, other: bool((one == other).any()))


def one_step_only(trainer: Trainer) -> str:
    """Never look at a second step."""
    return _watched(trainer, steps=1)


def never_reads_the_loss(trainer: Trainer) -> str:
    """Watch the weights alone."""
    found = my_fault(trainer)
    return "none" if found == "uphill" else found


def all_or_none(trainer: Trainer) -> str:
    """Say that nothing moves as soon as some tensor does not."""
    found = my_fault(trainer)
    return "nothing moves" if found == "some weights stay" else found


def satisfied_if_all_moves(trainer: Trainer) -> str:
    """Look no further once every tensor has changed."""
    found = my_fault(trainer)
    return "none" if found in ("uphill", "gradients add up") else found


fault = Exercise(
    my_fault,
    words,
    worked=[
        ((Trainer("none", 0),), "none"),
        ((Trainer("uphill", 0),), "uphill"),
    ],
    cases=[(Trainer(each, seed),) for each in FAULTS for seed in range(7)],
    expected=lambda trainer: trainer.fault,
    wrong={
        "nothing_copied": nothing_copied,
        "overlooks_small_steps": overlooks_small_steps,
        "one_number_is_enough": one_number_is_enough,
        "one_step_only": one_step_only,
        "never_reads_the_loss": never_reads_the_loss,
        "all_or_none": all_or_none,
        "satisfied_if_all_moves": satisfied_if_all_moves,
    },
    properties={
        "the answer is one of the five": lambda value, _: value in FAULTS,
    },
)
