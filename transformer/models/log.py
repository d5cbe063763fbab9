"""The reports of a run, and their log: log.jsonl has one a line."""

import dataclasses
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformer.support.errors import UserError
from transformer.support.files import write_atomically


@dataclass(frozen=True, kw_only=True)
class Report:
    """One line of a run's story; `str` gives the line to show."""

    kind: str  # "training" or "validation"
    step: int  # updates done
    steps: int  # all that there will be
    epoch: int  # pass over the data, from 1
    # Negative log likelihood without smoothing, nats per real token: the mean since the last
    # training report (with dropout), or over the validation data.
    loss: float
    learning_rate: float  # of this step
    tokens_per_second: float | None  # real target tokens learned from; None in a validation
    seconds: float  # spent on the run, all resumed parts together
    seconds_left: float  # estimated
    note: str = ""  # what else there is to say

    @property
    def perplexity(self) -> float:
        """Perplexity: e to the loss."""
        return math.exp(min(self.loss, 700.0))

    def __str__(self) -> str:
        validation = "validation " if self.kind == "validation" else ""
        parts = [
            f"step {self.step}/{self.steps}",
            f"epoch {self.epoch}",
            f"{validation}loss {self.loss:.2f}",
            f"ppl {self.perplexity:,.{1 if self.perplexity < 1000 else 0}f}",
        ]
        if self.tokens_per_second is not None:
            parts.append(f"lr {self.learning_rate:.2g}")
            parts.append(f"{self.tokens_per_second:,.0f} tokens/s")
            parts.append(f"{duration(self.seconds_left)} left")
        return " · ".join([*parts, self.note] if self.note else parts)

    def to_dict(self) -> dict[str, Any]:
        """Give the values of the line in log.jsonl."""
        values = dataclasses.asdict(self) | {"perplexity": self.perplexity}
        for_who_watches = {"steps", "seconds_left", "note"}
        return {key: value for key, value in values.items() if key not in for_who_watches}


def duration(seconds: float) -> str:
    """Say a time as people do: "40 s", "12 min", "3 h 20 min"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def append_log(path: Path, report: Report) -> None:
    """Add a report to a log."""
    try:
        with path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(json.dumps(report.to_dict(), allow_nan=False) + "\n")
    except OSError as error:
        raise UserError(
            f"cannot write {path} ({error.strerror}): make room there, then resume; "
            "the last checkpoint is unharmed"
        ) from error


def read_log(path: Path) -> list[dict[str, Any]]:
    """Read a log, one dictionary a line, without a last line that a kill cut off.

    Raises:
        UserError: the file is missing, or is not a log.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")[:-1]  # what follows is cut off
        return [json.loads(line) for line in lines]
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read the log {path}: {error}") from error


def truncate_log(path: Path, step: int, validated_step: int) -> None:
    """Drop the reports after a checkpoint of `step`, so that a resumed run writes none twice.

    An empty log is begun where there is none; `validated_step` is the last validation's.
    """
    last = {"training": step, "validation": validated_step}
    records = read_log(path) if path.exists() else []
    kept = [json.dumps(each) + "\n" for each in records if each["step"] <= last[each["kind"]]]
    write_atomically(path, "".join(kept).encode())
