"""Exercises of lesson 13 that need no PyTorch: an entropy, and the error of alignments."""

import itertools
import math
import random

from lessonkit.exercises.exercise import Exercise
from lessonkit.exercises.toys import CASE_SEED_SHIFT
from lessonkit.exercises.wording import read_lesson_wording

AlignmentLinks = list[tuple[int, int]]  # a sentence's links, (source, target)
lesson_wording = read_lesson_wording("13")


def my_attention_entropy(weights: list[float]) -> float:
    """Return the entropy of one row of attention weights, in nats."""
    return -sum(w * math.log(w) for w in weights if w > 0)


def _attention_entropy_cases() -> list[list[float]]:
    chance = random.Random(9 + CASE_SEED_SHIFT)
    drawn = [[math.exp(chance.gauss(0, 1)) for _ in range(n)] for n in (2, 3, 4, 5)]
    rounded = [[round(w / sum(row), 3) for w in row[1:]] for row in drawn]
    whole = [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0, 0.0], [0.25, 0.75], [0.5, 0.25, 0.25]]
    whole += [[0.125] * 8, [0.99, 0.004, 0.006]]
    return whole + [[round(1 - sum(row), 3), *row] for row in rounded]  # each sums to 1


def _entropy_of_torch(weights: list[float]) -> float:
    import torch

    return float(torch.special.entr(torch.tensor(weights).double()).sum())


attention_entropy = Exercise(
    my_attention_entropy,
    lesson_wording,
    worked=[
        (([1.0, 0.0],), 0.0),  # all on one key
        (([0.25, 0.25, 0.25, 0.25],), math.log(4)),  # as even as can be
    ],
    cases=[(row,) for row in _attention_entropy_cases()],
    expected=_entropy_of_torch,
)


def my_alignment_error_rate(found: list[AlignmentLinks], gold: list[AlignmentLinks]) -> float:
    """Return the alignment error rate of all sentences together."""
    right = total = 0
    for mine, true in zip(found, gold, strict=True):
        right += len(set(mine) & set(true))
        total += len(mine) + len(true)
    return 1 - 2 * right / total


def _expected_alignment_error_rate(
    found: list[AlignmentLinks], gold: list[AlignmentLinks]
) -> float:
    """1 less the harmonic mean of precision and recall, over links that know their sentence."""
    numbered = [(i, *link) for i, links in enumerate(found) for link in links]
    numbered_gold = [(i, *link) for i, links in enumerate(gold) for link in links]
    right = sum(link in numbered_gold for link in numbered)
    if right == 0:
        return 1.0
    precision, recall = right / len(numbered), right / len(numbered_gold)
    return 1 - 2 / (1 / precision + 1 / recall)


def _alignment_error_rate_cases() -> list[tuple[list[AlignmentLinks], list[AlignmentLinks]]]:
    every = list(itertools.product(range(2), range(2)))
    sets = [list(each) for n in (1, 2, 3) for each in itertools.combinations(every, n)]
    alone = [([mine], [true]) for mine in sets for true in sets]
    chosen = sets[::3]
    pairs = [
        ([a, b], [c, d]) for a, b, c, d in itertools.product(chosen, [[], *chosen], chosen, chosen)
    ]
    return alone + pairs[::7]


alignment_error_rate = Exercise(
    my_alignment_error_rate,
    lesson_wording,
    worked=[
        (([[(0, 0), (1, 1)]], [[(0, 0), (1, 0)]]), 0.5),
        (([[(0, 0)], [(1, 1)]], [[(0, 0)], [(0, 0), (1, 0)]]), 0.6),
    ],
    cases=_alignment_error_rate_cases(),
    expected=_expected_alignment_error_rate,
)
