"""A run in its folder: when it writes which file, and what it counts and reports on the way."""

import math
import time
import warnings
from collections.abc import Callable
from os.path import samestat
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from transformer.models import folder
from transformer.models.weights import load_tensors, model_weights, save_tensors
from transformer.parts import non_paper_part_class_names
from transformer.support.errors import UserError, require
from transformer.support.files import remove_temporary_files
from transformer.support.formats import check_format_version
from transformer.training import processes
from transformer.training.checkpoint import TrainingState, damaged_checkpoint_error
from transformer.training.checkpoint_checks import settings_form_problem
from transformer.training.devices import Precision
from transformer.training.report import Report, append_to_log, truncate_log
from transformer.training.settings import require_same_run_settings

MAX_OVERFLOWS_IN_A_ROW = 10  # a `GradScaler` halves its scale after each
MAX_LOG_OF_PERPLEXITY = 700.0  # e to a little more is infinite in 64 bits


class StepStats(NamedTuple):
    """What `update` computed in a step; the tensors are scalars that stay on the device."""

    tokens: int  # real target tokens of the whole batch
    nll: Tensor  # summed negative log-likelihood of this process's share, unsmoothed, in nats
    grad_norm: Tensor  # norm of the gradient before clipping


class Run:
    """A run in its folder. Every process calls these methods; that of rank 0 alone touches files.

    A GPU computes behind the program, which has to wait whenever it reads a number. So the numbers
    of a step stay on the device until a report or a checkpoint needs them.

    Attributes:
        pending: The statistics of steps that were not read from the device yet.
        saved_at: When the last checkpoint was written, by `time.perf_counter`.
    """

    def __init__(
        self,
        out: Path,
        state: TrainingState,
        settings: dict[str, Any],
        schedule: Callable[[int], float],
        resume: bool,
    ) -> None:
        """Open a run, and restore its last checkpoint into the state if there is one.

        `settings` are those of `run_settings`; errors are as of `train`.
        """
        self.out, self.settings, self.schedule = out, settings, schedule
        self.state, self.progress = state, state.progress
        self.pending: list[StepStats] = []
        checkpoint = processes.run_on_rank_zero(lambda: self._read_checkpoint(resume))
        torch.manual_seed(settings["seed"])
        if checkpoint is not None:
            tensors, about = checkpoint
            state.restore(tensors, about, out / folder.LAST)
        done, steps = self.progress.step, settings["steps"]
        require(
            done <= steps,
            f"{out} has done {done} steps already and cannot end at {steps}: "
            f"give {done} steps or more",
        )
        self.first_step, self.first_seconds = done, self.progress.seconds
        self.clock = self.saved_at = time.perf_counter()
        self.folder_id = processes.run_on_rank_zero(out.stat)
        if self._is_writer():
            # Undo what a killed run wrote after its last checkpoint: it is about to come again.
            self._match_weight_files_to_progress()
            for directory in (out, (out / folder.LAST).parent):
                remove_temporary_files(directory)
            truncate_log(out / folder.LOG, self.progress.log_bytes)
        if checkpoint is None:
            self.save()

    def _read_checkpoint(self, resume: bool) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        """Return the last checkpoint, if there is one, of a run that may go on."""
        check_may_train_in(self.out, resume)
        if not (self.out / folder.LAST).exists():
            log = self.out / folder.LOG
            require(
                not (resume and log.is_file() and log.stat().st_size > 0),
                f"{self.out} has no {folder.LAST}, which --resume goes on from: put it back, or "
                "begin in another folder",
            )
            return None
        path = self.out / folder.LAST
        tensors, about = load_tensors(path)
        check_format_version(about, path)
        if problem := settings_form_problem(about.get("settings")):
            raise damaged_checkpoint_error(path, problem, about)
        require_same_run_settings(about["settings"], self.settings, self.schedule)
        return tensors, about

    # --- counting ---

    def count_step(self, stats: StepStats) -> None:
        """Count a step that was done."""
        self.pending.append(stats)
        self.progress.step += 1

    def _read_pending_stats(self) -> None:
        """Bring the progress up to date; raise a UserError if a number is not finite."""
        if self.pending:
            nlls = torch.stack([stats.nll for stats in self.pending]).tolist()
            grad_norms = torch.stack([stats.grad_norm for stats in self.pending]).tolist()
            nlls = processes.all_reduce_sum(nlls)
            first_step = self.progress.step - len(self.pending) + 1
            for i, stats in enumerate(self.pending):
                self._add_step_stats(first_step + i, stats.tokens, nlls[i], grad_norms[i])
            self.pending.clear()
        self.progress.window_seconds += self._add_elapsed_time()

    def _add_step_stats(self, step: int, tokens: int, nll: float, grad_norm: float) -> None:
        """Add a step to the progress; raise a UserError if the run has gone astray in it."""
        progress = self.progress
        if math.isfinite(nll):
            progress.window_nll += nll
            progress.window_tokens += tokens
        if math.isfinite(nll) and math.isfinite(grad_norm):
            progress.overflows_in_a_row = 0
            return
        if self.settings["precision"] != Precision.FP16:
            raise self._divergence_error(f"step {step}: the loss or its gradient is not finite")
        progress.overflows += 1
        progress.overflows_in_a_row += 1
        if progress.overflows_in_a_row == MAX_OVERFLOWS_IN_A_ROW:
            raise self._divergence_error(
                f"step {step}: the {MAX_OVERFLOWS_IN_A_ROW}th in a row to overflow in fp16 and be "
                "left out"
            )

    def _divergence_error(self, problem: str) -> UserError:
        """Return an error that says how to begin a run whose numbers stay finite."""
        remedy = "learning_rate_factor, more warmup_steps or clip_norm=1"
        if self.settings["learning_rate"]:
            remedy = "learning_rate or clip_norm=1"
        if self.settings["precision"] != Precision.FLOAT32:
            remedy = f"{remedy}, or --precision float32"
        unharmed = f"the last good checkpoint, {folder.LAST}, is unharmed"
        return UserError(f"{problem}; {unharmed}; begin another run with a smaller {remedy}")

    def _add_elapsed_time(self) -> float:
        """Add the seconds since the last call to the run's, and return them."""
        before, self.clock = self.clock, time.perf_counter()
        self.progress.seconds += self.clock - before
        return self.clock - before

    # --- reports ---

    def report(self) -> Report:
        """Report the steps since the last report, and log it."""
        report = self.early_report()
        progress = self.progress
        progress.window_nll, progress.window_tokens, progress.window_seconds = 0.0, 0, 0.0
        return self._log(report)

    def early_report(self) -> Report:
        """Report the steps since the last report, for whoever watches: it is not logged."""
        self._read_pending_stats()
        progress = self.progress
        loss = math.nan  # if no step had a finite loss
        if progress.window_tokens:
            loss = progress.window_nll / progress.window_tokens
        tokens_per_second = progress.window_tokens / progress.window_seconds
        note = f"steps left out (overflow): {progress.overflows}" if progress.overflows else ""
        return self._make_report("training", loss, tokens_per_second, note)

    def validate(self, measure_loss: Callable[[], float]) -> Report:
        """Measure the validation loss, and keep the weights for the average (§6.1)."""
        self._read_pending_stats()
        self.forget_removed_weights()
        progress = self.progress
        loss = measure_loss()
        self._add_elapsed_time()  # of the run, but not of its updates
        if not math.isfinite(loss):
            raise self._divergence_error(f"step {progress.step}: the validation loss is not finite")
        average_last = self.settings["average_last"]
        if average_last > 1:
            self._save_weights_to(folder.step_weights_path(self.out, progress.step), loss=loss)
            earlier = [step for step in progress.to_average if step != progress.step]
            progress.to_average = [*earlier, progress.step][-average_last:]
        is_best = progress.best_loss is None or loss < progress.best_loss
        if is_best:
            progress.best_loss, progress.best_step = loss, progress.step
        report = self._make_report("validation", loss, None, "best so far" if is_best else "")
        return self._log(report)

    def _make_report(
        self, kind: str, loss: float, tokens_per_second: float | None, note: str
    ) -> Report:
        progress, steps = self.progress, self.settings["steps"]
        steps_here = max(progress.step - self.first_step, 1)
        seconds_per_step = (progress.seconds - self.first_seconds) / steps_here
        return Report(
            kind=kind,
            step=progress.step,
            epoch=progress.epoch + 1,
            loss=loss,
            learning_rate=self.schedule(progress.step),
            tokens_per_second=tokens_per_second,
            seconds=progress.seconds,
            perplexity=math.exp(min(loss, MAX_LOG_OF_PERPLEXITY)),
            steps=steps,
            seconds_left=seconds_per_step * (steps - progress.step),
            note=note,
        )

    def _log(self, report: Report) -> Report:
        """Return a report, after adding it to the log."""
        if self._is_writer():
            self.progress.log_bytes = append_to_log(self.out / folder.LOG, report)
        return report

    # --- files ---

    def forget_removed_weights(self) -> None:
        """Leave out of the best and the averaged weights those whose files are gone, and say so.

        Without them a run could not end, and never could however often it is resumed.
        """
        removed = processes.run_on_rank_zero(self._missing_weight_file_names)
        if not removed:
            return
        progress = self.progress
        if folder.BEST in removed:
            progress.best_loss, progress.best_step = None, None
        progress.to_average = [
            step
            for step in progress.to_average
            if folder.step_weights_path(Path(), step).as_posix() not in removed
        ]
        if processes.rank() == 0:
            names = ", ".join(removed)
            warnings.warn(
                f"{names} of {self.out} were removed: the run ends with the best, or the average, "
                "of the weights that are left",
                stacklevel=2,
            )

    def _missing_weight_file_names(self) -> list[str]:
        """Return the names of the weight files that the progress names and that are not there."""
        progress = self.progress
        names = [folder.step_weights_path(Path(), step).as_posix() for step in progress.to_average]
        # The best are written when the run is saved, after the validation that found them.
        if progress.best_step not in (None, progress.step):
            names.append(folder.BEST)
        return [name for name in names if not (self.out / name).is_file()]

    def save(self) -> None:
        """Write the checkpoint to resume from, then bring the other files of weights in line."""
        self._read_pending_stats()
        if self._is_writer():
            self.state.save(self.out / folder.LAST, self.settings)
            self._match_weight_files_to_progress()
        self._add_elapsed_time()
        self.saved_at = self.clock

    def _match_weight_files_to_progress(self) -> None:
        """Make the files of weights those that the progress names: the best, and the averaged."""
        if self.progress.best_step == self.progress.step:
            self._save_weights_to(self.out / folder.BEST, loss=self.progress.best_loss)
        for step in set(folder.saved_steps(self.out)) - set(self.progress.to_average):
            folder.step_weights_path(self.out, step).unlink()

    def save_final_weights(self, loss: float, source: str) -> None:
        """Write the weights that the run ends with; their source is "best" or "average"."""
        if self._is_writer():
            # The manifest is of a shorter run, if there is one.
            (self.out / folder.MANIFEST).unlink(missing_ok=True)
        self._save_weights_to(self.out / folder.WEIGHTS, loss=loss, kept=source)

    def _save_weights_to(self, path: Path, **about: Any) -> None:
        if self._is_writer():
            weights = model_weights(self.state.model)
            if others := non_paper_part_class_names(self.state.model):
                about["parts"] = others
            save_tensors(path, weights, step=self.progress.step, **about)

    def _is_writer(self) -> bool:
        """Return whether this process writes files; raise if the folder is no longer the run's."""
        if processes.rank() > 0:
            return False
        require(
            self.out.exists() and samestat(self.out.stat(), self.folder_id),
            f"{self.out} was moved, removed or replaced while the run wrote to it: where its "
            "folder is now, --resume goes on from the last checkpoint in it",
        )
        return True


def check_may_train_in(out: Path, resume: bool) -> None:
    """Raise a UserError if a run in this folder would overwrite the weights of another."""
    has_state = (out / folder.LAST).exists()
    has_weights = (out / folder.BEST).exists() or (out / folder.WEIGHTS).exists()
    require(
        has_state or not (resume and has_weights),
        f"{out} has weights but no {folder.LAST}, the state that a run goes on from: begin a new "
        f"run with them in another folder (--start-from {out} and --out)",
    )
    remedy = (
        "go on with it (--resume), or give another folder"
        if has_state
        else (f"give another folder, and --start-from {out} to begin with its weights")
    )
    require(resume or not (has_state or has_weights), f"{out} holds a run already: {remedy}")
