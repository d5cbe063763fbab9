"""What a run says: a line for each report, also in log.jsonl, and how it ended."""

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from transformer.support.errors import UserError


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
        parts = [
            f"step {self.step}/{self.steps} · epoch {self.epoch}",
            f"{'validation ' * (self.kind == 'validation')}loss {self.loss:.2f}",
            f"ppl {self.perplexity:,.{1 if self.perplexity < 1000 else 0}f}",
        ]
        if self.tokens_per_second is not None:
            parts.append(f"lr {self.learning_rate:.2g} · {self.tokens_per_second:,.0f} tokens/s")
            parts.append(f"{duration(self.seconds_left)} left")
        return " · ".join([*parts, self.note] if self.note else parts)

    def to_dict(self) -> dict[str, Any]:
        """Give the values of the line in log.jsonl: not those that are for who watches."""
        values = asdict(self) | {"perplexity": self.perplexity}
        return {k: v for k, v in values.items() if k not in ("steps", "seconds_left", "note")}


def duration(seconds: float) -> str:
    """Say a time as people do: "40 s", "12 min", "3 h 20 min"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def read_log(path: Path) -> list[dict[str, Any]]:
    """Read a log.jsonl, one dictionary a line, without a last line that a kill cut off.

    Raises:
        UserError: the file is missing, or is not a log.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")[:-1]  # what follows is cut off
        return [json.loads(line) for line in lines]
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read the log {path}: {error}") from error


@dataclass(frozen=True)
class TrainingResult:
    """How a run ended; `str` says it in a line. Losses are in nats per token."""

    step: int  # updates done
    epoch: int  # that the last was in, from 1
    seconds: float  # time spent, all resumed parts together
    out: Path  # the run's folder
    best_loss: float | None  # lowest validation loss of any checkpoint; None before the first
    final_loss: float | None = None  # of model.safetensors; None if interrupted: resume to go on
    final_from: str = ""  # whose weights these are: "best" or "average"; "" if interrupted

    @property
    def interrupted(self) -> bool:
        """Whether the run stopped before its end."""
        return self.final_loss is None

    def __str__(self) -> str:
        if self.final_loss is None:
            return f"stopped after step {self.step}: all is kept in {self.out}, resume to go on"
        whose = "the best checkpoint" if self.final_from == "best" else "the average"
        return (
            f"done in {duration(self.seconds)}, {self.step} steps: {whose} is kept as "
            f"{self.out / 'model.safetensors'}, validation loss {self.final_loss:.3f}"
        )
