"""One section of the benchmarks: measured, recorded and shown; and start-up, the shortest of them.

Not in the paper.
"""

import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from experiments import export_speed
from experiments.bench import compiling, growth, tables, training
from lessonkit.analysis.machines import one_thread
from transformer.data import corpora
from transformer.support.errors import UserError
from transformer.support.files import check_file, write_json
from transformer.training.devices import keep_freed_memory, provenance

STARTS = 7
COMMANDS = {
    "python alone": ("-c", "pass"),
    "--help": ("-m", "transformer", "--help"),
    "train --help": ("-m", "transformer", "train", "--help"),
    "corpora list": ("-m", "transformer", "corpora", "list"),
    "a recipe that is not there": ("-m", "transformer", "train", "nonsense"),
    "import torch": ("-c", "import torch"),
}


def record_section(name: str, folder: Path) -> None:
    """Measure one of `tables.SECTIONS` on one thread, write its NAME.json and print its table."""
    file = folder / f"{name}.json"
    check_file(file)
    if name == "export":
        print(_decode(file))
        return
    section = {
        "startup": start,
        "growth": growth.measure,
        "training": training.measure,
        "compile": compiling.measure,
    }[name]
    keep_freed_memory()  # as `train` does; the peers have it too
    with one_thread(), tqdm(desc=name) as bar:
        origin = provenance(torch.device("cpu"))

        def advance(what: str) -> None:
            bar.set_postfix_str(what, refresh=False)
            bar.update()

        figures = section(advance)
    write_json(file, origin | figures)
    print(tables.TABLES[name](figures))


def _decode(file: Path) -> str:
    """Measure decoding beside other engines; say so where they are not installed."""
    here = all(corpora.verify("multi30k").values())
    try:
        export_speed.record_speed("de-en" if here else "demo-en-fr", file)
    except UserError as error:
        return f"decoding is not measured: {error}"
    return f"decoding: {file}"


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
