"""What a run reports of its progress, as a line to show and as a line of log.jsonl."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformer.support.errors import UserError

NOT_LOGGED = ("steps", "seconds_left", "note")  # fields of a report for who watches it, not the log


@dataclass(frozen=True)
class Report:
    """A run's report at a step: `str` is the line to show; log.jsonl has all but `NOT_LOGGED`."""

    kind: str  # "training" or "validation"
    step: int  # updates done
    epoch: int  # pass over the data, from 1
    loss: float  # nats per real token, unsmoothed: held out, or since the last report
    learning_rate: float  # of this step
    tokens_per_second: float | None  # real target tokens learned from; None in a validation
    seconds: float  # spent on the run, all resumed parts together
    perplexity: float  # e to the loss
    steps: int  # all that there will be
    seconds_left: float  # estimated
    note: str = ""  # what else there is to say

    def __str__(self) -> str:
        kind = "validation " if self.kind == "validation" else ""
        line = f"step {self.step}/{self.steps} · epoch {self.epoch} · {kind}loss {self.loss:.2f}"
        line += f" · ppl {self.perplexity:,.{1 if self.perplexity < 1000 else 0}f}"
        if self.tokens_per_second is not None:
            line += f" · lr {self.learning_rate:.2g} · {self.tokens_per_second:,.0f} tokens/s"
            line += f" · {duration(self.seconds_left)} left"
        return f"{line} · {self.note}" if self.note else line


def duration(seconds: float) -> str:
    """Say a time as people do: "40 s", "12 min", "3 h 20 min"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def read_log(path: Path) -> list[dict[str, Any]]:
    """Read a log.jsonl, one dictionary a line (see `Report`); a `UserError` where it is none."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")[:-1]  # a kill has cut the last one off
        return [json.loads(line) for line in lines]
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read the log {path}: {error}") from error
