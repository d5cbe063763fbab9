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
from lessonkit.exercises.wording import read_lesson_wording

TRAINER_FAULT_NAMES = ("none", "nothing moves", "some weights stay", "uphill", "gradients add up")
LEARNING_RATE_OF_TRAINER = 1e-6  # so small that a step must be looked for closely

SentencePair = tuple[str, str]

lesson_wording = read_lesson_wording("11")
earlier_lessons_quiz = lesson_wording.earlier_lessons_quiz()
bleu_from_french_source = lesson_wording.prediction("bleu_from_french_source")
judge_score_of_swapped_words = lesson_wording.prediction("judge_score_of_swapped_words")
lookup_bleu_on_random_split = lesson_wording.prediction("lookup_bleu_on_random_split")


def my_leaked_share(train: list[SentencePair], test: list[SentencePair]) -> float:
    """Return the share of the test pairs that have a side in training."""
    firsts = {first for first, _ in train}
    seconds = {second for _, second in train}
    seen = [first in firsts or second in seconds for first, second in test]
    return sum(seen) / len(test)


_TWO_PAIRS_WITHOUT_A_SHARED_SIDE = [  # none of these shares a side as it stands
    (("a", "x"), ("x", "y")),  # a word on both sides, here and there
    (("a", "x"), ("b", "a")),
    (("Go", "x"), ("go", "y")),
    (("a", "Va"), ("b", "va")),
    (("go.", "x"), ("go", "y")),
    (("a", "va !"), ("b", "va")),
    (("go ", "x"), ("go", "y")),
    (("going", "x"), ("go", "y")),
    (("a", "il va"), ("b", "va")),
]


def _leaked_test_share_cases() -> list[tuple[list[SentencePair], list[SentencePair]]]:
    pairs = [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y"), ("c", "z")]
    trains = [list(each) for n in (1, 2, 3) for each in itertools.combinations(pairs, n)]
    tests = [list(each) for n in (1, 2) for each in itertools.combinations(pairs, n)]
    cases = list(itertools.product(trains, tests))[::4]
    again = [("a", "x"), ("a", "x"), ("d", "v")]  # each pair counts, also one that stands twice
    return [
        *cases,
        (again[:1], again),
        *(([known], [asked]) for known, asked in _TWO_PAIRS_WITHOUT_A_SHARED_SIDE),
    ]


leaked_share = Exercise(
    my_leaked_share,
    lesson_wording,
    worked=[(([("go", "va")], [("go", "allez"), ("stop", "arrête")]), 0.5)],
    cases=_leaked_test_share_cases(),
    expected=lambda train, test: (
        sum(any(a == x or b == y for x, y in train) for a, b in test) / len(test)
    ),
)


def my_connected_groups(pairs: list[SentencePair]) -> list[list[SentencePair]]:
    """Gather pairs that share a side, directly or by way of others."""
    found: list[list[SentencePair]] = []
    for pair in pairs:
        joined, apart = [pair], []
        for group in found:
            if any(pair[0] == a or pair[1] == b for a, b in group):
                joined += group
            else:
                apart.append(group)
        found = [*apart, joined]
    return sorted(sorted(group) for group in found)


def _groups_by_label_propagation(pairs: list[SentencePair]) -> list[list[SentencePair]]:
    """Number the pairs, and let the smallest number spread until nothing changes."""
    number = list(range(len(pairs)))
    for _ in pairs:
        for i, j in itertools.product(range(len(pairs)), repeat=2):
            if pairs[i][0] == pairs[j][0] or pairs[i][1] == pairs[j][1]:
                number[i] = number[j] = min(number[i], number[j])
    return sorted(
        sorted(p for p, n in zip(pairs, number, strict=True) if n == each) for each in set(number)
    )


def _connected_groups_cases() -> list[tuple[list[SentencePair]]]:
    every = [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y"), ("c", "z"), ("c", "y")]
    cases = [each for n in (1, 2, 3) for each in itertools.permutations(every, n)]
    chain = [("a", "x"), ("b", "x"), ("b", "y"), ("c", "y"), ("c", "z")]  # each hangs on the next
    cases += itertools.permutations(chain[:4])
    cases += list(itertools.permutations(chain))[::7]
    return [(list(each),) for each in [*cases, *_TWO_PAIRS_WITHOUT_A_SHARED_SIDE]]


connected_groups = Exercise(
    my_connected_groups,
    lesson_wording,
    worked=[
        (([("a", "x"), ("b", "y"), ("a", "y")],), [[("a", "x"), ("a", "y"), ("b", "y")]]),
        (([("b", "y"), ("a", "x")],), [[("a", "x")], [("b", "y")]]),
        (([("Non", "Stop"), ("Stop", "Arrête")],), [[("Non", "Stop")], [("Stop", "Arrête")]]),
    ],
    cases=_connected_groups_cases(),
    expected=_groups_by_label_propagation,
)


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
