"""What the records say to a claim of README, docs or lessons: its figures, computed anew.

Not in the paper. docs/claims.toml has the claims, and says for each where its figures come from;
`experiments.claims` holds them against the pages.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from statistics import mean
from typing import Any, NamedTuple

from experiments.modern_table import COMPARISONS
from lessonkit.analysis.significance import (
    difference_interval,
    difference_p_value,
    holm_adjusted_p_values,
    margin_of_error,
    mean_interval,
    one_sided_t_test,
)
from lessonkit.analysis.variant_comparison import WORTH_BY_MEASURE, compare_variants
from lessonkit.records import READINGS, load_result, load_runs, precision_of_run, scores_by_variant

SIGNIFICANCE_LEVEL = 0.05

ClaimTomlTable = Mapping[str, Any]
JsonRecord = Mapping[str, Any]


class Evidence(NamedTuple):
    """What the records say to a claim today."""

    figures: list[float]  # in the order of the numbers in the claim's words
    significant: dict[str, list[str]]  # by reading: what of a family differs, by Holm's rule
    n: int  # runs behind each figure
    family: int  # comparisons judged together
    precisions: set[str]
    commits: set[str]  # several: runs of different code; "with changes": not committed


def compute_evidence(claim: ClaimTomlTable) -> Evidence:
    """Compute a claim from its records, by the kind of its figure."""
    return EVIDENCE_FUNCTIONS[claim["figure"]](claim)


def _evidence_of_values(claim: ClaimTomlTable) -> Evidence:
    """Read values in records, at a path of keys in `record` or in another as NAME:PATH.

    "PATH per PATH" is a quotient.
    """
    figures, records = [], []
    for place in claim["at"]:
        other_record, _, paths = place.rpartition(":")
        record = load_result(other_record or claim.get("record", ""))
        value, *divisors = (_value_at_path(record, path) for path in paths.split(" per "))
        divisor = divisors[0] if divisors else claim.get("unit", 1)
        figures.append(value / divisor)
        records.append(record)
    return _evidence_from_figures_and_records(figures, records)


def _evidence_of_mean(claim: ClaimTomlTable) -> Evidence:
    """Compute the mean over a recipe's seeds in one precision, then its interval."""
    runs, points = _runs_and_scores(claim)
    return _evidence_from_figures_and_records(
        [mean(points), *mean_interval(points)], runs, len(points)
    )


def _evidence_of_mean_above_goal(claim: ClaimTomlTable) -> Evidence:
    """Test whether a recipe's mean is above a published figure."""
    runs, points = _runs_and_scores(claim)
    is_above = one_sided_t_test(points, claim["goal"]) < SIGNIFICANCE_LEVEL
    significant = {"beam": [claim["recipe"]] if is_above else []}
    return _evidence_from_figures_and_records([], runs, len(points), significant)


def _evidence_of_difference(claim: ClaimTomlTable) -> Evidence:
    """Compute the interval of a difference between two groups of runs; 0 is in it or not."""
    (base, base_points), (other, other_points) = (
        _runs_and_scores(claim | group) for group in claim["groups"]
    )
    low, high = difference_interval(base_points, other_points)
    significant = {"beam": ["difference"] if low > 0 or high < 0 else []}
    fewest = min(len(base_points), len(other_points))
    return _evidence_from_figures_and_records([low, high], [*base, *other], fewest, significant)


def _evidence_of_comparison_family(claim: ClaimTomlTable) -> Evidence:
    """Test which variants of an experiment differ from its base, by Holm's rule, by reading."""
    record = load_result(claim["record"])
    significant = {}
    for reading in READINGS.values():
        points = scores_by_variant(record, reading)
        base = points.pop(claim["base"])
        p_values = {name: difference_p_value(base, runs) for name, runs in points.items()}
        significant[reading] = names_significant_by_holm(p_values)
    fewest = min(len(runs) for runs in points.values())
    return _evidence_from_figures_and_records(
        [], record["runs"], fewest, significant, len(p_values)
    )


def _evidence_of_test_comparisons(claim: ClaimTomlTable) -> Evidence:
    """Find what the family of docs/modern.md shows to be higher or lower, by measure."""
    runs = load_result(claim["record"])["runs"]
    found = compare_variants(runs, COMPARISONS)
    significant: dict[str, list[str]] = {measure: [] for measure in WORTH_BY_MEASURE}
    for (name, base, measure), comparison in found.items():
        if comparison.verdict in ("higher", "lower"):
            significant[measure].append(f"{name} {comparison.verdict} than {base}")
    fewest = min(Counter(run["variant"] for run in runs).values())
    return _evidence_from_figures_and_records([], runs, fewest, significant, len(found))


