"""A race on the embedded corpus: learn it to a loss in the fewest seconds of the processor.

Not in the paper. The text and its tokens are fixed, or losses per token would not compare; all
else of the recipe `demo` may be changed. Seconds are those that the processor worked for this
process, validations included. Machines differ, so a race is told in steps too: the time in which
the same machine makes so many steps of the recipe as it is.
"""

import contextlib
import dataclasses
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

import torch

from experiments.training_parts import Parts, changed
from transformer.config import DataConfig, Recipe
from transformer.models.log import Report
from transformer.recipes.named import find_recipe
from transformer.support.clock import one_thread
from transformer.support.errors import UserError
from transformer.support.files import read_json, write_json
from transformer.support.provenance import provenance
from transformer.training.runner import train_recipe

RECORD = "bench/race.json"
RECIPE = "demo"
TARGET = 0.5  # validation loss, nats per token
FIXED = {each.name for each in dataclasses.fields(DataConfig)}
MEASURED = 10  # steps of the recipe that tell how fast the machine is

# What the record tries, each beside the recipe as it is.
TRIED: dict[str, dict[str, str]] = {
    "the recipe": {},
    "half the warm-up, validated every 25 steps": {"warmup_steps": "75", "validate_every": "25"},
}


class Finish(NamedTuple):
    """How a race ended.

    Attributes:
        reached: Whether the target was.
        seconds: Of the processor, from the first step to the validation that reached it, or to
            the end.
        in_steps: The same in steps of the recipe as it is, on this machine.
        steps: That were made.
        loss: Of the last validation, nats per token.
    """

    reached: bool
    seconds: float
    in_steps: float
    steps: int
    loss: float


class _ReachedError(Exception):
    """The race is won."""


def race(
    settings: Mapping[str, str], *, seed: int = 1, on_report: Callable[[str], None] = print
) -> Finish:
    """Train the recipe with other settings until the validation loss is at the target.

    Args:
        settings: Of the recipe, as typed after `--set`, none of its data; or of
            `training_parts.Parts`.
        seed: Of weights and batches.
        on_report: Called with a line for each validation.

    Raises:
        UserError: a setting is of the data, or cannot be.
    """
    recipe, parts = _changed(settings, seed)
    reports: list[Report] = []
    clock = 0.0
    began = 0.0

    def begin(_: str) -> None:
        nonlocal began
        began = time.process_time()

    def look(report: Report) -> None:
        nonlocal clock
        if report.kind == "validation":
            clock = time.process_time() - began
            reports.append(report)
            on_report(f"step {report.step:4}: loss {report.loss:.2f}, {clock:.0f} s")
            if report.loss <= TARGET:
                raise _ReachedError

    with tempfile.TemporaryDirectory() as folder:
        step = _seconds_a_step(Path(folder) / "measured")
        with contextlib.suppress(_ReachedError):
            train_recipe(
                recipe,
                Path(folder) / "run",
                device=torch.device("cpu"),
                on_begin=begin,
                on_report=look,
                **parts.options(recipe),
            )
    last = reports[-1]
    return Finish(last.loss <= TARGET, clock, clock / step, last.step, last.loss)


def _changed(settings: Mapping[str, str], seed: int) -> tuple[Recipe, Parts]:
    """Give the recipe of a race, and what else of its training is changed."""
    if fixed := sorted(FIXED & settings.keys()):
        raise UserError(f"{fixed[0]} is of the data, which all share: leave it out")
    return changed(find_recipe(RECIPE), {**settings, "seed": str(seed)})


def _seconds_a_step(folder: Path) -> float:
    """Measure a step of the recipe as it is; the first is left out."""
    ends: list[float] = []
    train_recipe(
        find_recipe(RECIPE).override({"report_every": "1"}),
        folder,
        device=torch.device("cpu"),
        on_begin=lambda _: None,
        on_report=lambda _: ends.append(time.process_time()),
        stop_after=MEASURED + 1,
    )
    return (ends[MEASURED] - ends[0]) / MEASURED


@one_thread()
def record_races(
    file: Path,
    *,
    seeds: Sequence[int] = (1, 2, 3),
    tried: Mapping[str, Mapping[str, str]] = TRIED,
    on_line: Callable[[str], None] = print,
) -> None:
    """Run what is to be tried with each seed, on one thread, and write the record after each.

    What the record has already is not run again.

    Args:
        file: JSON to write.
        seeds: Of each.
        tried: Settings by what they change.
        on_line: Called with each line of progress.

    Raises:
        UserError: the record has another target.
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
            found = {
                "reached": finish.reached,
                "seconds": round(finish.seconds, 2),
                "in_steps": round(finish.in_steps, 1),
                "steps": finish.steps,
                "loss": round(finish.loss, 4),
            }
            record["runs"].append(about | found | {"origin": origin})
            write_json(file, record)


def best(record: Mapping[str, Any]) -> tuple[str, float]:
    """Name the change with the lowest mean time in steps; only where all its runs arrived.

    Args:
        record: As `record_races` writes it.

    Raises:
        UserError: no change arrived.
    """
    times: dict[str, list[float]] = {}
    missed = {run["change"] for run in record["runs"] if not run["reached"]}
    for run in record["runs"]:
        if run["change"] not in missed:
            times.setdefault(run["change"], []).append(run["in_steps"])
    if not times:
        raise UserError("no run of this record arrived: nothing to race against")
    means = {change: mean(each) for change, each in times.items()}
    fastest = min(means, key=lambda change: means[change])
    return fastest, means[fastest]
