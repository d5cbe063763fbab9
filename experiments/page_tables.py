"""The tables of README.md and docs that are made of records and lessons.

Not in the paper. `python -m experiments tables` makes each anew in its place.
"""

from pathlib import Path

from experiments import calibration, fault_detection, lesson_counts, modern_table, speedrun
from experiments.bench import data, sections, starts
from experiments.laws import tables as laws_tables
from experiments.laws.needs_table import needs_table
from experiments.own_text_table import own_text_table
from experiments.tables import (
    earlier_systems_table,
    runs_table,
    seeds_table,
    shipped_models_table,
)
from transformer.support.files import read_json, write_atomically
from transformer.support.folders import results_folder


def write_page_tables(root: Path) -> str:
    """Put every table in its place; return which, a line each."""
    pages = tables_by_page_and_mark(root)
    for (page, mark), table in pages.items():
        replace_table_on_page(root / page, mark, table)
    return "\n".join(f"{page}: {mark}" for page, mark in pages)


def tables_by_page_and_mark(root: Path) -> dict[tuple[str, str], str]:
    """Return every table by the page that it stands on and the name of its place there."""
    steps = read_json(results_folder() / "bench" / "training.json")
    gpu = read_json(results_folder() / "bench" / "gpu.json")
    shapes = read_json(results_folder() / "bench" / "shapes.json")
    decoding = read_json(results_folder() / "bench" / "decoding.json")
    text_to_batches = read_json(results_folder() / "bench" / "data.json")
    three_starts = read_json(results_folder() / "bench" / "starts.json")
    bleu_tests = read_json(results_folder() / "calibration" / "bleu_tests.json")
    lessons = lesson_counts.count_lessons(root)
    return {
        ("README.md", "hours"): lesson_counts.readme_hours_sentence(lessons),
        ("README.md", "lessons"): lesson_counts.readme_lessons_table(lessons),
        ("docs/results.md", "results"): runs_table(),
        ("docs/results.md", "shipped"): shipped_models_table(),
        ("docs/results.md", "seeds"): seeds_table(),
        ("docs/results.md", "systems"): earlier_systems_table(),
        ("docs/evidence.md", "calibration"): calibration.calibration_table(bleu_tests),
        ("docs/own_text.md", "own_text"): own_text_table(),
        ("docs/laws.md", "needs"): needs_table(),
        ("docs/records.md", "records"): speedrun.speed_records_table(speedrun.load_speed_records()),
        ("docs/benchmarks.md", "training"): sections.training_steps_tables(steps),
        ("docs/benchmarks.md", "data"): data.data_tables(text_to_batches),
        ("docs/benchmarks.md", "starts"): starts.starts_table(three_starts),
        ("docs/benchmarks.md", "decoding"): sections.decoding_speeds_table(decoding),
        ("docs/benchmarks.md", "gpu"): sections.gpu_steps_table(gpu),
        ("docs/benchmarks.md", "shapes"): sections.batch_shapes_table(shapes),
        **{
            ("docs/foreign_models.md", mark): text
            for mark, text in laws_tables.laws_tables_by_mark().items()
        },
        **{
            ("docs/modern.md", mark): text
            for mark, text in modern_table.modern_tables_by_mark().items()
        },
        **{
            ("docs/museum.md", mark): text
            for mark, text in fault_detection.museum_tables_by_mark().items()
        },
    }


def replace_table_on_page(page: Path, mark: str, table: str) -> None:
    """Put a table in its place on a page, between `<!-- MARK -->` and `<!-- /MARK -->`."""
    before, begun, rest = page.read_text(encoding="utf-8").partition(f"<!-- {mark} -->\n")
    _, ended, after = rest.partition(f"\n<!-- /{mark} -->")
    assert begun and ended, f"{page} has no place for {mark}"
    write_atomically(page, f"{before}{begun}{table}{ended}{after}".encode())
