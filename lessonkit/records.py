"""Recorded runs: what `data/results/*.json` holds, as a table and as lines of origin.

Not in the paper. `python -m experiments tables` prints the tables that stand in README.md.
A run of an earlier system's recipe is recorded as data/results/systems/NAME.json, of any other
as data/results/NAME.json; a run with another seed as data/results/seeds/NAME-SEED.json.
"""

import math
import re
import statistics
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from lessonkit.reported import PUBLISHED
from transformer.config import LENGTH_PENALTY
from transformer.evaluation.compare import mean_interval
from transformer.support.errors import unknown_name
from transformer.support.files import read_json
from transformer.support.paths import results_folder

Row = dict[str, str]  # what stands in a row's cells, by the name of the field
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
SYSTEM_COLUMNS = {
    "recipe": "recipe",
    "published": "published",
    "published_on": "on",
    "bleu": "ours: BLEU (13a)",
    "lowercased": "BLEU (tokens, lower case)",
    "loss": "loss",
    "perplexity": "perplexity",
    "validation_perplexity": "validation perplexity",
    "ours_on": "on",
    "parameters": "parameters",
    "speed": "tokens/s",
    "minutes": "minutes",
    "hardware": "hardware",
}
# Fields of words: they stand at the left of their cells, numbers at the right.
WORDS = {
    *("recipe", "test_set", "precision", "hardware", "date"),
    *("published", "published_on", "ours_on"),
}


def load_result(name: str) -> dict[str, Any]:
    """Read a recorded run.

    Args:
        name: The file's name without ".json".

    Returns:
        recipe, training and evaluation (command, commit, hardware, date ...), log (see
        `transformer.models.log`) and figures (see `transformer.evaluation.evaluate`).

    Raises:
        UserError: there is no such run; the nearest name is given.
    """
    known = {path.stem: path for path in results_folder().glob("*.json")}
    if name not in known:
        raise unknown_name("recorded run", name, known)
    record: dict[str, Any] = read_json(known[name])
    return record


def origin(record: dict[str, Any]) -> str:
    """Say in one line how a recorded run came about.

    Args:
        record: From `load_result`.
    """
    run = record["training"]
    commit = re.sub(r"\b[0-9a-f]{40}\b", lambda found: found[0][:7], run["commit"])
    return (
        f"Recorded {run['date']} on {run['hardware']}: {run['steps']:,} steps in "
        f"{run['minutes']:,.0f} minutes, seed {run['seed']}, commit {commit}."
    )


def table() -> str:
    """Give every recorded run as a row of a Markdown table, in the order of their names.

    Raises:
        UserError: the folder of records is not there.
    """
    paths = sorted(results_folder().glob("*.json"))
    if not paths:
        return "No run is recorded yet."
    return _markdown(COLUMNS, [_run(read_json(path)) for path in paths])


def load_runs(recipe: str) -> dict[str, list[dict[str, Any]]]:
    """Read all of a recipe's runs with several seeds, by the precision of their products.

    Args:
        recipe: Its name.

    Returns:
        For "float32", "bfloat16" or both one record a run (see `load_result`), by seed.

    Raises:
        UserError: there is no such run; the nearest name is given.
    """
    folder = results_folder()
    known = {path.stem: path for path in (*folder.glob("*.json"), *folder.glob("systems/*.json"))}
    if recipe not in known:
        raise unknown_name("recorded run", recipe, known)
    others = folder.glob(f"seeds/{recipe}-[0-9]*.json")
    return _by_precision(sorted(map(read_json, (known[recipe], *others)), key=_seed))


def load_seeds(recipe: str) -> list[list[dict[str, Any]]]:
    """Read the runs of a recipe in groups of which a mean is told.

    A group for each precision that three runs or more had; where none had, one of all runs.

    Args:
        recipe: Its name.

    Returns:
        For each group one record a run, by seed; a single one for most recipes.

    Raises:
        UserError: there is no such run; the nearest name is given.
    """
    runs = load_runs(recipe).values()
    enough = [each for each in runs if len(each) >= FEWEST_SEEDS]
    return enough or [sorted((run for each in runs for run in each), key=_seed)]


def seeds_table() -> str:
    """Give rows of a Markdown table for the recipes that were run with several seeds.

    A row is a group of `load_seeds`; one of two precisions names both. The interval is of the
    mean, by Student's t; the range is from lowest to highest.

    Raises:
        UserError: the folder of records is not there.
    """
    folder = results_folder()
    names = [
        path.stem for where in ("*.json", "systems/*.json") for path in sorted(folder.glob(where))
    ]
    groups = [group for name in names for group in load_seeds(name)]
    rows = [_seeds(group) for group in groups if len(group) > 1]
    if not rows:
        return "No recipe is recorded with several seeds yet."
    return _markdown(SEED_COLUMNS, rows)


