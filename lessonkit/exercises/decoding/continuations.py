"""An exercise of lesson 06: which continuations of a beam live on."""

import itertools

from lessonkit.exercises.asking import read_words
from lessonkit.exercises.check import Exercise

words = read_words("06")


def my_step(
    totals: list[float], log_probs: list[list[float]], beam_size: int
) -> list[tuple[int, int]]:
    """Choose the best of all continuations, as pairs (row, token)."""
    candidates = []
    for row, scores in enumerate(log_probs):
        for token, score in enumerate(scores):
            candidates.append((totals[row] + score, row, token))
    candidates.sort(key=lambda candidate: -candidate[0])
    return [(row, token) for _, row, token in candidates[:beam_size]]


Rows = list[list[float]]
Chosen = list[tuple[int, int]]


def each_its_best(totals: list[float], log_probs: Rows, beam_size: int) -> Chosen:
    """Let every prefix keep its own best continuation."""
    best = [(row, scores.index(max(scores))) for row, scores in enumerate(log_probs)]
    best.sort(key=lambda pair: -(totals[pair[0]] + log_probs[pair[0]][pair[1]]))
    return best[:beam_size]


def forgets_totals(totals: list[float], log_probs: Rows, beam_size: int) -> Chosen:
    """Compare the last tokens alone."""
    return my_step([0.0] * len(totals), log_probs, beam_size)


def worst_first(totals: list[float], log_probs: Rows, beam_size: int) -> Chosen:
    """Sort upwards, and take the beginning."""
    return my_step([-t for t in totals], [[-p for p in row] for row in log_probs], beam_size)


def not_sorted(totals: list[float], log_probs: Rows, beam_size: int) -> Chosen:
    """Take the first candidates, not the best."""
    return list(itertools.product(range(len(totals)), range(len(log_probs[0]))))[:beam_size]


def token_then_row(totals: list[float], log_probs: Rows, beam_size: int) -> Chosen:
    """Give the pair the wrong way round."""
    return [(token, row) for row, token in my_step(totals, log_probs, beam_size)]


def multiplies(totals: list[float], log_probs: Rows, beam_size: int) -> Chosen:
    """Multiply logarithms, as if they were probabilities."""
    products = [[-totals[i] * p for p in row] for i, row in enumerate(log_probs)]
    return my_step([0.0] * len(totals), products, beam_size)


def _steps() -> list[tuple[list[float], Rows, int]]:
    """Small beams without ties."""
    small = [
        ([-1.0], [[-0.5, -2.0, -3.0]], 2),
        ([-1.0, -1.25], [[-3.0, -2.5], [-0.5, -0.75]], 2),
        ([-0.5, -4.0], [[-1.0, -2.0], [-0.25, -3.0]], 2),
        ([-2.0, -0.5], [[-0.25, -1.5], [-3.0, -0.75]], 1),
        ([-0.125, -2.0], [[-5.0, -6.0], [-2.0, -9.0]], 1),
    ]
    large = [
        (
            [-0.31 * (row + 1) ** 1.3 for row in range(rows)],
            [
                [-0.17 * ((7 * row + 5 * token) % 11 + 1) ** 1.1 for token in range(5)]
                for row in range(rows)
            ],
            rows,
        )
        for rows in (2, 3)
    ]
    return small + large


def _by_ranking(totals: list[float], log_probs: Rows, beam_size: int) -> Chosen:
    """Choose a pair where fewer than beam_size others are better: no sorting of candidates."""
    pairs = list(itertools.product(range(len(totals)), range(len(log_probs[0]))))
    sums = {(row, token): totals[row] + log_probs[row][token] for row, token in pairs}
    ranks = {pair: sum(other > sums[pair] for other in sums.values()) for pair in pairs}
    return sorted((p for p in pairs if ranks[p] < beam_size), key=ranks.__getitem__)


step = Exercise(
    my_step,
    words,
    worked=[
        (([-1.0, -1.25], [[-3.0, -2.5], [-0.5, -0.75]], 2), [(1, 0), (1, 1)]),
        (([-1.0], [[-0.5, -2.0, -3.0]], 2), [(0, 0), (0, 1)]),
    ],
    cases=_steps(),
    expected=_by_ranking,
    wrong={
        "each_its_best": each_its_best,
        "forgets_totals": forgets_totals,
        "worst_first": worst_first,
        "not_sorted": not_sorted,
        "token_then_row": token_then_row,
        "multiplies": multiplies,
    },
)
