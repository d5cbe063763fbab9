"""Exercises of lesson 07: checkpoints averaged, the length penalty, and two parts of BLEU.

The parts of BLEU stand in `transformer.exercises.german_bleu`.
"""

import itertools
import math
from typing import Any

import torch
from torch import Tensor
from torch.optim.swa_utils import get_swa_avg_fn

from transformer.exercises.check import Exercise, Wrong
from transformer.exercises.german_bleu import brevity_penalty as brevity_penalty
from transformer.exercises.german_bleu import clipped_precision as clipped_precision

State = dict[str, Tensor]


def my_average(states: list[State]) -> State:
    """Average the weights of checkpoints, name by name."""
    mean = {}
    for name in states[0]:
        tensors = [state[name] for state in states]
        mean[name] = torch.stack(tensors).mean(dim=0)
    return mean


def sum_of_all(states: list[State]) -> State:
    """Forget to divide."""
    return {name: torch.stack([each[name] for each in states]).sum(0) for name in states[0]}


def one_number_each(states: list[State]) -> State:
    """Average over a tensor's own numbers as well."""
    return {name: torch.stack([each[name] for each in states]).mean() for name in states[0]}


def half_and_half(states: list[State]) -> State:
    """Meet each further checkpoint in the middle, so that the last one weighs a half."""
    mean = dict(states[0])
    for state in states[1:]:
        mean = {name: (mean[name] + state[name]) / 2 for name in mean}
    return mean


def by_place(states: list[State]) -> State:
    """Trust that every checkpoint has its names in the same order."""
    rows = zip(*(state.values() for state in states), strict=True)
    means = [sum(row) / len(states) for row in rows]
    return dict(zip(states[0], means, strict=True))


def spoils_the_first(states: list[State]) -> State:
    """Add the others into the first checkpoint's own memory."""
    total = states[0]
    for state in states[1:]:
        for name in total:
            total[name] += state[name]
    return {name: tensor / len(states) for name, tensor in total.items()}


def _running_mean(states: list[State]) -> State:
    """Let PyTorch's own weight averaging do it, a checkpoint at a time."""
    step = get_swa_avg_fn()
    mean = dict(states[0])
    for count, state in enumerate(states[1:], start=1):
        mean = {name: step(mean[name], state[name], torch.tensor(count)) for name in mean}
    return mean


def _states() -> list[tuple[list[State]]]:
    """One, two and three checkpoints, of one number and more, in one order and another."""
    generator = torch.Generator().manual_seed(0)

    def state(**shapes: tuple[int, ...]) -> State:
        return {name: torch.randn(shape, generator=generator) for name, shape in shapes.items()}

    one, two, three = (torch.tensor([number]) for number in (1.0, 3.0, 8.0))
    small = [[{"w": one}], [{"w": one}, {"w": two}], [{"w": one}, {"w": two}, {"w": three}]]
    wide = [{"w": torch.tensor([1.0, 2.0])}, {"w": torch.tensor([3.0, 6.0])}]
    turned = [{"a": one, "b": two}, {"b": three, "a": one}]
    large = [state(bias=(5,), weight=(2, 3)) for _ in range(4)]
    return [(states,) for states in [*small, wide, turned, large]]


average = Exercise(
    my_average,
    minutes=10,
    difficulty="easy",
    hints=(
        "The result has the names of any one of the states, and tensors of the same shapes.",
        "For one name: add up that name's tensors over all states, and divide by how "
        "many states there are.",
        "for name in states[0] gives the names; torch.stack([...]).mean(dim=0) of one name's "
        "tensors is their mean, and changes nothing.",
    ),
    worked=[
        (
            ([{"w": torch.tensor([2.0])}, {"w": torch.tensor([6.0])}],),
            {"w": torch.tensor([4.0])},
        )
    ],
    cases=_states(),
    expected=_running_mean,
    wrong=[
        Wrong(
            sum_of_all,
            "This is the sum. A network whose weights are several times too large is another "
            "network: divide by the number of checkpoints.",
        ),
        Wrong(
            one_number_each,
            "Each tensor has shrunk to one number. The mean is taken over the checkpoints "
            "only, for each place of the tensor by itself.",
        ),
        Wrong(
            half_and_half,
            "With two checkpoints this is right. With three the last one weighs a half, the "
            "others a quarter: all should weigh the same.",
        ),
        Wrong(
            by_place,
            "You pair the tensors by their order. Two checkpoints may hold the same names in "
            "another order: look each tensor up by its name.",
        ),
        Wrong(
            spoils_the_first,
            "The mean is right, but `+=` has written into the first checkpoint: whoever uses "
            "it next has other weights. Add into something new.",
        ),
    ],
)


