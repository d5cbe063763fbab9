"""An exercise of lesson 10: how far a stack of dilated convolutions sees."""

import math

from lessonkit.exercises.asking import read_words
from lessonkit.exercises.check import Exercise

words = read_words("10")


def my_reach(n: int, kernel: int) -> int:
    """Count the dilated layers until the last place has seen the first."""
    layers, seen = 1, kernel
    while seen < n:
        layers, seen = layers + 1, seen * kernel
    return layers


def not_dilated(n: int, kernel: int) -> int:
    """Let each layer see kernel - 1 positions more."""
    return max(1, math.ceil((n - 1) / (kernel - 1)))


def rounded_down(n: int, kernel: int) -> int:
    """Leave out the layer that is not used whole."""
    layers = 1
    while kernel ** (layers + 1) <= n:
        layers += 1
    return layers


def one_more(n: int, kernel: int) -> int:
    """Count the input too."""
    return my_reach(n, kernel) + 1


def natural_logarithm(n: int, kernel: int) -> int:
    """Take the logarithm to the base e."""
    return max(1, math.ceil(math.log(n)))


def logarithm_rounded_up(n: int, kernel: int) -> int:
    """Trust a logarithm, which may be a hair too high."""
    return max(1, math.ceil(math.log(n, kernel)))


def none_for_one(n: int, kernel: int) -> int:
    """Begin without a layer."""
    return my_reach(n, kernel) if n > 1 else 0


def _by_sums(n: int, kernel: int) -> int:
    """Add up how far back each layer looks: kernel - 1 steps of its dilation."""
    back, layers = 0, 0
    while back < n - 1 or layers == 0:
        back += (kernel - 1) * kernel**layers
        layers += 1
    return layers


reach = Exercise(
    my_reach,
    words,
    worked=[((9, 3), 2), ((10, 3), 3), ((2, 3), 1)],
    cases=[(n, k) for n in (1, 2, 3, 4, 5, 8, 9, 26, 27, 28, 125, 243, 1000) for k in (2, 3, 4, 5)]
    + [(244, 3), (512, 8)],
    expected=_by_sums,
    wrong={
        "not_dilated": not_dilated,
        "rounded_down": rounded_down,
        "one_more": one_more,
        "logarithm_rounded_up": logarithm_rounded_up,
        "none_for_one": none_for_one,
        "natural_logarithm": natural_logarithm,
    },
)
