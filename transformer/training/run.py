"""A run in its folder: its checkpoints, its log, and what it refuses to overwrite or to resume."""

import json
import math
import time
from collections.abc import Callable, Mapping
from os.path import samestat
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from transformer.models import folder
from transformer.models.weights import load_tensors, model_weights, save_tensors
from transformer.support.errors import require
from transformer.support.files import remove_temporary_files
from transformer.training import processes
from transformer.training.checkpoint import State
from transformer.training.devices import Precision
from transformer.training.report import NOT_LOGGED, Report

MAX_OVERFLOWS_IN_A_ROW = 10  # steps in a row; a `GradScaler` halves its scale after each


class Run:
    """A run in its folder. Every process calls these methods; the first alone touches files.

    A GPU works behind the program, which waits whenever it reads a number: those of a step stay on
    the device until a report or a checkpoint asks for them.
    """

    def __init__(self, out: Path, state: State, settings: dict[str, Any], resume: bool) -> None:
        """Bring the state to where the run in a folder stands, if one does; `settings` are JSON."""
        self.out, self.state, self.progress, self.settings = out, state, state.progress, settings
        self.unread: list[tuple[int, Tensor, Tensor]] = []  # what `update` gave for each step
        saved = processes.on_rank_zero(lambda: self._read_last(resume))
        torch.manual_seed(settings["seed"])
        if saved is not None:
            state.restore(*saved, out / folder.LAST)
        done, steps = self.progress.step, settings["steps"]
        wanted = f"cannot end at {steps}: give {done} steps or more"
        require(done <= steps, f"{out} has done {done} steps already and {wanted}")
        self.began = done, self.progress.seconds
        self.clock = self.saved_at = time.perf_counter()
        self.folder = processes.on_rank_zero(out.stat)
        if self._writes():  # undo what a killed run did after its last checkpoint: it comes again
            self._sync_files()
            for each in (out, (out / folder.LAST).parent):
                remove_temporary_files(each)
            with (out / folder.LOG).open("ab") as log:
                log.truncate(min(self.progress.log_bytes, log.tell()))
        if saved is None:
            self.save()

    def _read_last(self, resume: bool) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        """Read the last checkpoint, if there is one, of a run that may go on."""
        check_run(self.out, resume)
        if not (self.out / folder.LAST).exists():
            return None
        tensors, about = load_tensors(self.out / folder.LAST)
        require_same(about["settings"], self.settings)
        return tensors, about

    def _read(self) -> None:
        """Bring the progress up to date; a `UserError` where a number is not finite."""
        if self.unread:
            tokens, nlls, norms = zip(*self.unread, strict=True)
            sums = processes.all_reduce_sum(torch.stack(nlls).tolist())
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
        self._require_finite(fp16, f"step {step}: the loss or its gradient is not finite")
        progress.overflows += 1
        progress.overflows_in_a_row += 1
        limit = MAX_OVERFLOWS_IN_A_ROW
        message = f"step {step}: the {limit}th in a row to overflow in fp16 and be left out"
        self._require_finite(progress.overflows_in_a_row < limit, message)

    def _require_finite(self, finite: bool, message: str) -> None:
        fixed, exact = self.settings["learning_rate"], self.settings["precision"] == "float32"
        smaller = "learning_rate" if fixed else "learning_rate_factor, more warmup_steps"
        remedy = f"{smaller} or clip_norm=1{'' if exact else ', or --precision float32'}"
        kept = f"the last good checkpoint, {folder.LAST}, is unharmed"
        require(finite, f"{message}; {kept}; begin another run with a smaller {remedy}")

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
        self._require_finite(finite, f"step {progress.step}: the validation loss is not finite")
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
            kept = {key: each for key, each in vars(report).items() if key not in NOT_LOGGED}
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
            self._sync_files()
        self._pass_time()
        self.saved_at = self.clock

    def _sync_files(self) -> None:
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
            tensors = model_weights(self.state.model)
            save_tensors(path, tensors, step=self.progress.step, **about)

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
