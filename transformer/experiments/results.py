"""Recorded runs: what `data/results/*.json` holds, as a table and as lines of origin.

`python -m transformer.experiments.results` prints the tables that stand in README.md. A recipe's
run with another seed is recorded as data/results/seeds/NAME-SEED.json, beside
data/results/NAME.json; a run of an earlier system's recipe as data/results/systems/NAME.json.
"""

import argparse
import math
import re
import statistics
import sys
from collections.abc import Sequence
from typing import Any

from transformer.config import LENGTH_PENALTY
from transformer.recipes.reported import PUBLISHED
from transformer.support.errors import exit_status, unknown_name
from transformer.support.files import read_json
from transformer.support.paths import results_folder

HEADINGS = (
    "recipe",
    "test set",
    "BLEU (sacreBLEU 13a)",
    "BLEU (tokens, lower case)",
    "chrF",
    "perplexity",
    "beam",
    "parameters",
    "minutes",
    "hardware",
    "date",
)
SEED_HEADINGS = (
    "recipe",
    "test set",
    "seeds",
    "mean BLEU (13a)",
    "deviation",
    "range",
    "mean BLEU (tokens, lower case)",
    "beam",
)
SYSTEM_HEADINGS = (
    "recipe",
    "published",
    "on",
    "ours: BLEU (13a)",
    "BLEU (tokens, lower case)",
    "loss",
    "perplexity",
    "validation perplexity",
    "on",
    "parameters",
    "tokens/s",
    "minutes",
    "hardware",
)


def load_result(name: str) -> dict[str, Any]:
    """Read a recorded run.

    Args:
        name: The file's name without ".json".

    Returns:
        recipe, training and evaluation (command, commit, hardware, date ...), log (see
        `transformer.trained.log`) and figures (see `transformer.evaluation.evaluate`).

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
        UserError: this is no checkout.
    """
    paths = sorted(results_folder().glob("*.json"))
    if not paths:
        return "No run is recorded yet."
    rows = [HEADINGS, ["---", "---", *["---:"] * 7, "---", "---"]]
    rows += [_row(read_json(path)) for path in paths]
    return _markdown(rows)


def seeds_table() -> str:
    """Give a row of a Markdown table for each recipe that was run with several seeds.

    The range is from the lowest to the highest; the deviation is the sample's.

    Raises:
        UserError: this is no checkout.
    """
    rows: list[Sequence[str]] = [SEED_HEADINGS, ["---", "---", *["---:"] * 6]]
    for first in sorted(results_folder().glob("*.json")):
        others = sorted(first.parent.glob(f"seeds/{first.stem}-[0-9]*.json"))
        if others:
            rows.append(_seeds_row([read_json(path) for path in (first, *others)]))
    if len(rows) == 2:
        return "No recipe is recorded with several seeds yet."
    return _markdown(rows)


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _seeds_row(records: list[dict[str, Any]]) -> list[str]:
    """Give the cells that stand under `SEED_HEADINGS`."""
    first = records[0]
    scores = [record["figures"]["bleu"]["score"] for record in records]
    lowered = [record["figures"]["bleu_tokenised_lowercased"] for record in records]
    return [
        *_row(first)[:2],
        ", ".join(str(record["training"]["seed"]) for record in records),
        f"{statistics.mean(scores):.2f}",
        f"{statistics.stdev(scores):.2f}",
        f"{min(scores):.2f} to {max(scores):.2f}",
        f"{statistics.mean(lowered):.2f}",
        str(first["figures"]["beam_size"]),
    ]


def systems_table() -> str:
    """Give a row of a Markdown table for each earlier system: its own report, and our run.

    Loss (nats) and perplexity are per token of the test set; they depend on what a token is.

    Raises:
        UserError: this is no checkout.
    """
    rule = [*["---"] * 3, *["---:"] * 5, "---", *["---:"] * 3, "---"]
    rows: list[Sequence[str]] = [SYSTEM_HEADINGS, rule]
    for name, report in PUBLISHED.items():
        path = results_folder() / "systems" / f"{name}.json"
        ours = _system_cells(read_json(path)) if path.exists() else ["not run yet", *[""] * 9]
        rows.append([f"`{name}`", report.figures, report.conditions, *ours])
    return _markdown(rows)


def _system_cells(record: dict[str, Any]) -> list[str]:
    """Give the cells that stand under `SYSTEM_HEADINGS`, from the fourth on."""
    run, figures = record["training"], record["figures"]
    _, where, score, lowered, _, perplexity, beam, parameters, minutes, hardware, _ = _row(record)
    speeds = [line["tokens_per_second"] for line in record["log"] if line["tokens_per_second"]]
    return [
        score,
        lowered,
        f"{figures['loss']:.2f}",
        perplexity,
        f"{math.exp(run['validation_loss']):.2f}",
        f"{where}, {run['steps']:,} steps, beam {beam}",
        parameters,
        f"{statistics.median(speeds):,.0f}",
        minutes,
        hardware,
    ]


def search(figures: dict[str, Any]) -> str:
    """Give the beam of an evaluation, and the penalty's alpha where it is not the paper's.

    Args:
        figures: Of a record (see `load_result`).
    """
    alpha = figures.get("alpha", LENGTH_PENALTY)  # early records have none: it was the paper's
    beam = str(figures["beam_size"])
    return beam if alpha == LENGTH_PENALTY else f"{beam}, alpha {alpha:g}"


def _row(record: dict[str, Any]) -> list[str]:
    """Give the cells that stand under `HEADINGS`."""
    run, figures = record["training"], record["figures"]
    low, high = figures["bleu"]["interval"]
    return [
        f"`{record['recipe']['name']}`",
        f"{figures['corpus']} {figures['split']}, {figures['src_lang']}-{figures['tgt_lang']}",
        f"{figures['bleu']['score']:.2f} ({low:.2f} to {high:.2f})",
        f"{figures['bleu_tokenised_lowercased']:.2f}",
        f"{figures['chrf']['score']:.2f}",
        f"{figures['perplexity']:.2f}",
        search(figures),
        f"{figures['parameters']:,}",
        f"{run['minutes']:,.0f}" if run["minutes"] >= 10 else f"{run['minutes']:.1f}",
        run["hardware"],
        run["date"],
    ]


def main() -> int:
    """Print the tables of README.md."""
    argparse.ArgumentParser(
        prog="python -m transformer.experiments.results",
        description="Print the tables of recorded runs, in Markdown.",
    ).parse_args()
    print(table(), seeds_table(), systems_table(), sep="\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(exit_status(main))
