"""An exercise of lesson 00: the perplexity of a text."""

import itertools
import math
import statistics

from lessonkit.exercises.check import Exercise, Property, Wrong


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
    minutes=5,
    difficulty="easy",
    hints=(
        "The perplexity is the exponential of one number that stands for all the losses.",
        "That number is the mean loss; take it first, the exponential afterwards.",
        "math.exp(...) of sum(losses) / len(losses).",
    ),
    worked=[
        (([0.0],), 1.0),  # certain and right: torn between one token
        (([math.log(8), math.log(2)],), 4.0),  # the square root of 8 * 2
    ],
    cases=[
        (list(losses),)
        for length in (1, 2, 3)
        for losses in itertools.product((0.0, 1.0, 2.5), repeat=length)
    ],
    # the geometric mean of how many tokens each choice was among
    expected=lambda losses: statistics.geometric_mean(math.exp(loss) for loss in losses),
    wrong=[
        Wrong(
            mean_alone,
            "This is the mean loss, in nats. It becomes a number of tokens by one more step: "
            "which?",
        ),
        Wrong(
            mean_of_exponentials,
            "You took the exponential of each loss and then the mean. One hard token then "
            "weighs more than all the others together: swap the two steps.",
        ),
        Wrong(
            exponential_of_sum,
            "This grows with the length of the text. A perplexity is per token: "
            "what must the sum be divided by?",
        ),
        Wrong(
            powers_of_two,
            "Two to the power of the loss is for losses in bits. These are in nats, made "
            "with the natural logarithm.",
        ),
        Wrong(
            upside_down,
            "This lies between 0 and 1: it is the typical probability of a token. How many "
            "equally likely tokens does that make?",
        ),
    ],
    properties=[Property("a perplexity is at least 1", lambda value, losses: value >= 1 - 1e-6)],
)
