"""Exercises of lesson 07 that need no PyTorch: beam search (§6.1)."""

from typing import Any

from lessonkit.exercises.exercise import Exercise
from lessonkit.exercises.without_torch.probability_table import (
    ProbabilityTable,
    best_sentence_by_beam_search,
    unambiguous_search_cases,
)
from lessonkit.exercises.wording import read_lesson_wording

lesson_wording = read_lesson_wording("07")


def my_beam_search(next_probs: Any, limit: int, beam_size: int) -> list[int]:
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


_HAND_WORKED_TABLE = ProbabilityTable(
    {
        2: {3: 0.0, 4: 0.6, 5: 0.4, 6: 0.0},
        4: {3: 0.1, 4: 0.45, 5: 0.45, 6: 0.0},
        5: {3: 0.9, 4: 0.05, 5: 0.05, 6: 0.0},
        6: {3: 1.0, 4: 0.0, 5: 0.0, 6: 0.0},
    }
)

beam_search = Exercise(
    my_beam_search,
    lesson_wording,
    # 0.4 * 0.9 = 0.36, against 0.6 * 0.45 * 0.9 = 0.243
    worked=[((_HAND_WORKED_TABLE, 3, 2), [5])],
    cases=unambiguous_search_cases((2, 1, 2, 3), num_tables=80),
    expected=best_sentence_by_beam_search,
)
