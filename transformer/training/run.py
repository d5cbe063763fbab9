"""A run: where it stands, what it writes, and which weights it keeps in the end.

Not in the paper, but for the average of the last checkpoints (§6.1).
"""

import dataclasses
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from transformer.data.batches import Batch
from transformer.models.checkpoint import average, load_tensors, load_weights, save_tensors, weights
from transformer.models.folder import MANIFEST, RunFolder
from transformer.models.log import Report, append_log, duration, truncate_log
from transformer.support.errors import UserError
from transformer.support.files import locked, remove_unfinished
from transformer.training.checkpoint import Progress, State, load_state, restore, save_state
from transformer.training.loss import validation_loss
from transformer.training.updates import Updates


@dataclass(frozen=True, kw_only=True)
class TrainingResult:
    """How a run ended; `str` says it in a line. Losses are in nats per token."""

    step: int  # updates done
    epoch: int  # that the last was in, from 1
    best_loss: float | None  # lowest validation loss of any checkpoint; None before the first
    final_loss: float | None  # validation loss of model.safetensors; None if interrupted
    final_from: str  # whose weights these are: "best" or "average"; "" if interrupted
    seconds: float  # time spent, all resumed parts together
    out: Path  # the run's folder

    @property
    def interrupted(self) -> bool:
        """Whether the run stopped before its end; resume to go on."""
        return self.final_loss is None

    def __str__(self) -> str:
        if self.final_loss is None:
            return f"stopped after step {self.step}: all is kept in {self.out}, resume to go on"
        whose = "the best checkpoint" if self.final_from == "best" else "the average"
        return (
            f"done in {duration(self.seconds)}, {self.step} steps: {whose} is kept as "
            f"{self.out / 'model.safetensors'}, validation loss {self.final_loss:.3f}"
        )


