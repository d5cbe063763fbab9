"""Two exercises of lesson 06: which continuations of a beam live on, and a whole beam search."""

import heapq
import itertools
import random
from typing import Any

from lessonkit.exercises.asking import read_words
from lessonkit.exercises.check import Exercise
from lessonkit.exercises.toys import Table
from transformer.config import BOS_ID, EOS_ID

Rows = list[list[float]]
Shares = dict[int, dict[int, float]]

WORDS = (4, 5, 6)

words = read_words("06")


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
    wrong={
        "each_its_best": ("enumerate(scores)", "[(scores.index(max(scores)), max(scores))]"),
        "forgets_totals": ("totals[row] + score", "score"),
        "worst_first": ("-candidate[0]", "candidate[0]"),
        "not_sorted": ("candidates.sort(key=lambda candidate: -candidate[0])", "pass"),
        "token_then_row": ("[(row, token)", "[(token, row)"),
        "multiplies": ("totals[row] + score", "-totals[row] * score"),
    },
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
    wrong={
        "beam_of_one": ("[:beam_size]", "[:1]"),
        "cuts_nothing": ("[:beam_size]", ""),
        "each_its_best": (
            "        living = longer[:beam_size]",
            "        best_of = {tuple(each[0][:-1]): each for each in reversed(longer)}\n"
            "        living = longer[:beam_size] if len(living) == 1 else list(best_of.values())",
        ),
        "first_finished": ("range(limit)", "range(min(limit, 2))"),
        "ends_take_a_place": (
            "token != eos_id",
            "True",
            "living = longer[:beam_size]",
            "living = [each for each in longer[:beam_size] if each[0][-1] != eos_id]\n"
            "        ends = [each for each in longer[:beam_size] if each[0][-1] == eos_id]\n"
            "        if ends and ends[0][1] > best_prob:\n"
            "            best, best_prob = ends[0][0][1:-1], ends[0][1]",
        ),
        "best_unfinished": ("return best", "return living[0][0][1:]"),
    },
)
