"""The exercises of lesson 06, in its order. `Table` and `Writer` are its toys.

Drawing a token is not in the paper: Holtzman et al. (2020), "The Curious Case of Neural Text
Degeneration".
"""

import heapq
import itertools
import math
import random
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from lessonkit.exercises.asking import asked, read_words
from lessonkit.exercises.check import Exercise
from lessonkit.exercises.toys import Table, Writer
from transformer.config import BOS_ID, EOS_ID

words = read_words("06")
globals().update(asked(words))  # recall and the predictions

Rows = list[list[float]]
Shares = dict[int, dict[int, float]]
WORDS = (4, 5, 6)
CLEAR = 0.05  # by which the best score is ahead in every case
NEAR = 1e-3  # a case is left out where top_p or chance is as near as that to an edge


def my_step(totals: list[float], log_probs: Rows, beam_size: int) -> list[tuple[int, int]]:
    """Choose the best of all continuations, as pairs (row, token)."""
    candidates = []
    for row, scores in enumerate(log_probs):
        for token, score in enumerate(scores):
            candidates.append((totals[row] + score, row, token))
    candidates.sort(key=lambda candidate: -candidate[0])
    return [(row, token) for _, row, token in candidates[:beam_size]]


def _by_ranking(totals: list[float], log_probs: Rows, beam_size: int) -> list[tuple[int, int]]:
    """Choose a pair where fewer than beam_size others are better: no sorting of candidates."""
    pairs = list(itertools.product(range(len(totals)), range(len(log_probs[0]))))
    sums = {(row, token): totals[row] + log_probs[row][token] for row, token in pairs}
    ranks = {pair: sum(other > sums[pair] for other in sums.values()) for pair in pairs}
    return sorted((p for p in pairs if ranks[p] < beam_size), key=ranks.__getitem__)


def _large_step(rows: int) -> tuple[list[float], Rows, int]:
    """A beam of some rows and five tokens, without ties."""
    totals = [-0.31 * (row + 1) ** 1.3 for row in range(rows)]
    turns = [[(7 * row + 5 * token) % 11 + 1 for token in range(5)] for row in range(rows)]
    return totals, [[-0.17 * turn**1.1 for turn in each] for each in turns], rows


step = Exercise(
    my_step,
    words,
    worked=[
        (([-1.0, -1.25], [[-3.0, -2.5], [-0.5, -0.75]], 2), [(1, 0), (1, 1)]),
        (([-1.0], [[-0.5, -2.0, -3.0]], 2), [(0, 0), (0, 1)]),
    ],
    cases=[
        ([-1.0], [[-0.5, -2.0, -3.0]], 2),
        ([-1.0, -1.25], [[-3.0, -2.5], [-0.5, -0.75]], 2),
        ([-0.5, -4.0], [[-1.0, -2.0], [-0.25, -3.0]], 2),
        ([-2.0, -0.5], [[-0.25, -1.5], [-3.0, -0.75]], 1),
        ([-0.125, -2.0], [[-5.0, -6.0], [-2.0, -9.0]], 1),
        *map(_large_step, (2, 3)),
    ],
    expected=_by_ranking,
)


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


def _is_clear_draw(logits: list[float], temperature: float, top_p: float, chance: float) -> bool:
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
        if _is_clear_draw(row, temperature, top_p, chance)
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
)


def my_beam(next_probs: Any, limit: int, beam_size: int) -> list[int]:
    """Find the best finished sentence with beam_size prefixes side by side."""
    bos_id, eos_id = 2, 3
    best, best_prob = [], 0.0
    living = [([bos_id], 1.0)]
    for _ in range(limit):
        longer = []
        for written, prob in living:
            for token, next_prob in next_probs(written).items():
                if token != eos_id:
                    longer.append(([*written, token], prob * next_prob))
                elif prob * next_prob > best_prob:
                    best, best_prob = written[1:], prob * next_prob
        longer.sort(key=lambda candidate: -candidate[1])
        living = longer[:beam_size]
    return best


def _by_levels(next_probs: Any, limit: int, beam_size: int) -> list[int]:
    """Search with a table of all prefixes of a level and their probabilities."""
    level: dict[tuple[int, ...], float] = {(): 1.0}
    finished: dict[tuple[int, ...], float] = {}
    for _ in range(limit):
        extended: dict[tuple[int, ...], float] = {}
        for words, prob in level.items():
            for token, share in next_probs([BOS_ID, *words]).items():
                extended[(*words, token)] = prob * share
        ends = {words for words in extended if words[-1] == EOS_ID}
        finished |= {words[:-1]: extended[words] for words in ends}
        kept = heapq.nlargest(beam_size, extended.keys() - ends, key=extended.__getitem__)
        level = {words: extended[words] for words in kept}
    best = max(finished, key=finished.__getitem__)
    return list(best)


def _tables() -> list[tuple[Table, int, int]]:
    """Toy models drawn by chance, but for those where two candidates are nearly equal."""
    chance = random.Random(7)
    cases = []
    for number in range(80):
        rows: Shares = {}
        for last in (BOS_ID, *WORDS):
            shares = [chance.choice((1, 2, 3, 5, 8, 13)) for _ in range(4)]
            if last == BOS_ID:
                shares[0] = 0  # a sentence without words is no sentence
            shown = [round(share / sum(shares), 2) for share in shares]
            rows[last] = dict(zip((EOS_ID, *WORDS), shown, strict=True))
        size = (2, 1, 2, 3)[number % 4]
        for limit in (2, 3, 4):
            if _is_clear(rows, limit, size, chance):
                cases.append((Table(rows), limit, size))
    return cases


def _is_clear(rows: Shares, limit: int, size: int, chance: random.Random) -> bool:
    """Whether small changes of all shares leave the answer as it is."""
    answers = set()
    for _ in range(9):
        moved = {
            last: {token: share * chance.uniform(0.97, 1.03) for token, share in row.items()}
            for last, row in rows.items()
        }
        answers.add(tuple(_by_levels(Table(moved), limit, size)))
    return len(answers) == 1


_BY_HAND = Table(
    {
        2: {3: 0.0, 4: 0.6, 5: 0.4, 6: 0.0},
        4: {3: 0.1, 4: 0.45, 5: 0.45, 6: 0.0},
        5: {3: 0.9, 4: 0.05, 5: 0.05, 6: 0.0},
        6: {3: 1.0, 4: 0.0, 5: 0.0, 6: 0.0},
    }
)


beam = Exercise(
    my_beam,
    words,
    worked=[((_BY_HAND, 3, 2), [5])],  # 0.4 * 0.9 = 0.36, against 0.6 * 0.45 * 0.9 = 0.243
    cases=_tables(),
    expected=_by_levels,
)
