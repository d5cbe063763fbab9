"""The benchmarks' records as tables in Markdown, and the pages that show them.

Not in the paper. `python -m experiments bench` puts them into docs/benchmarks.md. No torch in here:
the command line's help names the sections.
"""

import statistics
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from transformer.support.files import read_json, results_folder, write_atomically

FOLDER = "bench"
PAGE = "docs/benchmarks.md"
OURS, TORCH = "ours", "torch.nn.Transformer"
MARIAN = "MarianMTModel"  # of Hugging Face
# In the order in which they are measured; each leaves NAME.json. Decoding's is `export`.
SECTIONS = ("startup", "growth", "training", "compile", "export")


def page_tables() -> dict[str, str]:
    """Give the table of each section that stands in docs/benchmarks.md, by the section's name."""
    return {name: _recorded(name, table) for name, table in TABLES.items()}


def write_tables(root: Path) -> None:
    """Put the tables of what is recorded into a checkout's docs/benchmarks.md."""
    for mark, table in page_tables().items():
        put_table(root / PAGE, mark, table)


def put_table(page: Path, mark: str, table: str) -> None:
    """Put a table in its place on a page, between `<!-- MARK -->` and `<!-- /MARK -->`."""
    before, begun, rest = page.read_text(encoding="utf-8").partition(f"<!-- {mark} -->\n")
    _, ended, after = rest.partition(f"\n<!-- /{mark} -->")
    assert begun and ended, f"{page} has no place for {mark}"
    write_atomically(page, f"{before}{begun}{table}{ended}{after}".encode())


def _recorded(name: str, table: Callable[[dict[str, Any]], str]) -> str:
    """Give a table under a line that says on what machine and when it was measured, and how."""
    file = results_folder() / FOLDER / f"{name}.json"
    if not file.exists():
        return "Not measured yet."
    figures = read_json(file)
    how = "" if name == "startup" else ", eager" if name != "compile" else ", eager and compiled"
    return f"{figures['hardware']}, {figures['date']}{how}:\n\n{table(figures)}"


def _training(figures: dict[str, Any]) -> str:
    rows = [
        [
            recipe,
            precision,
            name,
            f"{each['parameters']:,}",
            f"{each['tokens_per_second']:,}",
            _times(each),
            f"{each['share_of_ceiling']:.0%}",
        ]
        for recipe, precision, found in _measured(figures)
        for name, each in found.items()
    ]
    heading = ["recipe", "precision", "who", "parameters", "tokens/s", "ours is times"]
    steps = markdown([*heading, "of the largest product's rate"], rows, words=3)
    return f"{steps}\n\n{_profiles(figures)}"


def _profiles(figures: dict[str, Any]) -> str:
    """Give each kind of work's share of a step, and what making the batch takes besides."""
    columns, besides = {}, []
    for recipe, one in figures["recipes"].items():
        for precision, found in one["precisions"].items():
            columns[f"{recipe}, {precision}"] = found["profile"]
            step = statistics.median(found["contenders"][OURS]["seconds"])
            besides.append(f"{one['pipeline_seconds_a_batch'] / step:.1%}")
    kinds = next(iter(columns.values()))
    rows = [[kind, *(f"{shares[kind]:.0%}" for shares in columns.values())] for kind in kinds]
    rows.append(["making the batch, beside the step", *besides])
    return markdown(["a step's time", *columns], rows, words=1)


def _compile(figures: dict[str, Any]) -> str:
    rows = [
        [
            row["precision"],
            row["who"],
            f"{row['eager']:,}",
            f"{row['compiled']:,}",
            f"{row['compiled'] / row['eager']:.2f}",
            f"{row['first_steps_seconds']:.0f} s",
        ]
        for row in figures["rows"]
    ]
    heading = ["precision", "who", "eager, tokens/s", "compiled", "times", "its first two steps"]
    return markdown(heading, rows, words=2)


def _growth(figures: dict[str, Any]) -> str:
    rows = [
        [
            axis,
            f"{row['value']:,}",
            f"{row['seconds']:.3f}",
            f"{row['times_the_first']:.2f}",
            f"{row['multiplications_times_the_first']:.2f}",
            f"{row['kept_bytes'] / 1e6:.1f}",
            f"{row['straight_line_bytes'] / 1e6:.1f}",
        ]
        for axis, points in figures["axes"].items()
        for row in points
    ]
    heading = ["axis", "value", "seconds a step", "times the first", "multiplications, times"]
    return markdown([*heading, "kept (MB)", "in a straight line (MB)"], rows, words=1)


def _startup(figures: dict[str, Any]) -> str:
    rows = [
        [name, f"{each['seconds']:.2f}", _ends(each)] for name, each in figures["commands"].items()
    ]
    return markdown(["started", "seconds of computing", "lowest to highest"], rows, words=1)


def _measured(figures: dict[str, Any]) -> Iterable[tuple[str, str, dict[str, Any]]]:
    """Give each recipe, each precision and its contenders."""
    for recipe, one in figures["recipes"].items():
        for precision, found in one["precisions"].items():
            yield recipe, precision, found["contenders"]


def _times(found: dict[str, Any] | None) -> str:
    """Write how many times a peer's speed ours is."""
    return f"{found['ours_is_times']:.2f} ({_ends(found)})" if found else "not installed"


def _ends(found: dict[str, Any]) -> str:
    return " to ".join(f"{end:.2f}" for end in found["lowest_and_highest"])


def markdown(heading: Sequence[str], rows: Iterable[Sequence[str]], words: int) -> str:
    """Write a table whose first columns, so many, hold words; the others are set to the right."""
    rule = ["---" if place < words else "---:" for place in range(len(heading))]
    return "\n".join(f"| {' | '.join(line)} |" for line in (heading, rule, *rows))


# Of a section's record.
TABLES: dict[str, Callable[[dict[str, Any]], str]] = {
    "training": _training,
    "growth": _growth,
    "compile": _compile,
    "startup": _startup,
}
