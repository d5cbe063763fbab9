"""Exercises of lesson 05 that need no PyTorch: a vocabulary's size from a count of parameters."""

import bisect

from lessonkit.analysis.table_3 import expected_num_parameters
from lessonkit.exercises.exercise import Exercise
from lessonkit.exercises.wording import read_lesson_wording
from transformer.config import ModelConfig

lesson_wording = read_lesson_wording("05")


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
