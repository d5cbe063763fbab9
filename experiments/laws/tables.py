"""The tables of docs/foreign_models.md about mutants and sound variants, from their record.

Not in the paper. `python -m experiments tables` puts them in their places.
"""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from experiments.laws.sound_models import SOUND_MODELS
from experiments.tables import markdown_table
from transformer.support.files import read_json
from transformer.support.folders import results_folder

RECORD = Path("laws") / "mutants.json"
# Bases that were written after the laws of the paper's model, in a later style.
LATER_MODELS = ("modern", "functional")
TITLES_BY_PART = {"model": "the model", "setup": "what trains and searches it"}
# How the names of laws end that compare with a setting that an adapter tells.
TOLD_LAW_SUFFIXES = ("_as_told", "_told")


class Miss(NamedTuple):
    """Why no law calls a mutant broken."""

    mutant: str  # how its description begins
    kind: str  # "fault", "design" if it is as sound, "no effect"
    why: str
    example: str = ""  # of a design, a published model or library that has it


UNEXPLAINED_MISS = Miss("", "fault", "not explained yet")
MISSES_BY_MODEL: Mapping[str, tuple[Miss, ...]] = {
    model: tuple(Miss(**fields) for fields in misses)
    for model, misses in tomllib.loads(
        Path(__file__).with_name("misses.toml").read_text(encoding="utf-8")
    ).items()
}


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
    lines = _shares_table_and_sentence(record) if later else []
    lines.append(
        f"In {variants['runs']} runs of sound variants a law is called broken "
        f"{_times(len(variants['alarms']))}."
    )
    return "\n".join([*lines, f"The record is of {date}; the line numbers in it are that day's."])


def _shares_table_and_sentence(record: Mapping[str, Any]) -> list[str]:
    """Return three shares of the later models' mutants side by side, and what they leave out."""
    rows = [
        (model, row)
        for model, _, figures in _figures_by_part(record)
        if model in LATER_MODELS
        for row in figures["mutants"]
    ]
    broken = [row for _, row in rows if row["broken"]]
    misses = [_miss_of_mutant(model, row["mutant"]) for model, row in rows if not row["broken"]]
    counts = {kind: sum(miss.kind == kind for miss in misses) for kind in ("design", "no effect")}
    num_faults = len(rows) - sum(counts.values())
    num_warned = sum(bool(row["warned"]) for _, row in rows if not row["broken"])
    shares = (
        ("broken, of all that were drawn", len(broken), len(rows)),
        ("broken, of those that are faults", len(broken), num_faults),
        ("broken or warned of, of all that were drawn", len(broken) + num_warned, len(rows)),
    )
    table = markdown_table(
        ["mutants of the two later models", "of", "share"],
        [[what, f"{part} of {whole}", f"{part / whole:.1%}"] for what, part, whole in shares],
        words=range(1),
    )
    told = sum(row["broken"].endswith(TOLD_LAW_SUFFIXES) for row in broken)
    return [
        table,
        "",
        f"{counts['design']} of those that break no law are designs that are as sound, each with a "
        f"published model that has it, and {counts['no effect']} without effect: the second row "
        f"leaves them out. Of {told} mutants that are broken the first law to break compares with "
        "a setting that the Adapter tells; some of these are sound elsewhere.",
    ]


def _times(number: int) -> str:
    return {0: "in none", 1: "in one"}.get(number, f"in {number}")


def missed_mutants_table(record: Mapping[str, Any]) -> str:
    """Return the table of the mutants that break no law, each with why none can see it."""
    rows = []
    for model, _, figures in _figures_by_part(record):
        for row in figures["mutants"]:
            if not row["broken"]:
                miss = _miss_of_mutant(model, row["mutant"])
                why = f"{miss.why}: {miss.example}" if miss.example else miss.why
                laws = ", ".join(f"`{law}`" for law in row["warned"])
                # A bar would end the cell.
                mutant = row["mutant"].replace("|", "\\|")
                rows.append([model, mutant, miss.kind, why, laws or "none"])
    return markdown_table(["model", "mutant", "kind", "why", "warned of"], rows, words=range(5))


def _miss_of_mutant(model: str, mutant: str) -> Miss:
    """Return why no law calls a mutant broken, as misses.toml has it."""
    misses = MISSES_BY_MODEL.get(model, ())
    return next((miss for miss in misses if mutant.startswith(miss.mutant)), UNEXPLAINED_MISS)
