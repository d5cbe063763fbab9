"""Exercises of lesson 00 that need no PyTorch: perplexity and a search through all sentences."""

import itertools
import math
import statistics
from typing import Any

from lessonkit.exercises.exercise import Exercise
from lessonkit.exercises.without_torch.probability_table import (
    ProbabilityTable,
    best_sentence_by_beam_search,
    unambiguous_search_cases,
)
from lessonkit.exercises.wording import read_lesson_wording
from transformer.config import BOS_ID, EOS_ID

lesson_wording = read_lesson_wording("00")
EXHAUSTIVE_BEAM_SIZE = 3**4  # prefixes, and no more of them in any case


def my_perplexity(losses: list[float]) -> float:
    """Turn the losses of all tokens (nats) into one perplexity."""
    return math.exp(sum(losses) / len(losses))


perplexity = Exercise(
    my_perplexity,
    lesson_wording,
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
    properties={"a perplexity is at least 1": lambda value, losses: value >= 1 - 1e-6},
)


def my_most_probable_sentence(next_probs: Any, limit: int) -> list[int]:
    """Find the most probable sentence of `limit` tokens, eos included."""
    bos_id, eos_id = 2, 3
    best, best_prob = [], 0.0
    open_ones = [([bos_id], 1.0)]
    for _ in range(limit):
        longer = []
        for written, prob in open_ones:
            for token, next_prob in next_probs(written).items():
                if token != eos_id:
                    longer.append(([*written, token], prob * next_prob))
                elif prob * next_prob > best_prob:
                    best, best_prob = written[1:], prob * next_prob
        open_ones = longer
    return best


def _most_probable_sentence_cases() -> list[tuple[ProbabilityTable, int]]:
    """Three words, and a best sentence whose beginning lies behind up to six others."""
    tenths = (
        ((0, 6, 4, 0), (0, 5, 4, 1), (1, 5, 3, 1), (9, 1, 0, 0)),
        ((0, 2, 0, 8), (0, 0, 1, 9), (2, 4, 2, 2), (0, 5, 0, 5)),
        ((0, 8, 2, 0), (0, 6, 4, 0), (0, 3, 6, 1), (1, 6, 3, 0)),
    )
    tables = []
    for rows in tenths:
        shares = [dict(zip((EOS_ID, 4, 5, 6), (n / 10 for n in row), strict=True)) for row in rows]
        tables.append(ProbabilityTable(dict(zip((BOS_ID, 4, 5, 6), shares, strict=True))))
    return [(table, 4) for table in tables]


_NEXT_TOKEN_PROBS = {
    2: {3: 0.1, 4: 0.5, 5: 0.4},
    4: {3: 0.2, 4: 0.4, 5: 0.4},
    5: {3: 0.9, 4: 0.05, 5: 0.05},
}
most_probable_sentence = Exercise(
    my_most_probable_sentence,
    lesson_wording,
    worked=[
        (
            (ProbabilityTable(_NEXT_TOKEN_PROBS), 2),
            [5],
        ),  # 0.4 * 0.9 = 0.36, against 0.5 * 0.2 = 0.1 and 0.1 at once
        (
            (ProbabilityTable({2: {3: 0.6, 4: 0.4}, 4: {3: 0.9, 4: 0.1}}), 2),
            [],
        ),  # at once, with no word
    ],
    cases=[case[:2] for case in unambiguous_search_cases((EXHAUSTIVE_BEAM_SIZE,), num_tables=27)]
    + _most_probable_sentence_cases(),
    expected=lambda next_probs, limit: best_sentence_by_beam_search(
        next_probs, limit, EXHAUSTIVE_BEAM_SIZE
    ),
)