def systems_table(fields: Collection[str] = SYSTEM_COLUMNS.keys()) -> str:
    """Give a row of a Markdown table for each earlier system: its own report, and our run.

    Loss (nats) and perplexity are per token of the test set; they depend on what a token is.

    Args:
        fields: Which of `SYSTEM_COLUMNS`; all of them are too wide for a lesson.

    Raises:
        UserError: the folder of records is not there.
    """
    rows = []
    for name, report in PUBLISHED.items():
        path = results_folder() / "systems" / f"{name}.json"
        theirs = {"published": report.figures, "published_on": report.conditions}
        ours = _system(read_json(path)) if path.exists() else {"bleu": "not run yet"}
        rows.append(dict.fromkeys(SYSTEM_COLUMNS, "") | ours | theirs | {"recipe": f"`{name}`"})
    columns = {field: SYSTEM_COLUMNS[field] for field in SYSTEM_COLUMNS if field in fields}
    return _markdown(columns, rows)


def _markdown(columns: Mapping[str, str], rows: Sequence[Row]) -> str:
    rule = ["---" if field in WORDS else "---:" for field in columns]
    cells = [[row[field] for field in columns] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in ([*columns.values()], rule, *cells))


def _run(record: dict[str, Any]) -> Row:
    """Give the cells of a recorded run."""
    run, figures = record["training"], record["figures"]
    low, high = figures["bleu"]["interval"]
    src_lang, tgt_lang = figures["src_lang"], figures["tgt_lang"]
    return {
        "recipe": f"`{record['recipe']['name']}`",
        "test_set": f"{figures['corpus']} {figures['split']}, {src_lang}-{tgt_lang}",
        "bleu": f"{figures['bleu']['score']:.2f} ({low:.2f} to {high:.2f})",
        "lowercased": f"{figures['bleu_tokenised_lowercased']:.2f}",
        "chrf": f"{figures['chrf']['score']:.2f}",
        "perplexity": f"{figures['perplexity']:.2f}",
        "beam": search(figures),
        "parameters": f"{figures['parameters']:,}",
        "minutes": f"{run['minutes']:,.0f}" if run["minutes"] >= 10 else f"{run['minutes']:.1f}",
        "hardware": run["hardware"],
        "date": run["date"],
    }


def _seeds(records: list[dict[str, Any]]) -> Row:
    """Give the cells of one recipe's runs with several seeds."""
    scores = [record["figures"]["bleu"]["score"] for record in records]
    lowered = [record["figures"]["bleu_tokenised_lowercased"] for record in records]
    first = _run(records[0])
    interval = mean_interval(scores)
    return {
        "recipe": first["recipe"],
        "test_set": first["test_set"],
        "seeds": _seed_numbers(records),
        "precision": _precisions(records),
        "mean_bleu": f"{statistics.mean(scores):.2f}",
        "interval": f"{interval.low:.2f} to {interval.high:.2f}",
        "range": f"{min(scores):.2f} to {max(scores):.2f}",
        "mean_lowercased": f"{statistics.mean(lowered):.2f}",
        "beam": first["beam"],
    }


def _precisions(records: list[dict[str, Any]]) -> str:
    """Say in which precision products were computed; if not in one, with which seeds in which."""
    runs = _by_precision(records)
    if len(runs) == 1:
        return next(iter(runs))
    return "; ".join(f"{name} ({_seed_numbers(runs[name])})" for name in sorted(runs))


def _by_precision(records: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    runs: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        precision = "bfloat16" if record["recipe"]["training"]["bf16"] else "float32"
        runs.setdefault(precision, []).append(record)
    return runs


def _seed_numbers(records: list[dict[str, Any]]) -> str:
    return ", ".join(str(_seed(record)) for record in records)


def _seed(record: dict[str, Any]) -> int:
    seed: int = record["training"]["seed"]
    return seed


def _system(record: dict[str, Any]) -> Row:
    """Give the cells of our run of an earlier system's recipe."""
    run, cells = record["training"], _run(record)
    speeds = [line["tokens_per_second"] for line in record["log"] if line["tokens_per_second"]]
    return {
        **cells,
        "loss": f"{record['figures']['loss']:.2f}",
        "validation_perplexity": f"{math.exp(run['validation_loss']):.2f}",
        "ours_on": f"{cells['test_set']}, {run['steps']:,} steps, beam {cells['beam']}",
        "speed": f"{statistics.median(speeds):,.0f}",
    }


def search(figures: dict[str, Any]) -> str:
    """Give the beam of an evaluation, and the penalty's alpha where it is not the paper's.

    Args:
        figures: Of a record (see `load_result`).
    """
    alpha = figures.get("alpha", LENGTH_PENALTY)  # early records have none: it was the paper's
    beam = str(figures["beam_size"])
    return beam if alpha == LENGTH_PENALTY else f"{beam}, alpha {alpha:g}"