def my_best_hypothesis(hypotheses: list[tuple[float, int]], alpha: float) -> int:
    """Give the place of the best under the length penalty."""
    scores = []
    for log_prob, length in hypotheses:
        scores.append(log_prob / ((5 + length) / 6) ** alpha)
    return scores.index(max(scores))


def _best(scores: Any) -> int:
    scores = list(scores)
    return scores.index(max(scores))


def no_penalty(hypotheses: list[tuple[float, int]], alpha: float) -> int:
    """Take the most probable, whatever its length."""
    return _best(log_prob for log_prob, _ in hypotheses)


def multiplied(hypotheses: list[tuple[float, int]], alpha: float) -> int:
    """Multiply by the penalty, which favours short sentences even more."""
    return _best(log_prob * ((5 + length) / 6) ** alpha for log_prob, length in hypotheses)


def plain_length(hypotheses: list[tuple[float, int]], alpha: float) -> int:
    """Divide by a power of the length itself."""
    return _best(log_prob / length**alpha for log_prob, length in hypotheses)


def per_token(hypotheses: list[tuple[float, int]], alpha: float) -> int:
    """Take the mean per token, with no regard to alpha."""
    return _best(log_prob / length for log_prob, length in hypotheses)


def takes_the_worst(hypotheses: list[tuple[float, int]], alpha: float) -> int:
    """Take the smallest score for the best, as if they were losses."""
    return _best(-log_prob / ((5 + length) / 6) ** alpha for log_prob, length in hypotheses)


def _costs(hypotheses: list[tuple[float, int]], alpha: float) -> list[float]:
    """Measure each by the logarithm of its penalised loss: a difference, with no power."""
    return [
        math.log(-log_prob) - alpha * math.log1p((length - 1) / 6)
        for log_prob, length in hypotheses
    ]


def _by_costs(hypotheses: list[tuple[float, int]], alpha: float) -> int:
    costs = _costs(hypotheses, alpha)
    return costs.index(min(costs))


def _hypotheses() -> list[tuple[list[tuple[float, int]], float]]:
    """Pairs and triples of hypotheses of which one is clearly the best."""
    each = [(-1.0, 1), (-2.0, 2), (-2.0, 4), (-3.0, 4), (-3.0, 7), (-4.0, 9), (-6.0, 19)]
    chosen = [list(pair) for pair in itertools.permutations(each, 2)]
    chosen += [list(triple) for triple in itertools.permutations(each[1:5], 3)]
    cases = []
    for hypotheses, alpha in itertools.product(chosen, (0.0, 0.6, 1.0)):
        costs = sorted(_costs(hypotheses, alpha))
        if costs[1] - costs[0] > 0.02:
            cases.append((hypotheses, alpha))
    return cases


best_hypothesis = Exercise(
    my_best_hypothesis,
    minutes=10,
    difficulty="medium",
    hints=(
        "Every log probability is negative, and each further token makes it more so. The "
        "penalty has to bring long sentences nearer to zero.",
        "The score is the log probability divided by ((5 + length) / 6) ** alpha.",
        "Make the list of scores; the answer is scores.index(max(scores)).",
    ),
    worked=[
        (([(-2.0, 1), (-3.0, 7)], 1.0), 1),  # -2 against -3 / 2
        (([(-2.0, 1), (-3.0, 7)], 0.0), 0),  # -2 against -3
    ],
    cases=_hypotheses(),
    expected=_by_costs,
    wrong=[
        Wrong(
            no_penalty,
            "This is the most probable one; alpha changes nothing. Short sentences win that "
            "way, for each token costs: where does the length come in?",
        ),
        Wrong(
            multiplied,
            "Log probabilities are negative: multiplied by the penalty, long sentences sink "
            "further. It belongs under the fraction bar.",
        ),
        Wrong(
            plain_length,
            "You divide by length ** alpha. Wu et al. put (5 + length) / 6 in its place, "
            "which treats short sentences less harshly.",
        ),
        Wrong(
            per_token,
            "This is the mean per token, whatever alpha is. With alpha 0 there must be no "
            "penalty at all.",
        ),
        Wrong(
            takes_the_worst,
            "You choose the lowest score. These are log probabilities, not losses: the one "
            "nearest to zero is the best.",
        ),
    ],
)
