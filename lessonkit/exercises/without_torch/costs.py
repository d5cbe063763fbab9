"""Exercises of lesson 18 that need no PyTorch: intensity, the noise scale, a step's operations."""

from lessonkit.exercises.exercise import Exercise
from lessonkit.exercises.wording import read_lesson_wording

lesson_wording = read_lesson_wording("18")


def my_arithmetic_intensity(tokens: int, width: int, number_bytes: int) -> float:
    """Return a product's operations for each byte that it moves."""
    operations = 2 * tokens * width**2
    numbers = width**2 + 2 * tokens * width
    return operations / (number_bytes * numbers)


arithmetic_intensity = Exercise(
    my_arithmetic_intensity,
    lesson_wording,
    worked=[
        ((1, 1, 1), 2 / 3),
        ((3, 5, 4), 150 / 220),  # 25 weights, 15 inputs, 15 outputs
    ],
    cases=[(1, 4096, 4), (64, 4096, 4), (64, 4096, 2), (7, 3, 2), (1000, 128, 4)],
    expected=lambda tokens, width, number_bytes: 2 / number_bytes / (1 / tokens + 2 / width),
)


def my_gradient_noise_scale(single: float, joint: float, tokens: int, number: int) -> float:
    """Return the batch, in tokens, that has as much noise as signal."""
    signal = (number * joint - single) / (number - 1)
    noise = (single - signal) * tokens
    return noise / signal


def _noise_scale_by_solving_for_noise_first(
    single: float, joint: float, tokens: int, number: int
) -> float:
    """Solve single = signal + noise / tokens and joint = signal + noise / (number * tokens)."""
    noise = (single - joint) / (1 / tokens - 1 / number / tokens)
    signal = single - noise / tokens
    return noise / signal


gradient_noise_scale = Exercise(
    my_gradient_noise_scale,
    lesson_wording,
    worked=[
        ((3.0, 2.0, 5, 2), 10.0),  # signal 1, noise 10
        ((11.0, 2.0, 7, 10), 70.0),  # signal 1, noise 70
    ],
    cases=[
        (1.0, 0.75, 3, 2),
        (2.0, 1.25, 64, 4),
        (0.5, 0.5, 13, 7),
        (10.5, 1.25, 160, 40),
        (0.625, 0.5, 1536, 16),
    ],
    expected=_noise_scale_by_solving_for_noise_first,
)


def my_flops(
    d_model: int, d_ff: int, num_layers: int, vocab_size: int, src_tokens: int, tgt_tokens: int
) -> int:
    """Count the operations of a training step in products with weights."""
    # Four squares of its own, and two of cross-attention on either side.
    each_token = 6 * d_model**2 + 2 * d_model * d_ff
    layers = num_layers * (src_tokens + tgt_tokens) * each_token
    return 6 * (layers + tgt_tokens * d_model * vocab_size)


def _training_flops_matrix_by_matrix(
    d_model: int, d_ff: int, num_layers: int, vocab_size: int, src_tokens: int, tgt_tokens: int
) -> int:
    """Count the same matrix by matrix, product by product."""
    # Of cross-attention's four square matrices two are met by source tokens, two by target tokens.
    layer = 6 * [(d_model, d_model)] + [(d_model, d_ff), (d_ff, d_model)]
    products = [(matrix, tokens) for tokens in (src_tokens, tgt_tokens) for matrix in layer]
    products = num_layers * products + [((d_model, vocab_size), tgt_tokens)]
    forward = sum(2 * rows * columns * tokens for (rows, columns), tokens in products)
    input_gradient = weight_gradient = forward
    return forward + input_gradient + weight_gradient


flops = Exercise(
    my_flops,
    lesson_wording,
    worked=[
        ((1, 1, 1, 1, 1, 1), 6 * (6 + 2 + 6 + 2 + 1)),
        ((2, 3, 1, 5, 0, 1), 6 * (24 + 12 + 10)),  # no source: target's matrices, then logits
    ],
    cases=[
        (2, 3, 1, 5, 1, 0),
        (2, 3, 1, 5, 7, 3),
        (3, 2, 2, 11, 5, 13),
        (128, 256, 4, 10_000, 512, 480),
        (512, 2048, 6, 37_000, 25_000, 25_000),
    ],
    expected=_training_flops_matrix_by_matrix,
)
