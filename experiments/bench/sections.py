"""The benchmarks, a section each: measured, recorded, and shown in docs/benchmarks.md.

Not in the paper. Start-up, the shortest of them, is measured here.
"""

import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from experiments.bench import export, training
from experiments.bench.peers import OURS
from experiments.tables import markdown, put_table
from lessonkit.analysis.machines import one_thread
from transformer.data import corpora
from transformer.support.errors import UserError, unknown_name
from transformer.support.files import (
    check_file,
    read_json,
    require_checkout,
    results_folder,
    write_json,
)
from transformer.training.devices import keep_freed_memory, provenance

SECTIONS = ("startup", "training", "export")  # each leaves data/results/bench/NAME.json
PAGE = "docs/benchmarks.md"
STARTS = 7
COMMANDS = {
    "python alone": ("-c", "pass"),
    "--help": ("-m", "transformer", "--help"),
    "train --help": ("-m", "transformer", "train", "--help"),
    "corpora list": ("-m", "transformer", "corpora", "list"),
    "a recipe that is not there": ("-m", "transformer", "train", "nonsense"),
    "import torch": ("-c", "import torch"),
}


def record_sections(sections: Sequence[str]) -> None:
    """Measure these sections, or all, on one thread; after each the page has its table."""
    root = require_checkout()
    if unknown := set(sections) - set(SECTIONS):
        raise unknown_name("section", min(unknown), SECTIONS)
    for name in sections or SECTIONS:
        file = results_folder() / "bench" / f"{name}.json"
        check_file(file)
        if name == "export":
            record_export(file)
            continue
        keep_freed_memory()  # as `train` does; the peers have it too
        with one_thread(), tqdm(desc=name) as bar:
            advance = partial(_advance, bar)
            figures = start(advance) if name == "startup" else training.measure(advance)
        write_json(file, provenance(torch.device("cpu")) | figures)
        print(TABLES[name](figures))
        write_tables(root)


def _advance(bar: Any, what: str) -> None:
    bar.set_postfix_str(what, refresh=False)
    bar.update()


def record_export(file: Path) -> None:
    """Measure decoding beside other engines; say so where they are not installed."""
    here = all(corpora.verify("multi30k").values())
    try:
        export.record_speed("de-en" if here else "demo-en-fr", file)
    except UserError as error:
        print(f"decoding is not measured: {error}")
    else:
        print(f"decoding: {file}")


def start(advance: Callable[[str], object]) -> dict[str, Any]:
    """Start each command by turns; a first round, which fills the disk's cache, is not counted."""
    seconds: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for number in range(1 + STARTS):
        for name, arguments in COMMANDS.items():
            seconds[name].append(seconds_to_run(arguments))
        advance(f"start-up, round {number}")
    commands = {
        name: {
            "seconds": round(statistics.median(took[1:]), 3),
            "lowest_and_highest": [round(min(took[1:]), 3), round(max(took[1:]), 3)],
        }
        for name, took in seconds.items()
    }
    return {"rounds": STARTS, "commands": commands}


def seconds_to_run(arguments: tuple[str, ...]) -> float:
    """Give the seconds of computing of Python with these arguments, and of its children."""
    before = os.times()
    subprocess.run([sys.executable, *arguments], capture_output=True, check=False)
    after = os.times()
    used = after.children_user + after.children_system
    return used - before.children_user - before.children_system


def page_tables() -> dict[str, str]:
    """Give the table of each section that docs/benchmarks.md has, under the machine and the date.

    Decoding's table stands there by hand: it has the records of two machines.
    """
    found = {}
    for name, table in TABLES.items():
        file = results_folder() / "bench" / f"{name}.json"
        figures = read_json(file) if file.exists() else None
        found[name] = "Not measured yet."
        if figures:
            found[name] = f"{figures['hardware']}, {figures['date']}:\n\n{table(figures)}"
    return found


def write_tables(root: Path) -> None:
    """Put the tables of what is recorded into a checkout's docs/benchmarks.md."""
    for mark, table in page_tables().items():
        put_table(root / PAGE, mark, table)


def _startup(figures: dict[str, Any]) -> str:
    rows = [
        [name, f"{each['seconds']:.2f}", _ends(each)] for name, each in figures["commands"].items()
    ]
    return markdown(["started", "seconds of computing", "lowest to highest"], rows, words=1)


def _training(figures: dict[str, Any]) -> str:
    """Give the contenders' speeds; and each kind of work's share of a step of ours."""
    speeds, columns, besides = [], {}, []
    for recipe, one in figures["recipes"].items():
        for precision, found in one["precisions"].items():
            for name, each in found["contenders"].items():
                row = [recipe, precision, name, f"{each['parameters']:,}"]
                row += [f"{each['tokens_per_second']:,}"]
                row += [f"{each['ours_is_times']:.2f} ({_ends(each)})"]
                speeds.append([*row, f"{each['share_of_ceiling']:.0%}"])
            columns[f"{recipe}, {precision}"] = found["profile"]
            step = statistics.median(found["contenders"][OURS]["seconds"])
            besides.append(f"{one['pipeline_seconds_a_batch'] / step:.1%}")
    kinds = next(iter(columns.values()))
    rows = [[kind, *(f"{shares[kind]:.0%}" for shares in columns.values())] for kind in kinds]
    rows.append(["making the batch, beside the step", *besides])
    heading = ["recipe", "precision", "who", "parameters", "tokens/s", "ours is times"]
    heading += ["of the largest product's rate"]
    profiles = markdown(["a step's time", *columns], rows, words=1)
    return f"{markdown(heading, speeds, words=3)}\n\n{profiles}"


def _ends(found: dict[str, Any]) -> str:
    return " to ".join(f"{end:.2f}" for end in found["lowest_and_highest"])


TABLES = {"startup": _startup, "training": _training}  # of a section's record