def _evidence_of_bleu_losses(claim: ClaimTomlTable) -> Evidence:
    """Compute by how much the means of some variants of an experiment are below its base's."""
    record = load_result(claim["record"])
    points = scores_by_variant(record)
    costs = [mean(points[claim["base"]]) - mean(points[name]) for name in claim["at"]]
    fewest = min(len(points[name]) for name in claim["at"])
    return _evidence_from_figures_and_records(costs, record["runs"], fewest, family=len(points) - 1)


def _evidence_of_single_runs(claim: ClaimTomlTable) -> Evidence:
    """Test which variants, of one run each, are beyond the margin of another recipe's seeds."""
    record = load_result(claim["record"])
    points_by_precision = {
        name: [run["figures"]["bleu"]["score"] for run in runs]
        for name, runs in load_runs(claim["recipe"]).items()
    }
    margin = margin_of_error(points_by_precision, runs=1)
    significant = {}
    for reading in READINGS.values():
        points = scores_by_variant(record, reading)
        [base] = points.pop(claim["base"])
        significant[reading] = [
            name for name, [single] in points.items() if abs(single - base) > margin
        ]
    return _evidence_from_figures_and_records([margin], record["runs"], 1, significant, len(points))


def _evidence_of_head_costs(claim: ClaimTomlTable) -> Evidence:
    """Compute the largest cost of a head of a stack, by zero or by its mean, as `at` names them."""
    record = load_result(claim["record"])
    figures = record["figures"]
    whole = figures["whole"]["beam"]
    costs = {
        f"{replacement} {name}": whole - head["beam"]
        for replacement in ("zero", "mean")
        for name, head in figures[replacement]["heads"].items()
    }
    largest = [
        max(cost for name, cost in costs.items() if re.search(pattern, name))
        for pattern in claim["at"]
    ]
    return _evidence_from_figures_and_records(largest, [record], family=len(costs))


EVIDENCE_FUNCTIONS: dict[str, Callable[[ClaimTomlTable], Evidence]] = {
    "value": _evidence_of_values,
    "mean": _evidence_of_mean,
    "above": _evidence_of_mean_above_goal,
    "difference": _evidence_of_difference,
    "family": _evidence_of_comparison_family,
    "test family": _evidence_of_test_comparisons,
    "costs": _evidence_of_bleu_losses,
    "single runs": _evidence_of_single_runs,
    "heads": _evidence_of_head_costs,
}


def names_significant_by_holm(p_values: Mapping[str, float]) -> list[str]:
    """Return what of a family of comparisons is significant by Holm's rule, smallest p first."""
    adjusted = dict(zip(p_values, holm_adjusted_p_values(list(p_values.values())), strict=True))
    names = [name for name in p_values if adjusted[name] <= SIGNIFICANCE_LEVEL]
    return sorted(names, key=lambda name: p_values[name])


def _runs_and_scores(claim: ClaimTomlTable) -> tuple[list[dict[str, Any]], list[float]]:
    """Return the runs of a claim's recipe, precision and seeds, and the figure of each."""
    runs = load_runs(claim["recipe"])[claim["precision"]]
    if "seeds" in claim:
        runs = [run for run in runs if run["training"]["seed"] in claim["seeds"]]
    path = claim.get("key", "bleu/score")
    return runs, [_value_at_path(run["figures"], path) for run in runs]


def _value_at_path(record: Any, path: str) -> Any:
    """Return the value of a record at a path of keys and places: "runs/0/seconds"."""
    value = record
    for step in path.strip().split("/"):
        value = value[int(step) if step.isdigit() else step]
    return value


def _evidence_from_figures_and_records(
    figures: list[float],
    records: Sequence[JsonRecord],
    n: int = 1,
    significant: dict[str, list[str]] | None = None,
    family: int = 1,
) -> Evidence:
    """Gather figures with the precisions and commits of the records behind them."""
    precisions = {
        precision_of_run(record)
        for record in records
        if "precision" in record.get("training", {}) or "training" in record.get("recipe", {})
    }
    commits = {record.get("training", record)["commit"] for record in records}
    return Evidence(figures, significant or {}, n, family, precisions, commits)
