"""A run: where it stands, what it saves, and which weights it keeps in the end.

Not in the paper, but for the average of the last checkpoints (§6.1).
"""

import dataclasses
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from transformer.config import Decay, Optimizer, TrainingConfig
from transformer.data.batches import Batch
from transformer.models import checkpoint
from transformer.models.folder import RunFolder
from transformer.models.log import (
    Progress,
    Report,
    TrainingResult,
    append_log,
    read_progress,
    truncate_log,
)
from transformer.models.state import load_state, restore, save_state
from transformer.support.errors import UserError
from transformer.support.settings import names_of_today
from transformer.training.distributed import ALONE, Processes
from transformer.training.loss import validation_loss
from transformer.training.schedule import free_setting
from transformer.training.updates import Updates

# Settings that an earlier version's checkpoint does not name: it knew these values alone.
EARLIER = {
    "decay": Decay.INVERSE_SQRT,
    "optimizer": Optimizer.ADAM,
    "muon_rate_factor": 1.0,
    "cooccurrence_start": False,
}


@dataclass
class Run:
    """A run's parts and what is done with them; `loop.train` says when.

    Every process that shares the work has one; what reads or writes a file is done `once`.

    Attributes:
        model, config, validation_batches, d_model, device, processes: As `loop.train` has them.
        folder: Where the run keeps its files.
        progress: How far it is.
        saved_step: Of the last good checkpoint; None before the first.
        end_loss: Validation loss at an end that falls between two validations, nats per token;
            else None.
    """

    model: nn.Module
    config: TrainingConfig
    validation_batches: Sequence[Batch]
    folder: RunFolder
    d_model: int
    device: torch.device
    processes: Processes = ALONE
    progress: Progress = field(default_factory=Progress)
    saved_step: int | None = None
    end_loss: float | None = None

    def __post_init__(self) -> None:
        self.settings = dataclasses.asdict(self.config) | {"d_model": self.d_model}
        model = self.model.to(self.device)
        self.updates = Updates(model, self.config, self.d_model, self.device, self.processes)

    def begin(self, resume: bool) -> None:
        """Seed a new run, or take up the last checkpoint."""
        folder, progress, once = self.folder, self.progress, self.processes.once
        torch.manual_seed(self.config.seed)
        once(lambda: folder.check(resume))
        if once(folder.last.exists):
            self.take_up()
        self.first_step, self.first_seconds = progress.step, progress.seconds
        self.clock = time.perf_counter() - progress.seconds
        # What a killed run wrote after its last checkpoint comes again. What a shorter run
        # wrote at an end between two validations goes: the longer one passes it by.
        once(folder.remove_unfinished)
        self.drop_step_files(up_to=progress.validated_step)
        once(lambda: truncate_log(folder.log, progress.step, progress.validated_step))
        self.model.train()

    def take_up(self) -> None:
        """Go on from the last checkpoint."""
        folder, progress = self.folder, self.progress
        tensors, about = self.processes.once(lambda: load_state(folder.last))
        settings = about.get("settings")
        if not isinstance(settings, dict):
            raise UserError(f"{folder.last} says no settings: put the run's own file back")
        settings = EARLIER | names_of_today(settings)
        checkpoint.require_same(settings, self.settings, free=free_setting(self.config))
        saved = read_progress(about.get("progress"), folder.last)
        parts = self.model, self.updates.optimizers, self.device
        restore(tensors, *parts, folder.last, steps=saved.step)
        vars(progress).update(vars(saved))
        if progress.step > self.config.steps:
            raise UserError(
                f"{folder.out} has done {progress.step} steps already and cannot end at "
                f"{self.config.steps}: give {progress.step} steps or more"
            )
        self.saved_step = progress.step
        if progress.best_loss is not None:
            self.check_best(progress.best_loss)

    def check_best(self, loss: float) -> None:
        """See that the best weights are there, before the work; write them where a kill did not."""
        best, progress, once = self.folder.best, self.progress, self.processes.once
        about = once(lambda: checkpoint.load_tensors(best)[1] if best.is_file() else {})
        step = about.get("step")
        later = isinstance(step, int) and step > progress.step  # an earlier version's; comes again
        if about.get("loss") == loss or later:
            return
        if progress.without_gain > 0 or progress.validated_step != progress.step:
            raise UserError(
                f"{best} is missing or not this run's: put it back, or begin in another folder"
            )
        self.save_best()

    @property
    def ended(self) -> bool:
        """Whether all steps are done, or patience is at its end."""
        out_of_patience = 0 < self.config.patience <= self.progress.without_gain
        return self.progress.step >= self.config.steps or out_of_patience

    @property
    def validation_due(self) -> bool:
        """Whether the weights as they are must be validated, and were not yet."""
        step = self.progress.step
        at_end = step == self.config.steps and self.end_loss is None
        return (self.in_turn or at_end) and step != self.progress.validated_step

    @property
    def in_turn(self) -> bool:
        """Whether a run of any length is validated at this step."""
        return self.progress.step % self.config.validate_every == 0

    @property
    def seconds(self) -> float:
        """Time spent on the run, all resumed parts together."""
        return time.perf_counter() - self.clock

    def update(self, group: Sequence[Batch]) -> None:
        """Make one step on some batches."""
        step = self.progress.step + 1
        self.progress.window_tokens += self.updates.make(step, group)
        self.progress.step = step

    def read_losses(self) -> None:
        """Count the losses of the steps since they were last read; refuse what is not finite."""
        for step, nll, norm in self.updates.read():
            if not math.isfinite(nll + norm):
                raise self.not_finite(f"step {step}: the loss or its gradient is not finite")
            self.progress.window_nll += nll

    def training_report(self) -> Report:
        """Log the loss since the last report."""
        self.read_losses()
        progress, now = self.progress, self.seconds
        loss = progress.window_nll / progress.window_tokens
        speed = progress.window_tokens / (now - progress.window_start)
        progress.window_nll, progress.window_tokens, progress.window_start = 0.0, 0, now
        return self.logged("training", loss, speed)

    def validate_and_save(self) -> Report:
        """Measure the validation loss, then save; the checkpoint to resume from seals the rest.

        An end between two validations is not sealed. So a run that is resumed with more steps
        goes on from there as one that never stopped to look.
        """
        self.read_losses()
        progress, config, folder, started = self.progress, self.config, self.folder, self.seconds
        loss = self.validation_loss()
        if not math.isfinite(loss):
            raise self.not_finite(f"step {progress.step}: the validation loss is {loss}")
        if self.saved_step is None:  # or a kill before the end leaves nothing to go on from
            self.save_last()
        gain = progress.best_loss is None or loss < progress.best_loss
        report = self.logged("validation", loss, None, note="best so far" if gain else "")
        if config.average_last > 1:
            self.save_weights(folder.step_file(progress.step), step=progress.step, loss=loss)
        if self.in_turn:
            progress.validated_step = progress.step
            progress.without_gain = 0 if gain else progress.without_gain + 1
            if gain:
                progress.best_loss = loss
        else:
            self.end_loss = loss
        progress.window_start += self.seconds - started
        self.save_last()
        if self.in_turn and gain:  # after the last, which has them too, should a kill come here
            self.save_best()
        progress.window_start += self.seconds - progress.seconds  # nor is writing it learning
        if self.in_turn:
            self.drop_step_files(up_to=progress.step)
        return report

    def finish(self) -> TrainingResult:
        """Keep the best weights or the averaged ones, whichever have the lower loss."""
        folder, once, kept = self.folder, self.processes.once, "best"
        weights, best_loss = self.best_weights()
        loss = best_loss
        if len(paths := once(folder.step_files)[-self.config.average_last :]) > 1:
            average = once(lambda: checkpoint.average(paths))
            checkpoint.load_weights(self.model, average, paths[-1])
            average_loss = self.validation_loss()
            if average_loss < loss:
                weights, loss, kept = average, average_loss, "average"
        checkpoint.load_weights(self.model, weights, folder.best)
        about = {"step": self.progress.step, "loss": loss, "kept": kept}
        once(lambda: checkpoint.save_tensors(folder.model, weights, **about))
        return self.result(best_loss, loss, kept)

    def best_weights(self) -> tuple[dict[str, Tensor], float]:
        """Give the weights of the lowest validation loss, and that loss in nats per token."""
        best, end = self.progress.best_loss, self.end_loss
        if end is not None and (best is None or end < best):
            weights = checkpoint.weights(self.model)
            return {name: tensor.clone() for name, tensor in weights.items()}, end
        assert best is not None, "a run ends with a validation"
        return self.processes.once(lambda: checkpoint.load_tensors(self.folder.best)[0]), best

    def save_best(self) -> None:
        """Write the weights as they are, the best so far."""
        progress = self.progress
        self.save_weights(self.folder.best, step=progress.step, loss=progress.best_loss)

    def save_weights(self, path: Path, **about: Any) -> None:
        """Write the weights as they are, and what is to be known about them."""
        weights = checkpoint.weights(self.model)
        self.processes.once(lambda: checkpoint.save_tensors(path, weights, **about))

    def drop_step_files(self, up_to: int) -> None:
        """Delete the weights after a step, and those before that are not to be averaged."""
        newest = self.config.average_last
        self.processes.once(lambda: self.folder.drop_step_files(newest=newest, up_to=up_to))

    def save_last(self) -> None:
        """Write the checkpoint to resume from."""
        self.read_losses()  # which refuses weights that went astray
        self.progress.seconds = self.seconds
        about: dict[str, Any] = {"progress": vars(self.progress), "settings": self.settings}
        parts = self.model, self.updates.optimizers, self.device
        self.processes.once(lambda: save_state(self.folder.last, *parts, **about))
        self.saved_step = self.progress.step

    def validation_loss(self) -> float:
        """Give the loss of the model as it is, nats per token."""
        return validation_loss(
            self.model,
            self.validation_batches,
            device=self.device,
            bf16=self.config.bf16,
            processes=self.processes,
        )

    def logged(self, kind: str, loss: float, speed: float | None, note: str = "") -> Report:
        """Make a report of where the run stands, and log it."""
        progress, now = self.progress, self.seconds
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
        self.processes.once(lambda: append_log(self.folder.log, report))
        return report

    def not_finite(self, what: str) -> UserError:
        """Build the error for a run that has gone astray."""
        return UserError(
            f"{what}; {self.what_is_kept()}; begin another run with a smaller "
            "learning_rate_factor, more warmup_steps or clip_norm=1"
        )

    def out_of_memory(self) -> UserError:
        """Build the error for a batch that does not fit."""
        return UserError(
            f"out of memory on {self.device} after step {self.progress.step}; "
            f"{self.what_is_kept()}; begin another run: halve batch_tokens and double accumulate"
        )

    def what_is_kept(self) -> str:
        """Say which checkpoint a run that failed leaves."""
        if self.saved_step is None:
            return "no checkpoint was made yet"
        last = self.folder.last
        return f"the last good checkpoint, {last} of step {self.saved_step}, is unharmed"

    def result(
        self, best_loss: float | None, final_loss: float | None, final_from: str
    ) -> TrainingResult:
        """Sum up."""
        return TrainingResult(
            step=self.progress.step,
            epoch=self.progress.epoch + 1,
            best_loss=best_loss,
            final_loss=final_loss,
            final_from=final_from,
            seconds=self.progress.seconds,
            interrupted=final_loss is None,
            out=self.folder.out,
        )
