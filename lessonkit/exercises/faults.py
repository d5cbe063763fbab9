"""The gaps and the exercise of lesson 16, in its order, and the ten tickets of its appendix.

How far ahead a decoder sees, the first output that differs from a reference's, the loss of a model
that knows how often each token occurs; and the fault of a loss, told from outside. Its toys are
`LeakyDecoder` and `LossWithFault`.
"""

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, tensor

from lessonkit.exercises.exercise import Exercise
from lessonkit.exercises.progress_table import show_progress as show_progress
from lessonkit.exercises.random_tensors import seeded_generator
from lessonkit.exercises.tickets import Tickets
from lessonkit.exercises.toys import BaseToy
from lessonkit.exercises.without_torch.faults import lesson_wording
from lessonkit.exercises.without_torch.faults import unigram_loss as unigram_loss
from transformer.config import PAD_ID

LOSS_FAULT_NAMES = ("none", "padding counts", "sentences count alike", "softmax twice")
MAX_SENTENCE_TOKENS = 16
earlier_lessons_quiz = lesson_wording.earlier_lessons_quiz()
sound_training_curve = lesson_wording.prediction("sound_training_curve")
cause_of_too_low_loss = lesson_wording.prediction("cause_of_too_low_loss")
bleu_in_one_batch = lesson_wording.prediction("bleu_in_one_batch")
undisclosed_fault_name = lesson_wording.tables["unnamed"]  # of one of two curves in the lesson
tickets = Tickets(lesson_wording.tables["tickets"])


@dataclass(repr=False)
class LeakyDecoder(BaseToy):
    """A toy decoder that sees what has been written, and some tokens that it must not.

    `leaks` has a pair (position, place) for each later token that a position sees. Its numbers
    are few binary digits long, so that no sum is rounded, on any machine.
    """

    leaks: list[tuple[int, int]]
    seed: int

    def __post_init__(self) -> None:
        generator = seeded_generator(self.seed)
        self._tokens = torch.randint(-50, 51, (9, 4), generator=generator) / 32
        size = (MAX_SENTENCE_TOKENS, MAX_SENTENCE_TOKENS)
        self._seen = torch.randint(4, 13, size, generator=generator) / 8

    def __call__(self, tgt_in: Tensor) -> Tensor:
        """Ids (tgt_len,), 1 to 8 -> logits (tgt_len, 9)."""
        length = len(tgt_in)
        mask = torch.ones(length, length).tril()
        for position, place in self.leaks:
            if place < length:
                mask[position, place] = 1
        return (self._seen[:length, :length] * mask) @ self._tokens[tgt_in] @ self._tokens.T


@dataclass(repr=False)
class LossWithFault(BaseToy):
    """A loss in nats, over a batch's tokens or for each of them, that may have a fault."""

    fault: str  # one of `LOSS_FAULT_NAMES`
    total: bool = False  # whether it is a sum over tokens; a mean where not

    def __call__(self, logits: Tensor, tgt_out: Tensor) -> Tensor:
        """Logits (batch, tgt_len, vocab_size) and ids (batch, tgt_len), 0 for padding -> scalar."""
        if self.fault == "softmax twice":
            logits = logits.softmax(dim=-1)
        costs = F.cross_entropy(logits.transpose(1, 2), tgt_out, reduction="none")
        real = (tgt_out != PAD_ID).float()
        if self.fault == "padding counts":
            real = torch.ones_like(real)
        costs = costs.masked_fill(real == 0, 0.0)  # even if one is infinite, or no number
        if self.fault == "sentences count alike":
            return ((costs * real).sum(dim=1) / real.sum(dim=1)).mean()
        return (costs * real).sum() / (1 if self.total else real.sum())


def my_tokens_seen_ahead(decode: Any, tgt_in: Tensor) -> int:
    """Return how many tokens ahead a decoder sees, at most."""
    logits, farthest = decode(tgt_in), 0
    for place in range(1, len(tgt_in)):
        changed = tgt_in.clone()
        changed[place] = changed[place] % 8 + 1  # another token
        moved = ((decode(changed) - logits).abs() > 1e-4).any(dim=1)
        farthest = max(farthest, place - int(moved.nonzero()[0]))
    return farthest


_SEEN_AHEAD_TOKEN_IDS = ([2, 4], [5, 3, 6], [4, 1, 1], [2, 7, 4, 6, 3], [1, 8, 2, 5, 3, 6, 4])
_LEAKED_POSITION_PAIRS: tuple[list[tuple[int, int]], ...] = (
    [],
    [(0, 1)],
    [(1, 2)],
    [(0, 2)],
    [(1, 3)],
    [(0, 1), (1, 4)],
    [(0, 1), (1, 2), (2, 3)],
    [(3, 4), (2, 6)],
    [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)],
)

