"""The tables of docs/foreign_models.md about mutants and sound variants, from their record.

Not in the paper. `python -m experiments tables` puts them in their places.
"""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from experiments.laws.sound_models import SOUND_MODELS
from experiments.tables import markdown_table
from transformer.support.files import read_json
from transformer.support.folders import results_folder

RECORD = Path("laws") / "mutants.json"
# Bases that were written after the laws of the paper's model, in a later style.
LATER_MODELS = ("modern", "functional")
TITLES_BY_PART = {"model": "the model", "setup": "what trains and searches it"}
NO_REASON = "not explained yet"
REASONS_BY_MODEL: Mapping[str, Mapping[str, str]] = tomllib.loads(
    Path(__file__).with_name("misses.toml").read_text(encoding="utf-8")
)


def laws_tables_by_mark() -> dict[str, str]:
    """Return the tables and sentences of the page, each by its mark there."""
    record = read_json(results_folder() / RECORD)
    return {
        "mutants": mutants_table(record),
        "summary": summary_sentences(record),
        "missed": missed_mutants_table(record),
    }


def _figures_by_part(record: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield each model and part that is recorded, with its figures."""
    for model in SOUND_MODELS:
        for part, figures in record.get(model, {}).items():
            yield model, part, figures


def _count_rows(figures: Mapping[str, Any], field: str) -> int:
    """Return the number of mutants that break no law and have something in a field."""
    return sum(bool(row.get(field)) for row in figures["mutants"] if not row["broken"])


def mutants_table(record: Mapping[str, Any]) -> str:
    """Return the table of how many mutants of each part break a law."""
    rows = []
    for model, part, figures in _figures_by_part(record):
        alone = str(figures["alone"]) if part == "model" else "not tried"
        rows.append(
            [
                f"{model}: {TITLES_BY_PART[part]}",
                str(figures["tried"]),
                f"{figures['broken']} ({figures['broken'] / figures['tried']:.0%})",
                str(_count_rows(figures, "warned")),
                str(_count_rows(figures, "lost")),
                alone,
                str(len(figures["equivalent"])),
            ]
        )
    heading = ["part", "mutants", "broken, full adapter", "others warned of", "others not judged"]
    return markdown_table([*heading, "broken, `forward` alone", "equivalent"], rows, words=range(1))


def summary_sentences(record: Mapping[str, Any]) -> str:
    """Return what the record says of the later models' mutants and of the sound variants."""
    later = [figures for model, _, figures in _figures_by_part(record) if model in LATER_MODELS]
    variants, date = record["variants"], record["provenance"]["date"]
    lines = []
    if later:
        broken, tried = (sum(figures[field] for figures in later) for field in ("broken", "tried"))
        lines.append(
            f"Of {tried} mutants of the two later models {broken} are called broken, "
            f"{broken / tried:.1%}."
        )
    lines.append(
        f"In {variants['runs']} runs of sound variants a law is called broken "
        f"{_times(len(variants['alarms']))}."
    )
    return "\n".join([*lines, f"The record is of {date}; the line numbers in it are that day's."])


def _times(number: int) -> str:
    return {0: "in none", 1: "in one"}.get(number, f"in {number}")


def missed_mutants_table(record: Mapping[str, Any]) -> str:
    """Return the table of the mutants that break no law, each with why none can see it."""
    rows = []
    for model, _, figures in _figures_by_part(record):
        for row in figures["mutants"]:
            if not row["broken"]:
                why = _reason_of_miss(model, row["mutant"])
                laws = ", ".join(f"`{law}`" for law in row["warned"])
                # A bar would end the cell.
                mutant = row["mutant"].replace("|", "\\|")
                rows.append([model, mutant, why, laws or "none"])
    return markdown_table(["model", "mutant", "why", "warned of"], rows, words=range(4))


def _reason_of_miss(model: str, mutant: str) -> str:
    """Return why no law calls a mutant broken, as misses.toml has it."""
    reasons = REASONS_BY_MODEL.get(model, {})
    return next((why for begins, why in reasons.items() if mutant.startswith(begins)), NO_REASON)
