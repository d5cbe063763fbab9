"""Exercises of lesson 14 that need no PyTorch: how many dilated layers see a sentence."""

import itertools

from lessonkit.exercises.exercise import Exercise
from lessonkit.exercises.wording import read_lesson_wording

lesson_wording = read_lesson_wording("14")


def my_num_dilated_layers(n: int, kernel: int) -> int:
    """Count the dilated layers until the last place has seen the first."""
    layers, seen = 1, kernel
    while seen < n:
        layers, seen = layers + 1, seen * kernel
    return layers


num_dilated_layers = Exercise(
    my_num_dilated_layers,
    lesson_wording,
    worked=[((9, 3), 2), ((10, 3), 3), ((2, 3), 1)],
    cases=[(n, k) for n in (1, 2, 3, 4, 5, 8, 9, 26, 27, 28, 125, 243, 1000) for k in (2, 3, 4, 5)]
    + [(244, 3), (512, 8)],  # logarithms to the bases e, 2 and 10 round elsewhere
    # each layer looks kernel - 1 steps of its dilation farther back
    expected=lambda n, kernel: next(
        layers
        for layers in itertools.count(1)
        if sum((kernel - 1) * kernel**layer for layer in range(layers)) >= n - 1
    ),
)
