"""Two exercises of lesson 06: a greedy search that keeps keys and values, and a token drawn.

The second is not in the paper: Holtzman et al. (2020), "The Curious Case of Neural Text
Degeneration".
"""

import itertools
import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from lessonkit.exercises.asking import read_words
from lessonkit.exercises.check import Exercise
from lessonkit.exercises.toys import Writer
from transformer.config import BOS_ID, EOS_ID

CLEAR = 0.05  # by which the best score is ahead in every case
NEAR = 1e-3  # a case is left out where top_p or chance is as near as that to an edge

words = read_words("06")


def my_cached_greedy(model: Any, limit: int) -> list[int]:
    """Write the best token again and again, and compute no position twice."""
    bos_id, eos_id = 2, 3
    keys, values, written = [], [], [bos_id]
    while len(written) <= limit:
        query, key, value = model.project(written[-1], len(written) - 1)
        keys.append(key)
        values.append(value)
        scores = torch.stack(keys) @ query / math.sqrt(len(query))
        attended = scores.softmax(dim=0) @ torch.stack(values)
        best = int(model.scores(attended).argmax())
        if best == eos_id:
            break
        written.append(best)
    return written[1:]


def _scores_in_full(model: Writer, written: list[int]) -> Tensor:
    """Score what may follow every position, in one pass with a causal mask and nothing kept."""
    hidden = model.tokens[written] + model.places[: len(written)]
    queries, keys, values = (hidden @ matrix for matrix in model.projections)
    attended = F.scaled_dot_product_attention(
        queries[None], keys[None], values[None], is_causal=True
    )
    return model.scores(attended[0])


def _without_cache(model: Writer, limit: int) -> list[int]:
    written = [BOS_ID]
    for _ in range(limit):
        written.append(int(_scores_in_full(model, written)[-1].argmax()))
        if written[-1] == EOS_ID:
            return written[1:-1]
    return written[1:]


def _writers() -> list[tuple[Writer, int]]:
    """Sentences of every length up to six, and some cut by the limit; no score is close."""
    cases = []
    for seed in range(60):
        model, limit = Writer(seed, (1, 2, 3)[seed % 3]), (1, 3, 6)[seed % 7 % 3]
        best = _scores_in_full(model, [BOS_ID, *_without_cache(model, limit)]).topk(2).values
        if float((best[:, 0] - best[:, 1]).min()) > CLEAR:
            cases.append((model, limit))
    return cases


_KEPT = "keys.append(key)\n        values.append(value)"
_END = "        if best == eos_id:\n            break\n"
_WRITE = "        written.append(best)\n"

cached_greedy = Exercise(
    my_cached_greedy,
    words,
    worked=[
        # after 2, 4 scores 2; after 2 4 the mean gives 4 1 and 5 3/2; after 2 4 5 it gives 3 2
        ((Writer(None, 2), 9), [4, 5]),
        ((Writer(None, 2), 1), [4]),
    ],
    cases=_writers(),
    expected=_without_cache,
    wrong={
        "computes_all_anew": (
            "model.project(written[-1], len(written) - 1)",
            "[model.project(token, place) for place, token in enumerate(written)][-1]",
        ),
        "sees_newest_alone": (_KEPT, "keys, values = [key], [value]"),
        "forgets_bos": (_KEPT, "keys, values = [*keys[-1:], key], [*values[-1:], value]"),
        "places_from_one": ("len(written) - 1", "len(written)"),
        "unscaled": (" / math.sqrt(len(query))", ""),
        "asks_as_bos": (
            _KEPT,
            f"first = first if keys else query\n        {_KEPT}",
            "@ query",
            "@ first",
        ),
        "runs_past_eos": ("best == eos_id", "False"),
        "keeps_eos": (_END + _WRITE, _WRITE + _END),
        "counts_bos": ("<= limit", "< limit"),
    },
)


def my_sample(logits: Tensor, temperature: float, top_p: float, chance: float) -> int:
    """Give the token that `chance` falls on, 0 to 1 along the most probable."""
    probs, tokens = (logits / temperature).softmax(dim=-1).sort(descending=True)
    before = probs.cumsum(dim=-1) - probs
    kept = probs[before < top_p]
    reached = kept.cumsum(dim=-1) / kept.sum()
    place = int((reached <= chance).sum())
    return int(tokens[place])


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
        "always_the_best": ("int((reached <= chance).sum())", "0"),
        "temperature_upside_down": ("/ temperature", "* temperature"),
        "temperature_of_probabilities": (" / temperature", ""),
        "nothing_cut": ("[before < top_p]", ""),
        "cut_before_tempering": (
            "before = probs.cumsum(dim=-1) - probs",
            "cold = logits[tokens].softmax(dim=-1)\n    before = cold.cumsum(dim=-1) - cold",
        ),
        "one_too_few": ("before < top_p", "before + probs * (before > 0) < top_p"),
        "each_by_itself": ("before < top_p", "probs >= (1 - top_p) * probs[0]"),
        "not_shared_out_again": (
            " / kept.sum()",
            "",
            "tokens[place]",
            "tokens[min(place, len(kept) - 1)]",
        ),
        "place_for_token": ("int(tokens[place])", "place"),
        "least_first": ("logits / ", "-logits / "),
    },
)
