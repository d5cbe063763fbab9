"""The gaps and the exercise of lesson 11, in its order. `TrainerWithFault` is its toy.

What leaks from training, groups of pairs that do not, and which fault a step of training has.
"""

import itertools
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from lessonkit.exercises.exercise import Exercise
from lessonkit.exercises.progress_table import show_progress as show_progress
from lessonkit.exercises.toy_models import TinyTrainableNetwork
from lessonkit.exercises.toys import BaseToy
from lessonkit.exercises.without_torch.both_ways import connected_groups as connected_groups
from lessonkit.exercises.without_torch.both_ways import leaked_share as leaked_share
from lessonkit.exercises.without_torch.both_ways import lesson_wording

TRAINER_FAULT_NAMES = ("none", "nothing moves", "some weights stay", "uphill", "gradients add up")
LEARNING_RATE_OF_TRAINER = 1e-6  # so small that a step must be looked for closely
earlier_lessons_quiz = lesson_wording.earlier_lessons_quiz()
bleu_from_french_source = lesson_wording.prediction("bleu_from_french_source")
judge_score_of_swapped_words = lesson_wording.prediction("judge_score_of_swapped_words")
lookup_bleu_on_random_split = lesson_wording.prediction("lookup_bleu_on_random_split")


class TrainerWithFault(BaseToy):
    """A training with one batch and a tiny rate; its step may have one of `TRAINER_FAULT_NAMES`."""

    def __init__(self, fault: str, seed: int) -> None:
        self.fault, self.seed = fault, seed
        self._model = TinyTrainableNetwork(7, 4, seed).double().train()
        moved = list(self._model.parameters())
        if seed % 2:  # near 0 the steps grow at first
            torch.nn.utils.vector_to_parameters(
                0.05 * torch.nn.utils.parameters_to_vector(moved), moved
            )
        if fault == "nothing moves":
            moved = list(TinyTrainableNetwork(7, 4, seed).double().parameters())
        if fault == "some weights stay":
            moved = [moved[seed // 2 % 2]]
        self._optimizer = torch.optim.SGD(
            moved, lr=LEARNING_RATE_OF_TRAINER, maximize=fault == "uphill"
        )

    def state_dict(self) -> dict[str, Tensor]:
        """Return the weights by name: the tensors themselves, as a network does."""
        return self._model.state_dict()

    def step(self) -> float:
        """Make one step of training; return the loss before it, in nats per token."""
        src, tgt = torch.tensor([[5, 3]]), torch.tensor([[2, 4, 6, 3]])
        if self.fault != "gradients add up":
            self._model.zero_grad()
        logits = self._model(src, tgt[:, :-1])
        loss = F.cross_entropy(logits[0], tgt[0, 1:])
        loss.backward()
        self._optimizer.step()
        return loss.item()


def my_name_trainer_fault(trainer: Any) -> str:
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


name_trainer_fault = Exercise(
    my_name_trainer_fault,
    lesson_wording,
    worked=[((TrainerWithFault("none", 0),), "none"), ((TrainerWithFault("uphill", 0),), "uphill")],
    cases=[(TrainerWithFault(each, seed),) for each in TRAINER_FAULT_NAMES for seed in range(7)],
    expected=lambda trainer: trainer.fault,
    properties={"the answer is one of the five": lambda value, _: value in TRAINER_FAULT_NAMES},
)
