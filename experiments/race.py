"""The record of the race on the embedded corpus that lesson 13 shows (`lessonkit.analysis.racing`).

Not in the paper.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from lessonkit.analysis.machines import one_thread
from lessonkit.analysis.racing import RECIPE, TARGET, race
from transformer.support.errors import UserError
from transformer.support.files import read_json, write_json
from transformer.support.provenance import provenance

RECORD = "bench/race.json"

# What the record tries, each beside the recipe as it is.
TRIED: dict[str, dict[str, str]] = {
    "the recipe": {},
    "half the warm-up, validated every 25 steps": {"warmup_steps": "75", "validate_every": "25"},
}


@one_thread()
def record_races(
    file: Path,
    *,
    seeds: Sequence[int] = (1, 2, 3),
    tried: Mapping[str, Mapping[str, str]] = TRIED,
    on_line: Callable[[str], None] = print,
) -> None:
    """Run what is to be tried with each seed, on one thread, and write the record after each.

    What the record has already is not run again; one with another target is a UserError.
    """
    record: dict[str, Any] = {"recipe": RECIPE, "target": TARGET, "runs": []}
    if file.exists():
        record = read_json(file)
        if record["target"] != TARGET:
            raise UserError(f"{file} has the target {record['target']}: remove it, or move it")
    done = {(run["change"], run["seed"]) for run in record["runs"]}
    origin = provenance(torch.device("cpu"))  # before the record is a change in the clone
    for seed in seeds:
        for change, settings in tried.items():
            if (change, seed) in done:
                continue
            on_line(f"{change}, seed {seed}")
            finish = race(settings, seed=seed, on_report=on_line)
            about = {"change": change, "settings": dict(settings), "seed": seed}
            digits = {"seconds": 2, "in_steps": 1, "loss": 4}
            found = {
                name: round(value, digits[name]) if name in digits else value
                for name, value in finish._asdict().items()
            }
            record["runs"].append(about | found | {"origin": origin})
            write_json(file, record)
