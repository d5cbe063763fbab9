"""The tables of README.md and docs that are made of records and lessons.

Not in the paper. `python -m experiments tables` makes each anew in its place.
"""

from pathlib import Path

from experiments import fault_detection, lesson_counts, speedrun
from experiments.bench import sections
from experiments.tables import SEED_COLUMNS, runs_table, seeds_table, systems_table
from transformer.support.files import read_json, write_atomically
from transformer.support.folders import results_folder

SHORT = (
    "recipe",
    "test_set",
    "seeds",
    "precision",
    "beam",
    "mean_bleu",
    "interval",
)  # the columns of README


def write_tables(root: Path) -> str:
    """Put every table in its place; return which, a line each."""
    pages = page_tables(root)
    for (page, mark), table in pages.items():
        put_table(root / page, mark, table)
    return "\n".join(f"{page}: {mark}" for page, mark in pages)


def page_tables(root: Path) -> dict[tuple[str, str], str]:
    """Return every table by the page that it stands on and the name of its place there."""
    steps = read_json(results_folder() / "bench" / "training.json")
    gpu = read_json(results_folder() / "bench" / "gpu.json")
    return {
        ("README.md", "lessons"): lesson_counts.page_table(lesson_counts.lessons(root)),
        ("README.md", "scores"): seeds_table({name: SEED_COLUMNS[name] for name in SHORT}),
        ("docs/results.md", "results"): runs_table(),
        ("docs/results.md", "seeds"): seeds_table(),
        ("docs/results.md", "systems"): systems_table(),
        ("docs/records.md", "records"): speedrun.records_table(speedrun.load_speed_runs()),
        ("docs/benchmarks.md", "training"): sections.training_table(steps),
        ("docs/benchmarks.md", "gpu"): sections.gpu_table(gpu),
        **{("docs/museum.md", mark): text for mark, text in fault_detection.tables().items()},
    }


def put_table(page: Path, mark: str, table: str) -> None:
    """Put a table in its place on a page, between `<!-- MARK -->` and `<!-- /MARK -->`."""
    before, begun, rest = page.read_text(encoding="utf-8").partition(f"<!-- {mark} -->\n")
    _, ended, after = rest.partition(f"\n<!-- /{mark} -->")
    assert begun and ended, f"{page} has no place for {mark}"
    write_atomically(page, f"{before}{begun}{table}{ended}{after}".encode())
