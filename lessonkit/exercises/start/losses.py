"""An exercise of lesson 00: the perplexity of a text."""

import itertools
import math
import statistics

from lessonkit.exercises.asking import read_words
from lessonkit.exercises.check import Exercise

words = read_words("00")


def my_perplexity(losses: list[float]) -> float:
    """Turn the losses of all tokens (nats) into one perplexity."""
    return math.exp(sum(losses) / len(losses))


def mean_alone(losses: list[float]) -> float:
    """Stop at the mean loss."""
    return math.log(my_perplexity(losses))


def mean_of_exponentials(losses: list[float]) -> float:
    """Average the perplexities of single tokens."""
    return sum(my_perplexity([loss]) for loss in losses) / len(losses)


def exponential_of_sum(losses: list[float]) -> float:
    """Forget to divide."""
    return my_perplexity([sum(losses)])


def powers_of_two(losses: list[float]) -> float:
    """Take nats for bits."""
    return my_perplexity([loss * math.log(2) for loss in losses])


def upside_down(losses: list[float]) -> float:
    """Give the typical probability, which is the inverse."""
    return 1 / my_perplexity(losses)


perplexity = Exercise(
    my_perplexity,
    words,
    worked=[
        (([0.0],), 1.0),  # certain and right: torn between one token
        (([math.log(8), math.log(2)],), 4.0),  # the square root of 8 * 2
    ],
    cases=[
        (list(losses),)
        for length in (1, 2, 3)
        for losses in itertools.product((0.0, 1.0, 2.5), repeat=length)
    ],
    expected=lambda losses: statistics.geometric_mean(math.exp(loss) for loss in losses),
    wrong={
        "mean_alone": mean_alone,
        "mean_of_exponentials": mean_of_exponentials,
        "exponential_of_sum": exponential_of_sum,
        "powers_of_two": powers_of_two,
        "upside_down": upside_down,
    },
    properties={
        "a perplexity is at least 1": lambda value, losses: value >= 1 - 1e-6,
    },
)
