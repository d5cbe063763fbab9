"""An exercise of lesson 13: the noise scale of a gradient."""

import torch

from lessonkit.exercises.asking import read_words
from lessonkit.exercises.check import Exercise

words = read_words("13")


def my_noise_scale(single: float, joint: float, tokens: int, number: int) -> float:
    """Give the batch, in tokens, that has as much noise as signal."""
    signal = (number * joint - single) / (number - 1)
    noise = (single - signal) * tokens
    return noise / signal


def joint_is_true(single: float, joint: float, tokens: int, number: int) -> float:
    """Take the mean gradient for the true one."""
    return (single - joint) * tokens / joint


def single_is_noise(single: float, joint: float, tokens: int, number: int) -> float:
    """Forget that a batch's gradient has the signal in it."""
    return single * tokens * (number - 1) / (number * joint - single)


def in_batches(single: float, joint: float, tokens: int, number: int) -> float:
    """Give it in batches."""
    return my_noise_scale(single, joint, tokens, number) / tokens


def upside_down(single: float, joint: float, tokens: int, number: int) -> float:
    """Divide the signal by the noise."""
    return 1 / my_noise_scale(single, joint, tokens, number)


def as_deviation(single: float, joint: float, tokens: int, number: int) -> float:
    """Take the root, as of a variance."""
    return float(my_noise_scale(single, joint, tokens, number) ** 0.5)


def _by_equations(single: float, joint: float, tokens: int, number: int) -> float:
    """Let a library solve single = S + N / t and joint = S + N / (n t)."""
    left = torch.tensor([[1.0, 1 / tokens], [1.0, 1 / (number * tokens)]], dtype=torch.float64)
    right = torch.tensor([single, joint], dtype=torch.float64)
    signal, noise = torch.linalg.solve(left, right).tolist()
    return float(noise / signal)


noise_scale = Exercise(
    my_noise_scale,
    words,
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
    expected=_by_equations,
    wrong={
        "joint_is_true": joint_is_true,
        "single_is_noise": single_is_noise,
        "in_batches": in_batches,
        "upside_down": upside_down,
        "as_deviation": as_deviation,
    },
)
