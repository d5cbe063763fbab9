"""The training loop, for any model with `model(src, tgt_in) -> logits` (§5).

Not in the paper: clipping, accumulation, validation with patience, and exact resume.
On a CPU, a run that was killed and resumed ends with bitwise the weights of one that was
not. The number of threads must be the same, since it changes the order of the sums.
"""

import contextlib
import dataclasses
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Protocol

import torch
from torch import nn
from torch.optim import AdamW

from transformer.config import PAD_ID, TrainingConfig
from transformer.data.batches import Batch
from transformer.errors import UserError
from transformer.training import checkpoint
from transformer.training.log import (
    Progress,
    Report,
    TrainingResult,
    append_log,
    truncate_log,
)
from transformer.training.loss import LossSums, label_smoothing_loss
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
        config: How to train. Dropout is seeded from it.
        batches: The training data.
        validation_batches: What to choose the best weights by.
        out: The run's folder: log.jsonl, checkpoints/, model.safetensors.
        d_model: Width of the model, for the schedule.
        device: Where to train.
        resume: Go on from the last checkpoint in `out`, or begin if there is none yet.
        on_report: Called with each report; `print` shows a line.
        stop_after: Stop as Ctrl-C does, once this many steps are done.

    Raises:
        UserError: `out` holds a run and it is not resumed, or is resumed with another
            configuration or model; a loss is not finite; a file cannot be written.
    """
    run = _Run(model, config, validation_batches, out, d_model, torch.device(device), on_report)
    run.begin(resume)
    progress = run.progress
    stream = _stream(batches, progress)
    with _interruption() as interrupted:
        while not run.ended and not interrupted and progress.step != stop_after:
            run.update([next(stream) for _ in range(config.accumulate)])
            if progress.step % config.report_every == 0:
                run.report()
            if progress.step % config.validate_every == 0 or progress.step == config.steps:
                run.validate()
    return run.finish() if run.ended else run.pause()


@dataclass
class _Run:
    """The parts of a run: model, optimizer, place and folder."""

    model: nn.Module
    config: TrainingConfig
    validation_batches: Sequence[Batch]
    out: Path
    d_model: int
    device: torch.device
    on_report: Callable[[Report], None]
    progress: Progress = field(default_factory=Progress)

    def __post_init__(self) -> None:
        config = self.config
        self.last = self.out / "checkpoints" / "last.safetensors"
        self.best = self.out / "checkpoints" / "best.safetensors"
        self.settings = dataclasses.asdict(config) | {"d_model": self.d_model}
        self.optimizer = AdamW(
            self.model.to(self.device).parameters(),
            lr=0.0,
            betas=(config.beta1, config.beta2),
            eps=config.epsilon,
            weight_decay=config.weight_decay,
            fused=True,
        )

    @property
    def ended(self) -> bool:
        """Whether all steps are done, or patience is at its end."""
        out_of_patience = 0 < self.config.patience <= self.progress.without_gain
        return self.progress.step >= self.config.steps or out_of_patience

    @property
    def seconds(self) -> float:
        """Time spent on the run, all resumed parts together."""
        return time.perf_counter() - self.clock

    def begin(self, resume: bool) -> None:
        """Seed a new run, or take up the last checkpoint."""
        torch.manual_seed(self.config.seed)
        if self.last.exists():
            if not resume:
                raise UserError(
                    f"{self.out} already holds a run: resume it, or choose another folder"
                )
            _, about = checkpoint.load_tensors(self.last)
            checkpoint.require_same(about.get("settings", {}), self.settings, free="steps")
            checkpoint.load_training(self.last, self.model, self.optimizer, self.device)
            vars(self.progress).update(about["progress"])
        self.first_step, self.saved_seconds = self.progress.step, self.progress.seconds
        self.clock = time.perf_counter() - self.progress.seconds
        for path in self.step_files():
            if _step_of(path) > self.progress.step:
                path.unlink()
        self.out.mkdir(parents=True, exist_ok=True)
        truncate_log(self.out / "log.jsonl", self.progress.step)
        self.model.train()

    def update(self, group: Sequence[Batch]) -> None:
        """Make one step on the mean loss over all real tokens of some batches."""
        config, progress, step = self.config, self.progress, self.progress.step + 1
        tokens = sum(batch.num_tgt_tokens for batch in group)
        nll = torch.zeros((), device=self.device)
        self.optimizer.zero_grad()
        for batch in group:
            sums = _loss(self.model, batch.to(self.device), config)
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

    def rate(self, step: int) -> float:
        """Give the learning rate of a step."""
        config = self.config
        return learning_rate(step, self.d_model, config.warmup_steps, config.learning_rate_factor)

    def not_finite(self, what: str) -> UserError:
        """Build the error for a run that has gone astray."""
        saved = f"{self.last} stands" if self.last.exists() else "no checkpoint was made yet"
        return UserError(
            f"{what}; {saved}: begin another run with a smaller learning_rate_factor, "
            "more warmup_steps or clip_norm=1"
        )

    def report(self) -> None:
        """Show and log the loss since the last report."""
        progress, now = self.progress, self.seconds
        speed = progress.window_tokens / (now - progress.window_start)
        self.tell("training", progress.window_nll / progress.window_tokens, speed)
        progress.window_nll, progress.window_tokens, progress.window_start = 0.0, 0, now

    def tell(self, kind: str, loss: float, speed: float | None = None, note: str = "") -> None:
        """Hand a report to the reader and the log."""
        progress, now = self.progress, self.seconds
        per_step = (now - self.saved_seconds) / max(progress.step - self.first_step, 1)
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
        append_log(self.out / "log.jsonl", report)
        self.on_report(report)

    def validate(self) -> None:
        """Measure the validation loss, then save: the last file written seals the rest."""
        progress, config, started = self.progress, self.config, self.seconds
        loss = self.validation_loss()
        if not math.isfinite(loss):
            raise self.not_finite(f"step {progress.step}: the validation loss is {loss}")
        gain = progress.best_loss is None or loss < progress.best_loss
        progress.without_gain = 0 if gain else progress.without_gain + 1
        self.tell("validation", loss, note="best so far" if gain else "")
        tensors, about = checkpoint.weights(self.model), {"step": progress.step, "loss": loss}
        if gain:
            progress.best_loss = loss
            checkpoint.save_tensors(self.best, tensors, **about)
        if config.average_last > 1:
            path = self.last.with_name(f"step_{progress.step:06d}.safetensors")
            checkpoint.save_tensors(path, tensors, **about)
        progress.window_start += self.seconds - started
        self.save_last()
        for path in self.step_files()[: -config.average_last]:
            path.unlink()

    def validation_loss(self) -> float:
        """Give the loss of the model as it is, nats per token."""
        return validation_loss(
            self.model, self.validation_batches, device=self.device, bf16=self.config.bf16
        )

    def save_last(self) -> None:
        """Write the checkpoint to resume from."""
        self.progress.seconds = self.seconds
        checkpoint.save_training(
            self.last,
            self.model,
            self.optimizer,
            self.device,
            progress=vars(self.progress),
            settings=self.settings,
        )

    def step_files(self) -> list[Path]:
        """List the checkpoints to average, oldest first."""
        return sorted(self.last.parent.glob("step_*.safetensors"), key=_step_of)

    def pause(self) -> TrainingResult:
        """Save all, to go on another time."""
        self.save_last()
        return self.result(None, "")

    def finish(self) -> TrainingResult:
        """Keep the better of the best and the averaged weights."""
        tensors, about = checkpoint.load_tensors(self.best)
        loss, kept = about["loss"], "best"
        if len(self.step_files()) > 1:
            averaged = checkpoint.average(self.step_files())
            checkpoint.load_weights(self.model, averaged, self.last.parent)
            averaged_loss = self.validation_loss()
            if averaged_loss < loss:
                tensors, loss, kept = averaged, averaged_loss, "average"
        checkpoint.load_weights(self.model, tensors, self.best)
        checkpoint.save_tensors(
            self.out / "model.safetensors", tensors, step=self.progress.step, loss=loss, kept=kept
        )
        return self.result(loss, kept)

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
            out=self.out,
        )


def _loss(model: nn.Module, batch: Batch, config: TrainingConfig) -> LossSums:
    with torch.autocast(batch.src.device.type, dtype=torch.bfloat16, enabled=config.bf16):
        logits = model(batch.src, batch.tgt_in)
    return label_smoothing_loss(
        logits,
        batch.tgt_out,
        smoothing=config.label_smoothing,
        pad_id=PAD_ID,
        over_all=config.smooth_over_all,
    )


def validation_loss(
    model: nn.Module,
    batches: Sequence[Batch],
    *,
    device: torch.device | str = "cpu",
    bf16: bool = False,
) -> float:
    """Measure the loss without smoothing or dropout; e to it is the perplexity.

    Args:
        model: Left in the mode, training or evaluation, that it came in.
        batches: The data.
        device: Where the model is.
        bf16: Autocast matrix products to bfloat16.

    Returns:
        The mean negative log likelihood, nats per real token.
    """
    was_training = model.training
    model.eval()
    total, tokens = torch.zeros((), dtype=torch.float64), 0
    with torch.inference_mode():
        config = TrainingConfig(label_smoothing=0.0, bf16=bf16)
        for batch in batches:
            total += _loss(model, batch.to(device), config).nll.cpu()
            tokens += batch.num_tgt_tokens
    model.train(was_training)
    return float(total) / tokens


def _stream(batches: Batches, progress: Progress) -> Iterator[Batch]:
    """Give batches without end from where the run is, and count them."""
    while True:
        for batch in batches.epoch(progress.epoch, progress.batch):
            progress.batch += 1
            yield batch
        progress.epoch, progress.batch = progress.epoch + 1, 0


def _step_of(path: Path) -> int:
    return int(path.stem.removeprefix("step_"))


@contextlib.contextmanager
def _interruption() -> Iterator[list[int]]:
    """Give a list that stays empty until the first Ctrl-C; the second one interrupts."""
    pressed: list[int] = []
    before = signal.getsignal(signal.SIGINT)
    if (
        threading.current_thread() is not threading.main_thread()
        or before is not signal.default_int_handler
    ):
        yield pressed
        return

    def note(number: int, frame: FrameType | None) -> None:
        pressed.append(number)
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, note)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)
