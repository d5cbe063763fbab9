"""What was trained is told with its interval, and a score tells only what it shows."""

from typing import Any

import pytest

from lessonkit.museum import trained_table


def runs_of(*bleu: float, perplexity: float | None = 1.25) -> list[dict[str, Any]]:
    return [
        {"seed": seed, "bleu": {"score": score}, "perplexity": perplexity, "curve": [[400, 0.5]]}
        for seed, score in enumerate(bleu, start=1)
    ]


def test_a_fault_of_the_search_is_compared_seed_by_seed() -> None:
    runs = {
        "sound": runs_of(80.0, 84.0, 88.0),
        "cache_not_reordered": runs_of(78.9, 83.0, 87.1),
        "relu_missing": runs_of(78.9, 83.0, 87.1),
    }
    # The same three scores: one point less by the same weights, or two means of a wide spread.
    interval = trained_table.against_sound("cache_not_reordered", runs)
    # Differences -1.1, -1.0, -0.9: deviation 0.1, so 4.303 * 0.1 / sqrt(3) to either side.
    assert interval == pytest.approx((-1.2484, -0.7516), abs=1e-4)
    assert trained_table.told_by_score("cache_not_reordered", runs)
    assert not trained_table.told_by_score("relu_missing", runs)


def test_one_seed_tells_nothing() -> None:
    runs = {"sound": runs_of(80.0), "relu_missing": runs_of(0.0)}
    assert trained_table.against_sound("relu_missing", runs) is None
    assert not trained_table.told_by_score("relu_missing", runs)
