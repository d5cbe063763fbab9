"""Tables in Markdown, of records: those of docs/results.md.

Not in the paper. `page_tables.py` has their places.
"""

import math
import statistics
import tomllib
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lessonkit.analysis.significance import mean_interval
from lessonkit.records import load_runs, precision_of_run
from transformer.config import LENGTH_PENALTY
from transformer.support.files import read_json
from transformer.support.folders import results_folder

MIN_RUNS_FOR_MEAN = 3  # fewer runs in one precision have no mean of their own

_PARSED_TABLES_TOML = tomllib.loads(
    Path(__file__).with_name("tables.toml").read_text(encoding="utf-8")
)
COLUMNS, SEED_COLUMNS, SHIPPED_COLUMNS, SYSTEM_COLUMNS, OWN_TEXT_COLUMNS = (
    _PARSED_TABLES_TOML[name] for name in ("runs", "seeds", "shipped", "systems", "own_text")
)
PUBLISHED_FIGURES_BY_SYSTEM = _PARSED_TABLES_TOML[
    "published"
]  # what each earlier system reported of itself
# Fields of words: they stand at the left of their cells, numbers at the right.
LEFT_ALIGNED_FIELDS = {"recipe", "test_set", "precision", "hardware", "date"}
LEFT_ALIGNED_FIELDS |= {"model", "measured"}
LEFT_ALIGNED_FIELDS |= {"published", "published_on", "ours_on"}
LEFT_ALIGNED_FIELDS |= {"direction", "trained_on"}


def markdown_table(
    heading: Sequence[str], rows: Iterable[Sequence[str]], words: Container[int]
) -> str:
    """Return a Markdown table; columns in `words`, from 0, are aligned left, others right."""
    rule = ["---" if column in words else "---:" for column in range(len(heading))]
    return _join_table_lines(heading, rule, *rows)


def runs_table() -> str:
    """Return a Markdown table of the recorded runs, a row each, in the order of their names."""
    paths = sorted(results_folder().glob("*.json"))
    return markdown_table_from_row_dicts(COLUMNS, [run_cells(read_json(path)) for path in paths])


def shipped_models_table() -> str:
    """Return a Markdown table of the shipped models' records, beside scores without a model."""
    records = [read_json(path) for path in sorted(results_folder().glob("shipped/*.json"))]
    return markdown_table_from_row_dicts(
        SHIPPED_COLUMNS, [_shipped_model_cells(record) for record in records]
    )


def _shipped_model_cells(record: Mapping[str, Any]) -> dict[str, str]:
    """Return a shipped model's cells by field, from its record (`ship.remeasure_shipped_model`)."""
    figures, measured = record["figures"], record["evaluation"]
    return {
        "model": f"`{record['model']}`",
        "test_set": _test_set_in_words(figures),
        "precision": precision_of_run(record),
        "bleu": score_and_interval(figures["bleu"]),
        "chrf": score_and_interval(figures["chrf++"]),
        "perplexity": f"{figures['perplexity']:.2f}",
        "measured": f"{measured['hardware']}, {measured['date']}",
    } | baseline_cells(figures)


def _test_set_in_words(figures: Mapping[str, Any]) -> str:
    return f"{figures['corpus']} {figures['split']}, {figures['src_lang']}-{figures['tgt_lang']}"


def baseline_cells(figures: Mapping[str, Any]) -> dict[str, str]:
    """Return the cells of the scores that need no model, by field: "11.39, 18.21"."""
    names = {"copied": "copied_source", "nearest": "nearest_training_source"}
    points = {field: figures["baselines"][name] for field, name in names.items()}
    return {
        field: f"{scores['bleu']:.2f}, {scores['chrf++']:.2f}" for field, scores in points.items()
    }


def score_and_interval(score: Mapping[str, Any]) -> str:
    """Return "42.20 (40.61 to 43.73)": a score of `transformer.evaluation.scores`."""
    low, high = score["interval"]
    return f"{score['score']:.2f} ({low:.2f} to {high:.2f})"


def load_seed_groups(recipe: str) -> list[list[dict[str, Any]]]:
    """Read the runs of a recipe in groups, of each of which a mean is taken, in order of seed.

    There is a group for each precision that three runs or more had; if none had, one of all runs.
    """
    runs_by_precision = load_runs(recipe).values()
    large_enough = [runs for runs in runs_by_precision if len(runs) >= MIN_RUNS_FOR_MEAN]
    if large_enough:
        return large_enough
    all_runs = [run for runs in runs_by_precision for run in runs]
    return [sorted(all_runs, key=lambda run: int(run["training"]["seed"]))]


