"""The tables of docs/modern.md: what each change since 2017 does to a translator, and its cost.

Not in the paper. The protocol on that page says what is compared, and what counts as shown.
"""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from experiments.plans import EXPERIMENTS
from experiments.tables import markdown_table
from lessonkit.analysis.significance import mean_interval
from lessonkit.analysis.variant_comparison import (
    Comparison,
    Runs,
    compare_variants,
    measure_values,
)
from transformer.support.files import read_json
from transformer.support.folders import results_folder

# The same variants on two corpora: the ending of the places of each experiment's tables.
MARK_ENDING_BY_EXPERIMENT = {"modern": "", "modern_multi30k": "_multi30k"}
VARIANTS = list(EXPERIMENTS["modern"].variants)
PAPER, ALL_TOGETHER, DECODER_ONLY = "the paper's", "all together", "decoder-only"
# Each changed variant with what it is held against.
COMPARISONS = [(name, PAPER) for name in VARIANTS if name != PAPER]
COMPARISONS += [(DECODER_ONLY, ALL_TOGETHER)]
NO_RUNS = "No run has ended yet: nothing below is measured."
TOO_FEW = "too few runs"


def modern_tables_by_mark() -> dict[str, str]:
    """Return the tables of docs/modern.md, of what is recorded, by the name of their place.

    The comparisons on each corpus are a family of their own.
    """
    tables = {}
    for name, ending in MARK_ENDING_BY_EXPERIMENT.items():
        record = results_folder() / "experiments" / f"{name}.json"
        runs = read_json(record)["runs"] if record.exists() else []
        tables[f"scores{ending}"] = scores_table(runs)
        tables[f"comparisons{ending}"] = comparisons_table(runs)
    costs = results_folder() / "bench" / "modern.json"
    tables["costs"] = costs_table(read_json(costs)) if costs.exists() else "Not measured yet."
    return tables


def runs_by_variant(runs: Runs) -> dict[str, list[Mapping[str, Any]]]:
    """Return each variant's runs, in the order of the plan; none of one that was not run."""
    return {name: [run for run in runs if run["variant"] == name] for name in VARIANTS}


def scores_table(runs: Runs) -> str:
    """Return the table of every variant's means over its seeds, with the intervals of the means.

    If there is no run yet, a line above the table says so.
    """
    measures = {"BLEU": 2, "chrF++": 2, "perplexity": 3, "loss": 4}
    rows = []
    for name, own in runs_by_variant(runs).items():
        seeds = ", ".join(str(run["seed"]) for run in own)
        cells = [_mean_in_words(measure_values(own, m), places) for m, places in measures.items()]
        rows.append([name, seeds or "not run yet", *cells])
    table = markdown_table(["variant", "seeds", *measures], rows, words=range(2))
    return table if runs else f"{NO_RUNS}\n\n{table}"


def _mean_in_words(values: Sequence[float], places: int) -> str:
    """Return "95.49 (94.10 to 96.88)"; the mean alone of one run, and "" of none."""
    if not values:
        return ""
    mean = f"{statistics.mean(values):.{places}f}"
    if len(values) == 1:
        return mean
    low, high = mean_interval(values)
    return f"{mean} ({low:.{places}f} to {high:.{places}f})"


def comparisons_table(runs: Runs) -> str:
    """Return the table of the family of comparisons, with what each shows."""
    found = compare_variants(runs, COMPARISONS)
    rows = []
    for name, base in COMPARISONS:
        cells = []
        for measure, places in (("BLEU", 2), ("loss", 4)):
            comparison = found.get((name, base, measure))
            cells += _comparison_cells(comparison, places) if comparison else ["", "", TOO_FEW]
        rows.append([f"{name}, to {base}", *cells])
    head = ["compared", "BLEU", "p (Holm)", "verdict", "loss", "p (Holm)", "verdict"]
    return markdown_table(head, rows, words=(0, 3, 6))


def _comparison_cells(comparison: Comparison, places: int) -> list[str]:
    """Return "+0.52 (-0.10 to +1.14)", the p-value and the verdict."""
    numbers = (comparison.difference, *comparison.interval)
    difference, low, high = (f"{number:+.{places}f}" for number in numbers)
    p_value = f"{comparison.p_value:.3f}" if comparison.p_value >= 0.0005 else "< 0.001"
    return [f"{difference} ({low} to {high})", p_value, comparison.verdict]


def costs_table(figures: Mapping[str, Any]) -> str:
    """Return the table of what each variant costs, from the record of `bench modern`."""
    rows = []
    for name, variant in figures["variants"].items():
        cells = [
            f"{variant[key]:,}"
            for key in ("parameters", "multiply_adds_per_token", "cache_bytes_per_token")
        ]
        for what in ("step", "sentence"):
            measured = variant[what]
            low, high = measured["lowest_and_highest"]
            milliseconds = f"{1000 * measured['cpu_seconds']:.1f}"
            cells.append(f"{milliseconds} ({measured['times']:.2f}: {low:.2f} to {high:.2f})")
        rows.append([name, *cells])
    head = ["variant", "parameters", "multiplications a token", "bytes of cache a token"]
    head += ["CPU ms a step (times the paper's)", "CPU ms a sentence (times the paper's)"]
    about = (
        f"{figures['hardware']}, torch {figures['torch']}, {figures['date']}; "
        f"{figures['rounds']} rounds, side by side:"
    )
    return f"{about}\n\n{markdown_table(head, rows, words=range(1))}"
