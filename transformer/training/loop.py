"""The training loop, for any model with `model(src, tgt_in) -> logits` (§5).

Not in the paper: clipping, accumulation, validation with patience, and exact resume.
On a CPU, a run that was killed and resumed ends with bitwise the weights of one that was
not. The number of threads must be the same, since it changes the order of the sums.
"""

import dataclasses
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import torch
from torch import nn
from torch.optim import AdamW

from transformer.config import TrainingConfig
from transformer.data.batches import Batch
from transformer.support.errors import UserError
from transformer.support.machine import is_out_of_memory
from transformer.trained import checkpoint
from transformer.trained.folder import RunFolder
from transformer.trained.log import Progress, Report, TrainingResult, append_log, truncate_log
from transformer.training.interrupt import noted_interrupt
from transformer.training.loss import batch_loss, validation_loss
from transformer.training.schedule import learning_rate


class Batches(Protocol):
    """Training data in an order that the epoch's number alone decides."""

    def epoch(self, number: int, start: int = 0) -> Iterator[Batch]:
        """Give the batches of an epoch, from 0, without the first `start`."""
        ...


def train(
    model: nn.Module,
    config: TrainingConfig,
    batches: Batches,
    validation_batches: Sequence[Batch],
    out: Path,
    *,
    d_model: int,
    device: torch.device | str = "cpu",
    resume: bool = False,
    on_report: Callable[[Report], None] = print,
    stop_after: int | None = None,
) -> TrainingResult:
    """Train a model with Adam on the paper's schedule (§5.3), and keep its best weights.

    At the end the model holds, as does `out`/model.safetensors, the average of the last
    checkpoints (§6.1) or the best one, whichever has the lower validation loss.
    Ctrl-C ends the step in hand, saves everything and returns; a second one stops at once.

    Args:
        model: Gives logits `(batch, tgt_len, vocab_size)` from src `(batch, src_len)` and
            tgt_in `(batch, tgt_len)`. To repeat a run, begin with the same weights.
        config: How to train; its seed is dropout's.
        batches: The training data.
        validation_batches: What to choose the best weights by.
        out: The run's folder: log.jsonl, checkpoints/, model.safetensors.
        d_model: Width of the model, for the schedule.
        device: Where to train.
        resume: Go on from the last checkpoint in `out`, or begin if it has no weights yet.
            Only `steps` may differ from the configuration begun with.
        on_report: Called with each report; `print` shows a line.
        stop_after: Stop as Ctrl-C does, once this many steps or more are done.

    Raises:
        UserError: `out` holds a run and it is not resumed, or is resumed with another
            configuration or model, or without its last checkpoint; a loss is not finite;
            the memory is too small; a file cannot be written.
    """
    run = _Run(model, config, validation_batches, RunFolder(out), d_model, torch.device(device))
    run.begin(resume)
    try:
        return _carry_out(run, batches, on_report, stop_after)
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        raise run.out_of_memory() from error


def _carry_out(
    run: "_Run", batches: Batches, on_report: Callable[[Report], None], stop_after: int | None
) -> TrainingResult:
    """Make the steps that are left, or those up to where the run is stopped."""
    config, progress, stream = run.config, run.progress, _stream(batches, run.progress)
    last_step = config.steps if stop_after is None else stop_after
    with noted_interrupt() as interrupted:
        if run.validation_due:  # the run was stopped or killed just before it
            on_report(run.validate_and_save())
        while not run.ended and not interrupted and progress.step < last_step:
            run.update([next(stream) for _ in range(config.accumulate)])
            if progress.step % config.report_every == 0:
                on_report(run.training_report())
            if run.validation_due:
                on_report(run.validate_and_save())
        if not run.ended:
            run.save_last()
            return run.result(None, "")
    return run.finish()


def _stream(batches: Batches, progress: Progress) -> Iterator[Batch]:
    """Give batches without end from where the run is, and count them."""
    while True:
        for batch in batches.epoch(progress.epoch, progress.batch):
            progress.batch += 1
            yield batch
        if progress.batch == 0:
            raise UserError(f"epoch {progress.epoch} has no batches: give some training data")
        progress.epoch, progress.batch = progress.epoch + 1, 0


