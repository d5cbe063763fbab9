"""An exercise of lesson 06: the length penalty."""

import math

from transformer.exercises.check import Exercise, Wrong


def my_penalised(total: float, length: int, alpha: float) -> float:
    """Divide a total log probability by the length penalty."""
    return total / ((5 + length) / 6) ** alpha


def multiplied(total: float, length: int, alpha: float) -> float:
    """Multiply where it should divide."""
    return my_penalised(total, length, -alpha)


def plain_mean(total: float, length: int, alpha: float) -> float:
    """Leave the 5 out."""
    return total / length**alpha


def factor_for_exponent(total: float, length: int, alpha: float) -> float:
    """Take alpha for a factor."""
    return total / (alpha * (5 + length) / 6)


penalised = Exercise(
    my_penalised,
    minutes=5,
    difficulty="easy",
    hints=(
        "First the penalty alone: ((5 + length) / (5 + 1)), raised to the power alpha.",
        "With alpha 0 the penalty is 1 and the total stays as it is.",
        "total / ((5 + length) / 6) ** alpha",
    ),
    worked=[
        ((-3.0, 1, 0.6), -3.0),  # six sixths
        ((-8.0, 7, 2.0), -2.0),  # twelve sixths, squared
        ((-8.0, 7, 1.0), -4.0),
    ],
    cases=[
        (total, length, alpha)
        for total in (-1.0, -4.0)
        for length in (1, 2, 13)
        for alpha in (0.5, 0.6, 1.0)
    ],
    expected=lambda total, length, alpha: (
        -math.exp(math.log(-total) - alpha * (math.log(5 + length) - math.log(6)))
    ),
    wrong=[
        Wrong(
            multiplied,
            "Longer outputs come out worse now. The totals are negative: divide, and a larger "
            "penalty brings them nearer to 0.",
        ),
        Wrong(
            plain_mean,
            "At alpha 1 this is the mean per token. Wu et al. soften it: 5 is added to the "
            "length, and the whole is divided by 6.",
        ),
        Wrong(factor_for_exponent, "alpha is an exponent, not a factor: a ** alpha."),
    ],
)
