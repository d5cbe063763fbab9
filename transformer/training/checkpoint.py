"""Where a run stands, in memory, in its log and in its files, to go on as if it never stopped.

Not in the paper. What must agree is in one file: a kill at any moment leaves a state to go on from.
"""

import json
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from os.path import samestat
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from transformer.models import folder
from transformer.support.errors import UserError, require
from transformer.support.files import remove_unfinished
from transformer.training import processes
from transformer.training.devices import Precision

WATCHED = ("steps", "seconds_left", "note")  # of a report: for who watches, not for the log
DEVICE_STATE = "random/device"  # a GPU's random numbers
MAX_OVERFLOWS = 10  # steps in a row; a `GradScaler` halves its scale after each


@dataclass(kw_only=True)
class Progress:
    """Where a run stands; losses are in nats."""

    step: int = 0  # updates done
    epoch: int = 0  # place in the data, from 0
    batch: int = 0  # how many batches of the epoch are used up
    best_loss: float | None = None  # lowest validation loss per token; None before the first
    best_step: int | None = None  # the step that it was measured after
    seconds: float = 0.0  # time spent
    window_nll: float = 0.0  # since the last report: the sum of the loss,
    window_tokens: int = 0  # the real target tokens,
    window_seconds: float = 0.0  # and the time spent in updates
    overflows: int = 0  # steps that were left out, in fp16
    overflows_in_a_row: int = 0  # of the last steps
    to_average: list[int] = field(default_factory=list)  # the last validations' steps
    log_bytes: int = 0  # length of the log


@dataclass
class State:
    """All that a checkpoint holds of a run."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    scaler: torch.amp.GradScaler  # of the loss, in fp16; else it does nothing
    device: torch.device  # where the model is
    progress: Progress = field(default_factory=Progress)

    def save(self, path: Path, settings: Mapping[str, Any]) -> None:
        """Write all that a run needs to go on; the file of before is unharmed until it is whole."""
        tensors = {f"model/{name}": each for name, each in folder.weights(self.model).items()}
        for index, moments in self.optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer/{index}/{key}": value for key, value in moments.items()}
        tensors[folder.STATE] = torch.get_rng_state()
        if self.device.type == "cuda":
            tensors[DEVICE_STATE] = torch.cuda.get_rng_state(self.device)
        about = {"progress": vars(self.progress), "scaler": self.scaler.state_dict()}
        folder.save_tensors(path, tensors, **about, settings=settings)

    def restore(self, tensors: Mapping[str, Tensor], about: Mapping[str, Any], path: Path) -> None:
        """Take over what `save` wrote to a path; a `UserError` says that it is another model's."""
        own: dict[str, Tensor] = {}
        moments: dict[int, dict[str, Tensor]] = {}
        for name, tensor in tensors.items():
            part, _, rest = name.partition("/")
            if part == "model":
                own[rest] = tensor
            elif part == "optimizer":
                index, key = rest.split("/")
                moments.setdefault(int(index), {})[key] = tensor
        folder.load_weights(self.model, own, path)
        self.optimizer.load_state_dict(self.optimizer.state_dict() | {"state": moments})
        self.scaler.load_state_dict(about["scaler"])
        vars(self.progress).update(about["progress"])
        torch.set_rng_state(tensors[folder.STATE])
        if self.device.type == "cuda" and DEVICE_STATE in tensors:
            torch.cuda.set_rng_state(tensors[DEVICE_STATE], self.device)


@dataclass(frozen=True)
class Report:
    """One line of a run's story; `str` gives the line to show, log.jsonl has all but `WATCHED`."""

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