@dataclass
class _Run:
    """A run's parts and what is done with them."""

    model: nn.Module
    config: TrainingConfig
    validation_batches: Sequence[Batch]
    folder: RunFolder
    d_model: int
    device: torch.device
    progress: Progress = field(default_factory=Progress)
    saved_step: int | None = None  # of the last good checkpoint

    def __post_init__(self) -> None:
        config = self.config
        self.settings = dataclasses.asdict(config) | {"d_model": self.d_model}
        self.optimizer = AdamW(
            self.model.to(self.device).parameters(),
            lr=0.0,
            betas=(config.beta1, config.beta2),
            eps=config.epsilon,
            weight_decay=config.weight_decay,
            fused=True,
        )

    def begin(self, resume: bool) -> None:
        """Seed a new run, or take up the last checkpoint."""
        folder, progress = self.folder, self.progress
        torch.manual_seed(self.config.seed)
        folder.check(resume)
        if folder.last.exists():
            tensors, about = folder.load_state()
            checkpoint.require_same(about["settings"], self.settings, free="steps")
            folder.restore(tensors, self.model, self.optimizer, self.device)
            saved = about["progress"]  # of an earlier version: without validated_step
            vars(progress).update({"validated_step": saved["step"]} | saved)
            if progress.step > self.config.steps:
                raise UserError(
                    f"{folder.out} has done {progress.step} steps already and cannot end at "
                    f"{self.config.steps}: give {progress.step} steps or more"
                )
            self.saved_step = progress.step
        self.first_step, self.first_seconds = progress.step, progress.seconds
        self.clock = time.perf_counter() - progress.seconds
        # What a killed run wrote after its last checkpoint comes again.
        folder.drop_step_files(newest=self.config.average_last, up_to=progress.validated_step)
        truncate_log(folder.log, progress.step, progress.validated_step)
        self.model.train()

    @property
    def ended(self) -> bool:
        """Whether all steps are done, or patience is at its end."""
        out_of_patience = 0 < self.config.patience <= self.progress.without_gain
        return self.progress.step >= self.config.steps or out_of_patience

    @property
    def validation_due(self) -> bool:
        """Whether the weights as they are must be validated, and were not yet."""
        step, config = self.progress.step, self.config
        in_turn = step % config.validate_every == 0 or step == config.steps
        return in_turn and step != self.progress.validated_step

    @property
    def seconds(self) -> float:
        """Time spent on the run, all resumed parts together."""
        return time.perf_counter() - self.clock

    def rate(self, step: int) -> float:
        """Give the learning rate of a step."""
        config = self.config
        if config.learning_rate is not None:
            return config.learning_rate
        return learning_rate(step, self.d_model, config.warmup_steps, config.learning_rate_factor)

    def update(self, group: Sequence[Batch]) -> None:
        """Make one step on the mean loss over all real tokens of some batches."""
        config, progress, step = self.config, self.progress, self.progress.step + 1
        tokens = sum(batch.num_tgt_tokens for batch in group)
        nll = torch.zeros((), device=self.device)
        self.optimizer.zero_grad()
        for batch in group:
            sums = batch_loss(self.model, batch.to(self.device), config)
            (sums.loss / tokens).backward()
            nll += sums.nll
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), config.clip_norm or math.inf)
        if not math.isfinite(float(nll + norm)):
            raise self.not_finite(f"step {step}: the loss or its gradient is not finite")
        for settings in self.optimizer.param_groups:
            settings["lr"] = self.rate(step)
        self.optimizer.step()
        progress.step = step
        progress.window_nll += float(nll)
        progress.window_tokens += tokens

    def training_report(self) -> Report:
        """Log the loss since the last report."""
        progress, now = self.progress, self.seconds
        loss = progress.window_nll / progress.window_tokens
        speed = progress.window_tokens / (now - progress.window_start)
        progress.window_nll, progress.window_tokens, progress.window_start = 0.0, 0, now
        return self.logged("training", loss, speed)

    def validate_and_save(self) -> Report:
        """Measure the validation loss, then save; the last file written seals the rest."""
        progress, config, folder, started = self.progress, self.config, self.folder, self.seconds
        loss = self.validation_loss()
        if not math.isfinite(loss):
            raise self.not_finite(f"step {progress.step}: the validation loss is {loss}")
        if self.saved_step is None:  # or a kill before the end leaves nothing to go on from
            self.save_last()
        gain = progress.best_loss is None or loss < progress.best_loss
        report = self.logged("validation", loss, None, note="best so far" if gain else "")
        weights = checkpoint.weights(self.model)
        progress.without_gain = 0 if gain else progress.without_gain + 1
        if gain:
            progress.best_loss = loss
            checkpoint.save_tensors(folder.best, weights, step=progress.step, loss=loss)
        if config.average_last > 1:
            path = folder.step_file(progress.step)
            checkpoint.save_tensors(path, weights, step=progress.step, loss=loss)
        progress.validated_step = progress.step
        progress.window_start += self.seconds - started
        self.save_last()
        progress.window_start += self.seconds - progress.seconds  # nor is writing it learning
        folder.drop_step_files(newest=config.average_last, up_to=progress.step)
        return report

    def finish(self) -> TrainingResult:
        """Keep the better of the best and the averaged weights."""
        weights, about = checkpoint.load_tensors(self.folder.best)
        loss, kept = about["loss"], "best"
        if len(paths := self.folder.step_files()) > 1:
            average = checkpoint.average(paths)
            checkpoint.load_weights(self.model, average, paths[-1])
            average_loss = self.validation_loss()
            if average_loss < loss:
                weights, loss, kept = average, average_loss, "average"
        checkpoint.load_weights(self.model, weights, self.folder.best)
        checkpoint.save_tensors(
            self.folder.model, weights, step=self.progress.step, loss=loss, kept=kept
        )
        return self.result(loss, kept)

    def save_last(self) -> None:
        """Write the checkpoint to resume from."""
        self.progress.seconds = self.seconds
        about = {"progress": vars(self.progress), "settings": self.settings}
        self.folder.save_state(self.model, self.optimizer, self.device, **about)
        self.saved_step = self.progress.step

    def validation_loss(self) -> float:
        """Give the loss of the model as it is, nats per token."""
        return validation_loss(
            self.model, self.validation_batches, device=self.device, bf16=self.config.bf16
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
            learning_rate=self.rate(progress.step),
            tokens_per_second=speed,
            seconds=now,
            seconds_left=per_step * (self.config.steps - progress.step),
            note=note,
        )
        append_log(self.folder.log, report)
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

    def result(self, final_loss: float | None, final_from: str) -> TrainingResult:
        """Sum up."""
        return TrainingResult(
            step=self.progress.step,
            epoch=self.progress.epoch + 1,
            best_loss=self.progress.best_loss,
            final_loss=final_loss,
            final_from=final_from,
            seconds=self.progress.seconds,
            interrupted=final_loss is None,
            out=self.folder.out,
        )
