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
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

import torch

from transformer.config import DataConfig
from transformer.models.log import Report
from transformer.recipes.named import find_recipe
from transformer.support.errors import UserError
from transformer.training.recipe import train_recipe

RECIPE = "demo"
TARGET = 0.5  # validation loss, nats per token
FIXED = {each.name for each in dataclasses.fields(DataConfig)}
MEASURED = 10  # steps of the recipe that tell how fast the machine is


class Finish(NamedTuple):
    """How a race ended."""

    reached: bool  # whether the target was
    seconds: float  # of the processor, from the first step to the last validation
    in_steps: float  # the same in steps of the recipe as it is, on this machine
    steps: int  # that were made
    loss: float  # of the last validation, nats per token


class _ReachedError(Exception):
    """The race is won."""


def race(
    settings: Mapping[str, str],
    *,
    seed: int = 1,
    on_report: Callable[[str], None] = print,
    **options: Any,
) -> Finish:
    """Train the recipe with other settings until the validation loss is at the target.

    Args:
        settings: Of the recipe, as typed after `--set`; one of its data is a UserError.
        seed: Of weights and batches.
        on_report: Called with a line for each validation.
        options: For `train_recipe`: a rate, an optimizer or a start of your own.
    """
    if fixed := sorted(FIXED & settings.keys()):
        raise UserError(f"{fixed[0]} is of the data, which all share: leave it out")
    recipe = find_recipe(RECIPE).override({**settings, "seed": str(seed)})
    begun: list[float] = []
    reports: list[tuple[float, Report]] = []  # of validations, with the clock

    def look(report: Report) -> None:
        if report.kind == "validation":
            clock = time.process_time() - begun[0]
            reports.append((clock, report))
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
                on_begin=lambda _: begun.append(time.process_time()),
                on_report=look,
                **options,
            )
    clock, last = reports[-1]
    return Finish(last.loss <= TARGET, clock, clock / step, last.step, last.loss)


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


def best(record: Mapping[str, Any]) -> tuple[str, float]:
    """Name the change with the lowest mean time in steps; only where all its runs arrived.

    The record is that of `python -m experiments race`.
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