class Run:
    """A run in its folder. Every process calls these methods; the first alone touches files.

    A GPU works behind the program, which waits whenever it reads a number: those of a step stay on
    the device until a report or a checkpoint asks for them.
    """

    def __init__(self, out: Path, state: State, settings: dict[str, Any], resume: bool) -> None:
        """Bring the state to where the run in a folder stands, if one does; `settings` are JSON."""
        self.out, self.state, self.progress, self.settings = out, state, state.progress, settings
        self.unread: list[tuple[int, Tensor, Tensor]] = []  # what `update` gave for each step
        saved = processes.from_first(lambda: self._read_last(resume))
        torch.manual_seed(settings["seed"])
        if saved is not None:
            state.restore(*saved, out / folder.LAST)
        done, steps = self.progress.step, settings["steps"]
        wanted = f"cannot end at {steps}: give {done} steps or more"
        require(done <= steps, f"{out} has done {done} steps already and {wanted}")
        self.began = done, self.progress.seconds
        self.clock = self.saved_at = time.perf_counter()
        self.folder = processes.from_first(out.stat)
        if self._writes():  # undo what a killed run did after its last checkpoint: it comes again
            self._follow()
            for each in (out, (out / folder.LAST).parent):
                remove_unfinished(each)
            with (out / folder.LOG).open("ab") as log:
                log.truncate(min(self.progress.log_bytes, log.tell()))
        if saved is None:
            self.save()

    def _read_last(self, resume: bool) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        """Read the last checkpoint, if there is one, of a run that may go on."""
        check_run(self.out, resume)
        if not (self.out / folder.LAST).exists():
            return None
        tensors, about = folder.load_tensors(self.out / folder.LAST)
        require_same(about["settings"], self.settings)
        return tensors, about

    def _read(self) -> None:
        """Bring the progress up to date; a `UserError` where a number is not finite."""
        if self.unread:
            tokens, nlls, norms = zip(*self.unread, strict=True)
            sums = processes.add_up(torch.stack(nlls).tolist())
            steps = zip(tokens, sums, torch.stack(norms).tolist(), strict=True)
            for step, numbers in enumerate(steps, self.progress.step - len(tokens) + 1):
                self._count(step, *numbers)
            self.unread.clear()
        self.progress.window_seconds += self._pass_time()

    def _count(self, step: int, tokens: int, nll: float, norm: float) -> None:
        progress = self.progress
        if math.isfinite(nll):
            progress.window_nll += nll
            progress.window_tokens += tokens
        if math.isfinite(nll + norm):
            progress.overflows_in_a_row = 0
            return
        fp16 = self.settings["precision"] == Precision.FP16
        self._require(fp16, f"step {step}: the loss or its gradient is not finite")
        progress.overflows += 1
        progress.overflows_in_a_row += 1
        most = f"step {step}: the {MAX_OVERFLOWS}th in a row to overflow in fp16 and be left out"
        self._require(progress.overflows_in_a_row < MAX_OVERFLOWS, most)

    def _require(self, learns: bool, astray: str) -> None:
        fixed, exact = self.settings["learning_rate"], self.settings["precision"] == "float32"
        smaller = "learning_rate" if fixed else "learning_rate_factor, more warmup_steps"
        remedy = f"{smaller} or clip_norm=1{'' if exact else ', or --precision float32'}"
        kept = f"the last good checkpoint, {folder.LAST}, is unharmed"
        require(learns, f"{astray}; {kept}; begin another run with a smaller {remedy}")

    def _pass_time(self) -> float:
        """Add to the run's seconds those since the last call, and give them."""
        before, self.clock = self.clock, time.perf_counter()
        self.progress.seconds += self.clock - before
        return self.clock - before

    def report(self, rate: float) -> Report:
        """Tell of the steps since the last report."""
        self._read()
        progress = self.progress
        loss = progress.window_nll / (progress.window_tokens or math.nan)  # nan: none was finite
        speed = progress.window_tokens / progress.window_seconds
        progress.window_nll, progress.window_tokens, progress.window_seconds = 0.0, 0, 0.0
        left_out = f"steps left out (overflow): {progress.overflows}" if progress.overflows else ""
        return self._log("training", loss, rate, speed, left_out)

    def validate(self, measure: Callable[[], float], rate: float) -> Report:
        """Measure the validation loss, and keep the weights to average."""
        self._read()
        loss, progress, most = measure(), self.progress, self.settings["average_last"]
        self._pass_time()  # which was not spent in learning
        finite = math.isfinite(loss)
        self._require(finite, f"step {progress.step}: the validation loss is not finite")
        if most > 1:
            self._save_weights(folder.step_file(self.out, progress.step), loss=loss)
            progress.to_average = [*progress.to_average, progress.step][-most:]
        gain = progress.best_loss is None or loss < progress.best_loss
        if gain:
            progress.best_loss, progress.best_step = loss, progress.step
        return self._log("validation", loss, rate, None, "best so far" if gain else "")

    def _log(self, kind: str, loss: float, rate: float, speed: float | None, note: str) -> Report:
        """Add a report to the log, and give it."""
        progress, (first_step, first_seconds) = self.progress, self.began
        each = (progress.seconds - first_seconds) / max(progress.step - first_step, 1)
        seconds_left = each * (self.settings["steps"] - progress.step)
        figures = progress.step, progress.epoch + 1, loss, rate, speed, progress.seconds
        perplexity = math.exp(min(loss, 700.0))
        report = Report(kind, *figures, perplexity, self.settings["steps"], seconds_left, note)
        if self._writes():
            kept = {key: each for key, each in vars(report).items() if key not in WATCHED}
            values = {key: None if each != each else each for key, each in kept.items()}  # no NaN
            with (self.out / folder.LOG).open("ab") as file:
                line = json.dumps(values, allow_nan=False) + "\n"
                progress.log_bytes = file.tell() + file.write(line.encode())
        return report

    def save(self) -> None:
        """Write the state to resume from, then bring the other weights to what it says."""
        self._read()
        if self._writes():
            self.state.save(self.out / folder.LAST, self.settings)
            self._follow()
        self._pass_time()
        self.saved_at = self.clock

    def _follow(self) -> None:
        if self.progress.best_step == self.progress.step:
            self._save_weights(self.out / folder.BEST, loss=self.progress.best_loss)
        for step in set(folder.saved_steps(self.out)) - set(self.progress.to_average):
            folder.step_file(self.out, step).unlink()

    def save_final(self, **about: Any) -> None:
        """Write the weights that the run ends with."""
        if self._writes():
            (self.out / folder.MANIFEST).unlink(missing_ok=True)  # of a shorter run
        self._save_weights(self.out / folder.WEIGHTS, **about)

    def _save_weights(self, path: Path, **about: Any) -> None:
        if self._writes():
            tensors = folder.weights(self.state.model)
            folder.save_tensors(path, tensors, step=self.progress.step, **about)

    def _writes(self) -> bool:
        """Tell whether this process writes files, and see that their folder is still the run's."""
        if processes.rank() > 0:
            return False
        there = self.out.exists() and samestat(self.out.stat(), self.folder)
        gone = f"{self.out} was moved, removed or replaced while the run wrote to it"
        remedy = "where its folder is now, --resume goes on from the last checkpoint in it"
        require(there, f"{gone}: {remedy}")
        return True


def check_run(out: Path, resume: bool) -> None:
    """Refuse to begin, or to go on with, a run that would overwrite another's weights."""
    last, *weights = ((out / name).exists() for name in (folder.LAST, folder.BEST, folder.WEIGHTS))
    there = f"{out} holds a run already: go on with it (--resume; that needs {folder.LAST}), or"
    require(resume if last else not any(weights), f"{there} give another folder")


def require_same(saved: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Refuse to go on with other settings (of any depth) than those begun with, but for `steps`."""
    for key in dict.fromkeys([*saved, *given]):
        before, now = saved.get(key), given.get(key)
        if isinstance(before, Mapping) and isinstance(now, Mapping):
            require_same(before, now)
        elif key != "steps":
            change = f"the run was begun with {key}={before} and cannot go on with {key}={now}"
            require(before == now, f"{change}: give {key}={before}, or begin in another folder")
