"""An exercise of lesson 06: a token drawn with a temperature, from the most probable few.

Not in the paper: Holtzman et al. (2020), "The Curious Case of Neural Text Degeneration".
"""

import itertools
import math

import torch
from torch import Tensor

from lessonkit.exercises.asking import read_words
from lessonkit.exercises.check import Exercise

words = read_words("06")

NEAR = 1e-3  # a case is left out where top_p or chance is as near as that to an edge


def my_sample(logits: Tensor, temperature: float, top_p: float, chance: float) -> int:
    """Give the token that `chance` falls on, 0 to 1 along the most probable."""
    probs, tokens = (logits / temperature).softmax(dim=-1).sort(descending=True)
    before = probs.cumsum(dim=-1) - probs
    kept = probs[before < top_p]
    reached = kept.cumsum(dim=-1) / kept.sum()
    place = int((reached <= chance).sum())
    return int(tokens[place])


def _ranked(logits: Tensor, temperature: float) -> tuple[list[float], list[int]]:
    probs, tokens = (logits / temperature).softmax(dim=-1).sort(descending=True)
    return probs.tolist(), tokens.tolist()


def _drawn(probs: list[float], tokens: list[int], chance: float) -> int:
    """Walk along the shares, whatever they sum to; stop at the last."""
    reached = 0.0
    for share, token in zip(probs, tokens, strict=True):
        reached += share
        if reached > chance:
            return token
    return tokens[-1]


def always_the_best(logits: Tensor, temperature: float, top_p: float, chance: float) -> int:
    """Draw nothing."""
    return int(logits.argmax())


def temperature_upside_down(logits: Tensor, temperature: float, top_p: float, chance: float) -> int:
    """Multiply by the temperature."""
    return my_sample(logits, 1 / temperature, top_p, chance)


def temperature_of_probabilities(
    logits: Tensor, temperature: float, top_p: float, chance: float
) -> int:
    """Divide the probabilities, which changes nothing once they are shared out again."""
    return my_sample(logits, 1.0, top_p, chance)


def nothing_cut(logits: Tensor, temperature: float, top_p: float, chance: float) -> int:
    """Draw from all types."""
    return my_sample(logits, temperature, 1.0, chance)


def cut_before_tempering(logits: Tensor, temperature: float, top_p: float, chance: float) -> int:
    """Choose the few by the probabilities at temperature 1."""
    probs, tokens = _ranked(logits, 1.0)
    total, few = 0.0, []
    for share, token in zip(probs, tokens, strict=True):
        if total < top_p:
            few.append(token)
        total += share
    shares = (logits[few] / temperature).softmax(dim=-1)
    return _drawn(shares.tolist(), few, chance)


def one_too_few(logits: Tensor, temperature: float, top_p: float, chance: float) -> int:
    """Leave out the token with which top_p is reached, if another is left."""
    probs, tokens = _ranked(logits, temperature)
    few = max(1, sum(total < top_p for total in itertools.accumulate(probs)))
    total = sum(probs[:few])
    return _drawn([share / total for share in probs[:few]], tokens[:few], chance)


def each_by_itself(logits: Tensor, temperature: float, top_p: float, chance: float) -> int:
    """Take top_p for the least probability that a token may have, relative to the best."""
    probs, tokens = _ranked(logits, temperature)
    few = sum(share >= (1 - top_p) * probs[0] for share in probs)
    total = sum(probs[:few])
    return _drawn([share / total for share in probs[:few]], tokens[:few], chance)


def not_shared_out_again(logits: Tensor, temperature: float, top_p: float, chance: float) -> int:
    """Draw as if what was cut were still there; where that is hit, take the last that is left."""
    probs, tokens = _ranked(logits, temperature)
    few = sum(total < top_p for total in itertools.accumulate(probs[:-1], initial=0.0))
    return _drawn(probs[:few], tokens[:few], chance)


def place_for_token(logits: Tensor, temperature: float, top_p: float, chance: float) -> int:
    """Give the place in the order of probability."""
    order = logits.argsort(descending=True)
    return int((order == my_sample(logits, temperature, top_p, chance)).nonzero())


def least_first(logits: Tensor, temperature: float, top_p: float, chance: float) -> int:
    """Sort upwards."""
    return my_sample(-logits, temperature, top_p, chance)


def _walk(logits: list[float], temperature: float, top_p: float) -> list[tuple[int, float]]:
    """List the tokens that are kept with where each one's stretch ends, 0 to 1."""
    top = max(logits)
    powers = [math.exp((logit - top) / temperature) for logit in logits]
    order = sorted(range(len(powers)), key=lambda token: -powers[token])
    few: list[int] = []
    while math.fsum(powers[token] for token in few) < top_p * math.fsum(powers):
        few.append(order[len(few)])
    kept = math.fsum(powers[token] for token in few)
    ends = itertools.accumulate(powers[token] / kept for token in few)
    return list(zip(few, ends, strict=True))


def _by_walking(logits: Tensor, temperature: float, top_p: float, chance: float) -> int:
    walk = _walk(logits.tolist(), temperature, top_p)
    return next((token for token, end in walk if end > chance), walk[-1][0])


def _is_clear(logits: list[float], temperature: float, top_p: float, chance: float) -> bool:
    """Whether the same is drawn, from as many, if top_p or chance is a little less or more."""
    if any(abs(end - chance) < NEAR for _, end in _walk(logits, temperature, top_p)):
        return False
    less = _walk(logits, temperature, top_p - NEAR)
    return len(less) == len(_walk(logits, temperature, top_p + NEAR))


def _draws() -> list[tuple[Tensor, float, float, float]]:
    """Two types and more, cold and hot, few and all, low and high chances."""
    rows = ([2.0, 1.0], [0.0, 1.5, -1.0, 1.0], [0.5, -2.0, 0.25, 2.0, 1.0], [-7.0, -6.0, -5.5])
    cases = [
        (torch.tensor(row), temperature, top_p, chance)
        for row in rows
        for temperature in (0.5, 1.0, 2.0)
        for top_p in (0.3, 0.6, 0.9, 0.99)
        for chance in (0.0, 0.2, 0.55, 0.8, 0.99)
        if _is_clear(row, temperature, top_p, chance)
    ]
    cases.append((torch.tensor([5.0]), 1.0, 0.5, 0.7))  # one type
    cases.append((torch.tensor([80.0, 81.0, 79.0]), 0.1, 0.9, 0.5))  # e ** 810 is no float
    return cases


_THREE = torch.tensor([math.log(2), math.log(5), math.log(3)])

sample = Exercise(
    my_sample,
    words,
    worked=[
        # .5, .3, .2 for tokens 1, 2, 0. The first two reach .7; shared out again 5/8 and 3/8
        ((_THREE, 1.0, 0.7, 0.6), 1),
        ((_THREE, 1.0, 0.7, 0.7), 2),
        ((_THREE, 1.0, 0.99, 0.9), 0),
        # at a half the odds are 25 : 9 : 4, and .65 falls within the first 25 of 38
        ((_THREE, 0.5, 0.99, 0.65), 1),
    ],
    cases=_draws(),
    expected=_by_walking,
    wrong={
        "always_the_best": always_the_best,
        "temperature_upside_down": temperature_upside_down,
        "temperature_of_probabilities": temperature_of_probabilities,
        "nothing_cut": nothing_cut,
        "cut_before_tempering": cut_before_tempering,
        "one_too_few": one_too_few,
        "each_by_itself": each_by_itself,
        "not_shared_out_again": not_shared_out_again,
        "place_for_token": place_for_token,
        "least_first": least_first,
    },
)
