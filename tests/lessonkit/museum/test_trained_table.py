"""What was trained is told with its interval, and a score tells only what it shows."""

from typing import Any

import pytest

from experiments.museum_training import trained
from lessonkit.museum import trained_table


def _runs(*bleu: float, perplexity: float | None = 1.25) -> list[dict[str, Any]]:
    return [
        {"seed": seed, "bleu": {"score": score}, "perplexity": perplexity, "curve": [[400, 0.5]]}
        for seed, score in enumerate(bleu, start=1)
    ]


def test_a_fault_of_the_search_is_compared_seed_by_seed() -> None:
    runs = {
        "sound": _runs(80.0, 84.0, 88.0),
        "cache_not_reordered": _runs(78.9, 83.0, 87.1),
        "relu_missing": _runs(78.9, 83.0, 87.1),
    }
    # The same three scores: one point less by the same weights, or two means of a wide spread.
    interval = trained_table.against_sound("cache_not_reordered", runs)
    # Differences -1.1, -1.0, -0.9: deviation 0.1, so 4.303 * 0.1 / sqrt(3) to either side.
    assert interval == pytest.approx((-1.2484, -0.7516), abs=1e-4)
    assert trained_table.told_by_score("cache_not_reordered", runs)
    assert not trained_table.told_by_score("relu_missing", runs)


def test_one_seed_tells_nothing() -> None:
    runs = {"sound": _runs(80.0), "relu_missing": _runs(0.0)}
    assert trained_table.against_sound("relu_missing", runs) is None
    assert not trained_table.told_by_score("relu_missing", runs)


def test_the_section_counts_what_it_shows() -> None:
    runs = {
        "sound": _runs(80.0, 81.0, 82.0),
        "shift_missing": _runs(0.0, 0.1, 0.2, perplexity=None),
        "relu_missing": _runs(80.0, 81.0, 82.5, perplexity=4321.0),
    }
    lines = trained_table.section(runs, {"shift_missing": ["shifted_by_one"], "relu_missing": []})
    assert "2 were trained" in lines[2]
    assert "3 seeds each" in lines[2]
    assert "for 1 of them it does not, and a law is broken by 0 of these" in lines[2]
    assert lines[6] == "| the sound model | 81.0 | 1.25 | 0.50 |  |  |"
    assert lines[7].startswith("| `relu_missing` | 81.2 (")
    assert lines[7].endswith("| 4,321 | 0.50 | no | none |")
    assert lines[8].endswith("| none | 0.50 | yes | `shifted_by_one` |")


def test_every_record_has_the_same_seeds_and_the_budget_of_the_sound_model() -> None:
    runs = trained_table.read_runs()
    assert set(runs) <= set(trained())
    seeds = [run["seed"] for run in runs["sound"]]
    assert {name: [run["seed"] for run in each] for name, each in runs.items()} == dict.fromkeys(
        runs, seeds
    )
