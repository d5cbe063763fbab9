"""The exercises of lesson 05, in its order: a count, a test; its gaps are `own`'s.

`PositionReader` is its toy.
"""

import torch
from torch import Tensor, tensor

from lessonkit.exercises.exercise import Exercise
from lessonkit.exercises.progress_table import show_progress as show_progress
from lessonkit.exercises.toy_models import PositionReader
from lessonkit.exercises.without_torch.model import lesson_wording
from lessonkit.exercises.without_torch.model import (
    vocab_size_from_parameters as vocab_size_from_parameters,
)

earlier_lessons_quiz = lesson_wording.earlier_lessons_quiz()
mistake_seen_in_first_loss = lesson_wording.prediction("mistake_seen_in_first_loss")
feed_forward_share = lesson_wording.prediction("feed_forward_share")


def my_visible_positions(logits_of: PositionReader, ids: list[int], vocab_size: int) -> Tensor:
    """Find by trial which position's token changes which position's logits."""
    before = logits_of(ids)
    visible = torch.zeros(len(ids), len(ids), dtype=torch.bool)
    for place in range(len(ids)):
        for token in range(vocab_size):
            changed = [*ids[:place], token, *ids[place + 1 :]]
            moved = (logits_of(changed) - before).abs().amax(dim=-1)
            visible[:, place] |= moved > 1e-5
    return visible


# What each position reads, a row for each: nothing that comes later, everything, two leaks.
_CAUSAL, _WHOLE = ("10", "11"), ("11", "11")
_LEAKING = ("100", "111", "111")
_FORGETFUL = ("1000", "0101", "1010", "1111")  # reads a later one, and not all earlier ones

visible_positions = Exercise(
    my_visible_positions,
    lesson_wording,
    worked=[
        ((PositionReader(("1",), 1), [4], 7), tensor([[True]])),
        ((PositionReader(_CAUSAL, 1), [4, 4], 7), tensor([[True, False], [True, True]])),
    ],
    cases=[
        (PositionReader(rows, seed), ids, 7)
        for seed, (rows, ids) in enumerate(
            (
                (_CAUSAL, [5, 4]),
                (_CAUSAL, [0, 2]),
                (_WHOLE, [4, 5]),
                (_LEAKING, [4, 5, 6]),
                (_LEAKING, [6, 6, 4]),
                (_FORGETFUL, [5, 6, 4, 5]),
            ),
            start=2,
        )
    ],
    # It is what the toy was made of.
    expected=lambda logits_of, ids, vocab_size: tensor(
        [[mark == "1" for mark in row] for row in logits_of.rows]
    ),
)