def seeds_table() -> str:
    """Return a Markdown table of the recipes that were run with several seeds.

    A row is a group of `load_seed_groups`; one of two precisions names both. The interval is of the
    mean, by Student's t; the range is from lowest to highest.
    """
    folder = results_folder()
    paths = [*sorted(folder.glob("*.json")), *sorted(folder.glob("systems/*.json"))]
    groups = [group for path in paths for group in load_seed_groups(path.stem)]
    return markdown_table_from_row_dicts(
        SEED_COLUMNS, [_seed_group_cells(group) for group in groups if len(group) > 1]
    )


def _seed_group_cells(runs: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the cells of one recipe's runs with several seeds."""
    scores = [run["figures"]["bleu"]["score"] for run in runs]
    lowered = [run["figures"]["bleu_tokenised_lowercased"] for run in runs]
    low, high = mean_interval(scores)
    return run_cells(runs[0]) | {
        "seeds": _list_seeds(runs),
        "precision": _describe_precisions(runs),
        "versions": str(len({run["training"]["commit"] for run in runs})),
        "mean_bleu": f"{statistics.mean(scores):.2f}",
        "interval": f"{low:.2f} to {high:.2f}",
        "range": f"{min(scores):.2f} to {max(scores):.2f}",
        "mean_lowercased": f"{statistics.mean(lowered):.2f}",
    }


def _describe_precisions(runs: Sequence[Mapping[str, Any]]) -> str:
    """Return the precision of the runs; if there are several, each with its seeds."""
    runs_by_precision: dict[str, list[Mapping[str, Any]]] = {}
    for run in runs:
        runs_by_precision.setdefault(precision_of_run(run), []).append(run)
    if len(runs_by_precision) == 1:
        return next(iter(runs_by_precision))
    return "; ".join(
        f"{name} ({_list_seeds(group)})" for name, group in sorted(runs_by_precision.items())
    )


def _list_seeds(runs: Sequence[Mapping[str, Any]]) -> str:
    return ", ".join(str(run["training"]["seed"]) for run in runs)


def earlier_systems_table() -> str:
    """Return a Markdown table of the runs of earlier systems: their own report, and ours.

    Loss (nats) and perplexity are per token of the test set; they depend on what a token is.
    """
    rows = []
    for name, report in PUBLISHED_FIGURES_BY_SYSTEM.items():
        for run in report.get("runs", [name]):
            path = results_folder() / "systems" / f"{run}.json"
            ours = (
                _earlier_recipe_rerun_cells(read_json(path))
                if path.exists()
                else {"bleu": "not run yet"}
            )
            empty = dict.fromkeys(SYSTEM_COLUMNS, "")
            rows.append(empty | ours | report | {"recipe": f"`{name}`"})
    return markdown_table_from_row_dicts(SYSTEM_COLUMNS, rows)


def markdown_table_from_row_dicts(
    columns: Mapping[str, str], rows: Sequence[Mapping[str, str]]
) -> str:
    """Return a Markdown table of rows, cells by field; `columns` are fields and their headings."""
    rule = ["---" if field in LEFT_ALIGNED_FIELDS else "---:" for field in columns]
    return _join_table_lines(
        [*columns.values()], rule, *([row[field] for field in columns] for row in rows)
    )


def _join_table_lines(*lines: Sequence[str]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def run_cells(record: Mapping[str, Any]) -> dict[str, str]:
    """Return the cells of a recorded run, by field."""
    run, figures = record["training"], record["figures"]
    return {
        "recipe": f"`{record['recipe']['name']}`",
        "test_set": _test_set_in_words(figures),
        "bleu": score_and_interval(figures["bleu"]),
        "lowercased": f"{figures['bleu_tokenised_lowercased']:.2f}",
        "perplexity": f"{figures['perplexity']:.2f}",
        "beam": describe_search(figures),
        "parameters": f"{figures['parameters']:,}",
        "minutes": f"{run['minutes']:,.0f}" if run["minutes"] >= 10 else f"{run['minutes']:.1f}",
        "hardware": run["hardware"].replace(" 1 threads", " 1 thread"),  # as older records say
        "date": run["date"],
    }


def _earlier_recipe_rerun_cells(record: Mapping[str, Any]) -> dict[str, str]:
    """Return the cells of our run of an earlier system's recipe."""
    run, cells = record["training"], run_cells(record)
    speeds = [line["tokens_per_second"] for line in record["log"] if line["tokens_per_second"]]
    return {
        **cells,
        "loss": f"{record['figures']['loss']:.2f}",
        "validation_perplexity": f"{math.exp(run['validation_loss']):.2f}",
        "ours_on": f"{cells['test_set']}, {run['steps']:,} steps, beam {cells['beam']}",
        "speed": f"{statistics.median(speeds):,.0f}",
    }


def describe_search(figures: Mapping[str, Any]) -> str:
    """Return the beam size of a record, and the length penalty's alpha if it is not the paper's."""
    alpha = figures.get("alpha", LENGTH_PENALTY)  # early records have none: it was the paper's
    beam = str(figures["beam_size"])
    return beam if alpha == LENGTH_PENALTY else f"{beam}, alpha {alpha:g}"
