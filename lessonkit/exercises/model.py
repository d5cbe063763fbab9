"""The exercises of lesson 05, in its order: a count, a test; its gaps are `own`'s.

`PositionReader` is its toy.
"""

import bisect

import torch
from torch import Tensor, tensor

from lessonkit.analysis.table_3 import expected_num_parameters
from lessonkit.exercises.exercise import Exercise
from lessonkit.exercises.progress_table import show_progress as show_progress
from lessonkit.exercises.toy_models import PositionReader
from lessonkit.exercises.wording import read_lesson_wording
from transformer.config import ModelConfig

lesson_wording = read_lesson_wording("05")
earlier_lessons_quiz = lesson_wording.earlier_lessons_quiz()
mistake_seen_in_first_loss = lesson_wording.prediction("mistake_seen_in_first_loss")
feed_forward_share = lesson_wording.prediction("feed_forward_share")


def my_vocab_size_from_parameters(parameters: int, d_model: int, d_ff: int, num_layers: int) -> int:
    """Find how many types a tied model has, from its number of parameters."""
    attention = 4 * d_model * d_model
    feed_forward = 2 * d_model * d_ff + d_ff + d_model
    norm = 2 * d_model
    encoder_layer = attention + feed_forward + 2 * norm
    decoder_layer = 2 * attention + feed_forward + 3 * norm
    stacks = num_layers * (encoder_layer + decoder_layer)
    return (parameters - stacks) // d_model


def _num_transformer_parameters(types: int, d_model: int, d_ff: int, num_layers: int) -> int:
    config = ModelConfig(d_model=d_model, d_ff=d_ff, num_layers=num_layers, num_heads=1)
    return expected_num_parameters(config, types, types)


def _vocab_size_by_bisection(parameters: int, *sizes: int) -> int:
    """Search for the number of types that gives this number of parameters."""
    candidates = range(1, parameters)
    place = bisect.bisect_left(
        candidates, parameters, key=lambda types: _num_transformer_parameters(types, *sizes)
    )
    return candidates[place]


vocab_size_from_parameters = Exercise(
    my_vocab_size_from_parameters,
    lesson_wording,
    worked=[((63_045_632, 512, 2048, 6), 37_000)],
    cases=[
        (_num_transformer_parameters(types, *sizes), *sizes)
        for *sizes, types in (
            (2, 3, 2, 7),
            (2, 5, 3, 11),
            (4, 2, 2, 13),
            (6, 7, 3, 101),
            (512, 2048, 6, 37_000),
        )
    ],
    expected=_vocab_size_by_bisection,
    properties={"a vocabulary is a whole number": lambda value, *sizes: value == int(value)},
)


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
