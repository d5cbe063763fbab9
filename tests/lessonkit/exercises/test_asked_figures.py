"""The figures that a prediction's question states are those of the records."""

from collections.abc import Callable
from statistics import mean
from typing import Any

import pytest

from lessonkit.exercises import before, both_ways, german, scaling, variations
from lessonkit.exercises.asking import Prediction
from lessonkit.records import load_runs, scores
from transformer.evaluation.compare import difference_interval, margin, verdict
from transformer.support.files import read_json
from transformer.support.paths import results_folder


def record(name: str) -> Any:
    return read_json(results_folder() / f"{name}.json")


def bleu(name: str) -> float:
    return float(record(name)["figures"]["bleu"]["score"])


def seeds() -> dict[str, list[float]]:
    """The scores of all runs of the recipe, by their precision, as in lesson 07."""
    runs = load_runs("multi30k-de-en").items()
    return {name: [run["figures"]["bleu"]["score"] for run in each] for name, each in runs}


def faulty() -> list[str]:
    """The verdicts on the five faulty networks, by the paper's search."""
    sound, *others = scores(record("experiments/faults")).values()
    return [verdict(difference_interval(sound, runs), worth=1) for runs in others]


def captions() -> list[dict[str, Any]]:
    runs: list[dict[str, Any]] = record("experiments/captions")["runs"]
    return runs


def by_bleu() -> list[str]:
    ordered = sorted(captions(), key=lambda run: run["figures"]["beam"]["bleu"]["score"])
    return [run["variant"] for run in ordered]


def greedy(variant: str) -> float:
    return mean(scores(record("experiments/table-3"), "greedy")[variant])


def negations(name: str) -> dict[str, Any]:
    found: dict[str, Any] = record(f"contrasts/{name}")["phenomena"]["negation"]
    return found


def homework(variant: str) -> float:
    runs = {run["variant"]: run["figures"] for run in record("experiments/homework")["runs"]}
    return float(runs[variant]["beam"]["bleu"]["score"])


STATED: list[tuple[Prediction, str, Callable[[], object]]] = [
    (before.all_four_faults, "scores {} BLEU", lambda: round(homework("mended"))),
    (
        before.all_four_faults,
        "with attention {}.",
        lambda: round(bleu("validation/homework-seq2seq-attention")),
    ),
    (
        before.greedy_verdicts,
        "{} of the five",
        lambda: {4: "four"}.get(faulty().count("lower")) if len(faulty()) == 5 else None,
    ),
    (german.beyond_chance, "{} points", lambda: f"{margin(seeds(), runs=1):.1f}"),
    (german.beyond_chance, "{} ingredients", lambda: {7: "Six"}.get(len(captions()))),
    (
        german.whole_words,
        "{} worst of the seven",
        lambda: {1: "second"}.get(by_bleu().index("whole words")),
    ),
    (german.kept_negations, "of {} pairs", lambda: negations("de-en")["pairs"]),
    (both_ways.french_for_german, "scores {} BLEU", lambda: round(bleu("multi30k-de-en"))),
    (
        both_ways.everyday_negations,
        "in {} of 24",
        lambda: negations("de-en")["says"]["both"],
    ),
    (
        both_ways.everyday_negations,
        "its {} everyday",
        lambda: negations("tatoeba-fr-en")["pairs"],
    ),
    (
        variations.rows_shown,
        "{} rows",
        lambda: {18: "Seventeen"}.get(len(scores(record("experiments/table-3")))),
    ),
    (variations.half_the_rate, "base scores {} BLEU", lambda: round(greedy("base"))),
    (variations.half_the_rate, "network {}.", lambda: round(greedy("C: d_model 256"))),
    (
        scaling.products_in_sixteen,
        "{} seeds",
        lambda: {5: "five"}.get(min(map(len, scores(record("experiments/precision")).values()))),
    ),
]


@pytest.mark.parametrize(
    ("asked", "words", "count"), STATED, ids=[f"{p.name}: {w}" for p, w, _ in STATED]
)
def test_the_question_states_what_was_recorded(
    asked: Prediction, words: str, count: Callable[[], object]
) -> None:
    assert words.format(count()) in asked.asks
