"""Tables in Markdown, those of README.md and docs/results.md among them, and their places.

Not in the paper. They are made of records and lessons.
"""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments import lesson_counts
from lessonkit import records
from lessonkit.records import load_runs, precision, run_cells, systems_table
from transformer.evaluation.compare import mean_interval
from transformer.support.files import read_json, results_folder, write_atomically

FEWEST_SEEDS = 3  # of a mean in one precision

# The columns of each table: a field's name, and its heading.
COLUMNS = {
    "recipe": "recipe",
    "test_set": "test set",
    "bleu": "BLEU (sacreBLEU 13a)",
    "lowercased": "BLEU (tokens, lower case)",
    "chrf": "chrF",
    "perplexity": "perplexity",
    "beam": "beam",
    "parameters": "parameters",
    "minutes": "minutes",
    "hardware": "hardware",
    "date": "date",
}
SEED_COLUMNS = {
    "recipe": "recipe",
    "test_set": "test set",
    "seeds": "seeds",
    "precision": "precision",
    "mean_bleu": "mean BLEU (13a)",
    "interval": "95% interval",
    "range": "range",
    "mean_lowercased": "mean BLEU (tokens, lower case)",
    "beam": "beam",
}

SHORT = ("recipe", "test_set", "seeds", "precision", "mean_bleu", "interval")  # of these, README's


def put_table(page: Path, mark: str, table: str) -> None:
    """Put a table in its place on a page, between `<!-- MARK -->` and `<!-- /MARK -->`."""
    before, begun, rest = page.read_text(encoding="utf-8").partition(f"<!-- {mark} -->\n")
    _, ended, after = rest.partition(f"\n<!-- /{mark} -->")
    assert begun and ended, f"{page} has no place for {mark}"
    write_atomically(page, f"{before}{begun}{table}{ended}{after}".encode())


def markdown(heading: Sequence[str], rows: Iterable[Sequence[str]], words: int) -> str:
    """Write a table whose first columns, so many, hold words; the others are set to the right."""
    rule = ["---" if place < words else "---:" for place in range(len(heading))]
    return "\n".join(f"| {' | '.join(line)} |" for line in (heading, rule, *rows))


def write_tables(root: Path) -> str:
    """Put every table in its place; say which."""
    pages = page_tables(root)
    for (page, mark), table in pages.items():
        put_table(root / page, mark, table)
    return "\n".join(f"{page}: {mark}" for page, mark in pages)


def page_tables(root: Path) -> dict[tuple[str, str], str]:
    """Give every table by the page that it stands on and the name of its place there."""
    return {
        ("README.md", "lessons"): lesson_counts.page_table(lesson_counts.lessons(root)),
        ("README.md", "scores"): seeds_table({name: SEED_COLUMNS[name] for name in SHORT}),
        ("docs/results.md", "results"): runs_table(),
        ("docs/results.md", "seeds"): seeds_table(),
        ("docs/results.md", "systems"): systems_table(),
    }


def runs_table() -> str:
    """Give every recorded run as a row of a Markdown table, in the order of their names."""
    paths = sorted(results_folder().glob("*.json"))
    return records.markdown(COLUMNS, [run_cells(read_json(path)) for path in paths])


def load_seeds(recipe: str) -> list[list[dict[str, Any]]]:
    """Read the runs of a recipe in groups of which a mean is told, each by seed.

    A group for each precision that three runs or more had; where none had, one of all runs.
    """
    runs = load_runs(recipe).values()
    enough = [each for each in runs if len(each) >= FEWEST_SEEDS]
    every = [run for each in runs for run in each]
    return enough or [sorted(every, key=lambda run: int(run["training"]["seed"]))]


def seeds_table(columns: Mapping[str, str] = SEED_COLUMNS) -> str:
    """Give rows of a Markdown table for the recipes that were run with several seeds.

    A row is a group of `load_seeds`; one of two precisions names both. The interval is of the
    mean, by Student's t; the range is from lowest to highest.
    """
    folder = results_folder()
    names = [
        path.stem for where in ("*.json", "systems/*.json") for path in sorted(folder.glob(where))
    ]
    groups = [group for name in names for group in load_seeds(name)]
    return records.markdown(columns, [_seeds(group) for group in groups if len(group) > 1])


def _seeds(runs: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Give the cells of one recipe's runs with several seeds."""
    scores = [run["figures"]["bleu"]["score"] for run in runs]
    lowered = [run["figures"]["bleu_tokenised_lowercased"] for run in runs]
    low, high = mean_interval(scores)
    return run_cells(runs[0]) | {
        "seeds": _seed_numbers(runs),
        "precision": _precisions(runs),
        "mean_bleu": f"{statistics.mean(scores):.2f}",
        "interval": f"{low:.2f} to {high:.2f}",
        "range": f"{min(scores):.2f} to {max(scores):.2f}",
        "mean_lowercased": f"{statistics.mean(lowered):.2f}",
    }


def _precisions(runs: Sequence[Mapping[str, Any]]) -> str:
    """Say in which precision products were computed; if not in one, with which seeds in which."""
    names = sorted({precision(run) for run in runs})
    if len(names) == 1:
        return names[0]
    seeds = {name: [run for run in runs if precision(run) == name] for name in names}
    return "; ".join(f"{name} ({_seed_numbers(seeds[name])})" for name in names)


def _seed_numbers(runs: Sequence[Mapping[str, Any]]) -> str:
    return ", ".join(str(run["training"]["seed"]) for run in runs)
