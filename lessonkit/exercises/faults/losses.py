"""An exercise of lesson 12: the fault of a loss, told from outside."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from lessonkit.exercises.asking import read_words
from lessonkit.exercises.check import Exercise
from lessonkit.exercises.faults.toys import LOSS_FAULTS, Loss

words = read_words("12")


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


def _batch() -> tuple[Tensor, Tensor]:
    """A batch of sentences of three tokens and of one."""
    chance = torch.Generator().manual_seed(5)
    return torch.randn(2, 3, 5, generator=chance), torch.tensor([[3, 4, 2], [4, 0, 0]])


def padding_never_moved(loss: Any) -> str:
    """Leave what stands at padding as it is."""
    found = my_loss_fault(loss)
    return "none" if found == "padding counts" else found


def never_sure(loss: Any) -> str:
    """Try mild logits alone."""
    found = my_loss_fault(loss)
    return "none" if found == "softmax twice" else found


def sentences_of_one_length(loss: Any) -> str:
    """Put together sentences of equally many tokens."""
    found = my_loss_fault(loss)
    return "none" if found == "sentences count alike" else found


def a_mean_of_two(loss: Any) -> str:
    """Expect of a batch the mean of its sentences' losses."""
    found = my_loss_fault(loss)
    if found not in ("none", "sentences count alike"):
        return found
    logits, tgt_out = _batch()
    mean = (loss(logits[:1], tgt_out[:1]) + loss(logits[1:], tgt_out[1:])) / 2
    return "none" if torch.isclose(loss(logits, tgt_out), mean) else "sentences count alike"


def a_sum_is_a_fault(loss: Any) -> str:
    """Know means alone."""
    found = my_loss_fault(loss)
    logits, tgt_out = _batch()
    one, other = loss(logits[:1], tgt_out[:1]), loss(logits[1:], tgt_out[1:])
    summed = torch.isclose(loss(logits, tgt_out), one + other)
    return "sentences count alike" if found == "none" and summed else found


def padding_made_words(loss: Any) -> str:
    """Change the targets at padding, which are words then."""
    logits, tgt_out = _batch()
    words = tgt_out.clamp(min=1)
    moved = not torch.isclose(loss(logits, words), loss(logits, tgt_out))
    return "padding counts" if moved else my_loss_fault(loss)


loss_fault = Exercise(
    my_loss_fault,
    words,
    worked=[((Loss("none"),), "none"), ((Loss("softmax twice", True),), "softmax twice")],
    cases=[
        (Loss(fault, total),)
        for fault in LOSS_FAULTS
        for total in (False, True)
        if not (total and fault == "sentences count alike")  # a sum of means looks like a sum
    ],
    expected=lambda loss: loss.fault,
    wrong={
        "padding_never_moved": padding_never_moved,
        "never_sure": never_sure,
        "sentences_of_one_length": sentences_of_one_length,
        "a_mean_of_two": a_mean_of_two,
        "a_sum_is_a_fault": a_sum_is_a_fault,
        "padding_made_words": padding_made_words,
    },
    properties={
        "the answer is one of the four": lambda value, _: value in LOSS_FAULTS,
    },
)