tokens_seen_ahead = Exercise(
    my_tokens_seen_ahead,
    lesson_wording,
    worked=[
        ((LeakyDecoder([], 0), tensor([2, 4])), 0),
        ((LeakyDecoder([(0, 1)], 0), tensor([2, 4])), 1),
        ((LeakyDecoder([(0, 2)], 0), tensor([5, 3, 6])), 2),
    ],
    cases=[
        (LeakyDecoder(leaks, seed), tensor(text))
        for seed, leaks in enumerate(_LEAKED_POSITION_PAIRS)
        for text in _SEEN_AHEAD_TOKEN_IDS
    ],
    expected=lambda decode, tgt_in: max(
        (place - position for position, place in decode.leaks if place < len(tgt_in)), default=0
    ),
)


def my_first_wrong_output(found: dict[str, Tensor], wanted: dict[str, Tensor]) -> str | None:
    """Name the first output that is not as wanted; None if all are."""
    for name, output in found.items():
        apart = (output - wanted[name]).abs()
        if not (apart < 1e-4).all():
            return name
    return None


_TOY_REFERENCE_OUTPUTS = {
    name: tensor(values) for name, values in (("a", [1.0, 2.0]), ("b", [3.0, 4.0]))
}
_NAN_OUTPUT_TENSOR = tensor([3.0, float("nan")])
first_wrong_output = Exercise(
    my_first_wrong_output,
    lesson_wording,
    worked=[
        ((_TOY_REFERENCE_OUTPUTS, _TOY_REFERENCE_OUTPUTS), None),
        (
            (_TOY_REFERENCE_OUTPUTS | {"b": tensor([3.0, 4.5])}, _TOY_REFERENCE_OUTPUTS),
            "b",
        ),
        (({"a": tensor([1.0])}, {"a": tensor([2.0])}), "a"),
    ],
    cases=[
        ({}, {}),
        ({"a": tensor([1.0])}, {"a": tensor([1.00001])}),
        ({"a": tensor([2.0])}, {"a": tensor([1.0])}),
        ({"b": tensor([0.0]), "a": tensor([5.0])}, {"b": torch.ones(1), "a": torch.ones(1)}),
        ({"b": tensor([0.0]), "a": tensor([5.0])}, {"a": torch.ones(1), "b": torch.ones(1)}),
        ({"b": tensor([2.0]), "a": tensor([1.0])}, {"a": tensor([1.0]), "b": tensor([2.0])}),
        (_TOY_REFERENCE_OUTPUTS | {"b": tensor([4.0, 3.0])}, _TOY_REFERENCE_OUTPUTS),
        (_TOY_REFERENCE_OUTPUTS | {"b": tensor([3.0, 4.0002])}, _TOY_REFERENCE_OUTPUTS),
        (_TOY_REFERENCE_OUTPUTS | {"a": tensor([1.00015, 2.0])}, _TOY_REFERENCE_OUTPUTS),
        (_TOY_REFERENCE_OUTPUTS | {"b": _NAN_OUTPUT_TENSOR}, _TOY_REFERENCE_OUTPUTS),
        ({"a": _NAN_OUTPUT_TENSOR}, {"a": _NAN_OUTPUT_TENSOR}),
    ],
    expected=lambda found, wanted: next(
        (k for k in found if not torch.allclose(found[k], wanted[k], rtol=0, atol=1e-4)), None
    ),
)


def my_loss_fault(loss: Any) -> str:
    """Name the fault of a loss, or "none"."""
    tgt_out = torch.tensor([[3, 4, 2], [4, 0, 0]])
    logits = torch.arange(30.0).sin().reshape(2, 3, 5)
    both = loss(logits, tgt_out)
    changed = logits.clone()
    changed[1, 1:] *= -1
    if not torch.isclose(loss(changed, tgt_out), both):
        return "padding counts"
    if loss(99 * F.one_hot(tgt_out).float(), tgt_out) > 0.1:
        return "softmax twice"
    one, other = loss(logits[:1], tgt_out[:1]), loss(logits[1:], tgt_out[1:])
    for right in (one + other, (3 * one + other) / 4):
        if torch.isclose(both, right):
            return "none"
    return "sentences count alike"


loss_fault = Exercise(
    my_loss_fault,
    lesson_wording,
    worked=[
        ((LossWithFault("none"),), "none"),
        ((LossWithFault("softmax twice", True),), "softmax twice"),
    ],
    cases=[
        (LossWithFault(fault, total),)
        for fault in LOSS_FAULT_NAMES
        for total in (False, True)
        if not (total and fault == "sentences count alike")  # a sum of means looks like a sum
    ],
    expected=lambda loss: loss.fault,
    properties={"the answer is one of the four": lambda value, _: value in LOSS_FAULT_NAMES},
)