class Run:
    """Where a run stands, what it writes, and which weights it keeps in the end.

    Every process that shares the work has one; the first alone writes.

    Args:
        updates: Of the model.
        validation_batches: What to choose the best weights by.
        folder: Where the run keeps its files.
    """

    def __init__(
        self, updates: Updates, validation_batches: Sequence[Batch], folder: RunFolder
    ) -> None:
        self.updates, self.validation_batches, self.folder = updates, validation_batches, folder
        self.model, self.config, self.processes = updates.model, updates.config, updates.processes
        self.progress = Progress()
        # Validation loss at an end between two validations. A longer run passes that end by: no
        # checkpoint has it.
        self.end_loss: float | None = None
        self.settings: dict[str, Any] = dataclasses.asdict(self.config) | {
            "d_model": updates.d_model,
            "optimizer": type(updates.optimizer).__name__,
        }

    def enter(self, held: ExitStack, resume: bool) -> State | None:
        """Hold the folder, and read the last checkpoint in it, if there is one."""
        held.enter_context(locked(self.folder.out))
        self.folder.check(resume)
        last = self.folder.last
        return load_state(last, self.settings) if last.exists() else None

    def begin(self, state: State | None) -> None:
        """Seed a new run, or go on from a checkpoint as if nothing had come in between."""
        folder, steps = self.folder, self.config.steps
        torch.manual_seed(self.config.seed)
        if state is not None:
            self.progress = restore(state, self.model, self.updates.optimizer, folder.last)
        progress = self.progress
        if progress.step > steps:
            raise UserError(
                f"{folder.out} has done {progress.step} steps already and cannot end at "
                f"{steps}: give {progress.step} steps or more"
            )
        self.first_step, self.first_seconds = progress.step, progress.seconds
        self.clock = time.perf_counter() - progress.seconds
        if not self.processes.is_first:
            return
        best = load_tensors(folder.best)[1] if folder.best.is_file() else {}
        if best.get("loss") != progress.best_loss and progress.best_step != progress.step:
            raise UserError(
                f"{folder.best} is missing or not this run's: put it back, or begin in another "
                "folder"
            )
        self._save_best()  # where a kill came before that
        # What a killed run wrote after its last checkpoint comes again.
        for each in (folder.out, folder.last.parent):
            remove_unfinished(each)
        truncate_log(folder.log, progress.step, self._validated_step())
        self._drop_step_files()
        if state is None:
            self.save()

    def _validated_step(self) -> int:
        """The last step after which a run of any length has been validated."""
        return self.progress.step - self.progress.step % self.config.validate_every

    @contextmanager
    def _learning(self) -> Iterator[None]:
        """Count the time as spent in updates: the speed is that of learning alone."""
        started = time.perf_counter()
        yield
        self.progress.window_seconds += time.perf_counter() - started

    def update(self, stream: Iterator[Batch]) -> None:
        """Make one step on the next batches."""
        with self._learning():
            group = [next(stream) for _ in range(self.config.accumulate)]
            self.progress.window_tokens += self.updates.make(self.progress.step + 1, group)
        self.progress.step += 1

    def _read_losses(self) -> None:
        """Count the losses of the steps since they were last read; refuse what is not finite."""
        with self._learning():
            found = self.updates.read()
        for step, nll, norm in found:
            self._require_finite(nll + norm, f"step {step}: the loss or its gradient")
            self.progress.window_nll += nll

    def _require_finite(self, value: float, what: str) -> None:
        """Refuse to go on with a run that has gone astray."""
        if not math.isfinite(value):
            raise UserError(
                f"{what} is not finite; the last good checkpoint, {self.folder.last}, is "
                "unharmed; begin another run with a smaller learning_rate_factor, more "
                "warmup_steps or clip_norm=1"
            )

    def report(self) -> Report:
        """Log the loss and the speed since the last report."""
        self._read_losses()
        progress = self.progress
        loss = progress.window_nll / progress.window_tokens
        speed = progress.window_tokens / progress.window_seconds
        progress.window_nll, progress.window_tokens, progress.window_seconds = 0.0, 0, 0.0
        return self._logged("training", loss, speed)

    def validate(self) -> Report:
        """Measure the validation loss, and log it."""
        self._read_losses()
        progress, loss = self.progress, self._validation_loss()
        self._require_finite(loss, f"step {progress.step}: the validation loss")
        gain = progress.best_loss is None or loss < progress.best_loss
        report = self._logged("validation", loss, None, note="best so far" if gain else "")
        if self.config.average_last > 1:
            self._save(self.folder.step_file(progress.step), step=progress.step, loss=loss)
        if progress.step % self.config.validate_every:
            self.end_loss = loss
        elif gain:
            progress.best_loss, progress.best_step = loss, progress.step
        return report

    def save(self) -> None:
        """Write the checkpoint to resume from, then what it says is the best."""
        self._read_losses()  # which refuses weights that went astray
        progress, optimizer = self.progress, self.updates.optimizer
        progress.seconds = time.perf_counter() - self.clock
        if self.processes.is_first:
            save_state(self.folder.last, self.model, optimizer, progress, self.settings)
            self._save_best()
            self._drop_step_files()

    def _save_best(self) -> None:
        """Write the weights as they are, where they are the best so far."""
        progress = self.progress
        if progress.best_step == progress.step:
            self._save(self.folder.best, step=progress.step, loss=progress.best_loss)

    def _save(self, path: Path, **about: Any) -> None:
        """Write the weights as they are, and what is to be known about them."""
        if self.processes.is_first:
            save_tensors(path, weights(self.model), **about)

    def _drop_step_files(self) -> None:
        """Leave the weights of the newest validations that the checkpoint knows of."""
        self.folder.drop_step_files(newest=self.config.average_last, up_to=self._validated_step())

    def finish(self) -> TrainingResult:
        """Keep the best weights or the averaged ones, whichever have the lower loss (§6.1)."""
        best, averaged = self.processes.from_first(self._candidates)
        kept, loss, chosen = "best", self._best_loss, best
        assert loss is not None, "a run ends with a validation"
        if averaged:
            load_weights(self.model, averaged, self.folder.last)
            if (average_loss := self._validation_loss()) < loss:
                kept, loss, chosen = "average", average_loss, averaged
        load_weights(self.model, chosen, self.folder.best)
        if self.processes.is_first:
            (self.folder.out / MANIFEST).unlink(missing_ok=True)  # of a shorter run
        self._save(self.folder.model, step=self.progress.step, loss=loss, kept=kept)
        return self.result(loss, kept)

    @property
    def _best_loss(self) -> float | None:
        """Lowest validation loss, that of an end between two validations included."""
        losses = [self.progress.best_loss, self.end_loss]
        return min((each for each in losses if each is not None), default=None)

    def _candidates(self) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """Give the weights of the lowest loss, and the mean of the last, {} of less than two."""
        if self._best_loss == self.end_loss:
            best = {name: tensor.clone() for name, tensor in weights(self.model).items()}
        else:
            best, _ = load_tensors(self.folder.best)
        paths = self.folder.step_files()[-self.config.average_last :]
        return best, average(paths) if len(paths) > 1 else {}

    def _validation_loss(self) -> float:
        """Give the loss of the model as it is, nats per token."""
        return validation_loss(
            self.model,
            self.validation_batches,
            device=self.updates.device,
            bf16=self.config.bf16,
            processes=self.processes,
        )

    def _logged(self, kind: str, loss: float, speed: float | None, note: str = "") -> Report:
        """Make a report of where the run stands, and log it."""
        progress, now = self.progress, time.perf_counter() - self.clock
        per_step = (now - self.first_seconds) / max(progress.step - self.first_step, 1)
        report = Report(
            kind=kind,
            step=progress.step,
            steps=self.config.steps,
            epoch=progress.epoch + 1,
            loss=loss,
            learning_rate=self.updates.rate(progress.step),
            tokens_per_second=speed,
            seconds=now,
            seconds_left=per_step * (self.config.steps - progress.step),
            note=note,
        )
        if self.processes.is_first:
            append_log(self.folder.log, report)
        return report

    def result(self, final_loss: float | None = None, final_from: str = "") -> TrainingResult:
        """Sum up; without a final loss, of a run that was stopped."""
        return TrainingResult(
            step=self.progress.step,
            epoch=self.progress.epoch + 1,
            best_loss=self._best_loss,
            final_loss=final_loss,
            final_from=final_from,
            seconds=self.progress.seconds,
            out=self.folder.out,
        )
