"""What a run reports of its progress, as a line to show and as a line of log.jsonl."""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformer.support.errors import UserError
from transformer.support.signatures import check_argument_types

# The fields of a report that are for whoever watches the run, and not for its log.
UNLOGGED_REPORT_FIELDS = ("steps", "seconds_left", "note")


@dataclass(frozen=True, kw_only=True)
class Report:
    """A run's report at a step: `str` is the line to show.

    log.jsonl has all but `UNLOGGED_REPORT_FIELDS`.
    """

    kind: str  # "training" or "validation"
    step: int  # updates done
    epoch: int  # pass over the data, from 1
    loss: float  # nats per real token, unsmoothed: of validation, or since the last report
    learning_rate: float  # of this step
    tokens_per_second: float | None  # real target tokens learned from; None in a validation
    seconds: float  # spent on the run, all resumed parts together
    perplexity: float  # e to the loss
    steps: int  # at the end of the run
    seconds_left: float  # estimated
    note: str = ""

    def __str__(self) -> str:
        kind = "validation " if self.kind == "validation" else ""
        decimals = 1 if self.perplexity < 1000 else 0
        line = f"step {self.step}/{self.steps} · epoch {self.epoch} · {kind}loss {self.loss:.2f}"
        line += f" · ppl {self.perplexity:,.{decimals}f}"
        if self.tokens_per_second is not None:
            line += f" · lr {self.learning_rate:.2g} · {self.tokens_per_second:,.0f} tokens/s"
            line += f" · {format_duration(self.seconds_left)} left"
        return f"{line} · {self.note}" if self.note else line


def format_duration(seconds: float) -> str:
    """Return a time in words: "40 s", "12 min", "3 h 20 min"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def append_to_log(path: Path, report: Report) -> int:
    """Add a report to a log.jsonl, NaN as null, and return the log's new length in bytes."""
    values = {}
    for key, value in vars(report).items():
        if key not in UNLOGGED_REPORT_FIELDS:
            is_nan = isinstance(value, float) and math.isnan(value)
            values[key] = None if is_nan else value
    line = json.dumps(values, allow_nan=False) + "\n"
    with path.open("ab") as file:
        return file.tell() + file.write(line.encode())


def truncate_log(path: Path, num_bytes: int) -> None:
    """Cut a log.jsonl off after some bytes, or make an empty one if there is none."""
    with path.open("ab") as file:
        file.truncate(min(num_bytes, file.tell()))


@check_argument_types
def read_log(path: Path) -> list[dict[str, Any]]:
    """Read a log.jsonl, one dictionary a line (see `Report`); a `UserError` if it is none."""
    try:
        # What follows the last line feed was cut off by a kill.
        lines = path.read_text(encoding="utf-8").split("\n")[:-1]
        return [json.loads(line) for line in lines]
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read the log {path}: {error}") from error
