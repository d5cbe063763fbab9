"""What a run has learned and how fast since its last report; it never makes a GPU wait."""

import math
import time

import torch
from torch import Tensor

from transformer.models.log import Report
from transformer.support.errors import UserError
from transformer.training import processes
from transformer.training.checkpoint import Progress, not_finite
from transformer.training.devices import Precision

MOST_OVERFLOWS = 10  # steps in a row; a `GradScaler` halves its scale after each


class Meter:
    """Counts a run's losses and seconds, which it keeps up to date in the run's progress.

    A GPU works behind the program, which waits whenever it reads a number. So the numbers of a
    step stay on the device until somebody asks for them.
    """

    def __init__(self, progress: Progress, steps: int, precision: Precision) -> None:
        self.progress, self.steps, self.precision = progress, steps, precision
        self.first_step, self.first_seconds = progress.step, progress.seconds
        self.clock = time.perf_counter() - progress.seconds
        self.unread: list[tuple[int, Tensor, Tensor]] = []  # tokens, sum of the loss, norm
        self.go_on()

    def go_on(self) -> None:
        """Count the time from here on as spent in learning."""
        self.since = time.perf_counter()

    def note(self, tokens: int, nll: Tensor, norm: Tensor) -> None:
        """Take the numbers of a step, which is done; see `loop.update`."""
        self.progress.step += 1
        self.unread.append((tokens, nll, norm))

    def read(self) -> None:
        """Bring the progress up to date.

        Raises:
            UserError: a step's loss or gradient is not finite, or (fp16) too many were left out.
        """
        if self.unread:
            tokens, nlls, norms = zip(*self.unread, strict=True)
            sums = processes.add_up(torch.stack(nlls).tolist())
            steps = zip(tokens, sums, torch.stack(norms).tolist(), strict=True)
            for step, numbers in enumerate(steps, self.progress.step - len(tokens) + 1):
                self._count(step, *numbers)
            self.unread.clear()
        now = time.perf_counter()
        self.progress.window_seconds += now - self.since
        self.progress.seconds, self.since = now - self.clock, now

    def _count(self, step: int, tokens: int, nll: float, norm: float) -> None:
        progress = self.progress
        if math.isfinite(nll):
            progress.window_nll += nll
            progress.window_tokens += tokens
        if math.isfinite(nll + norm):
            progress.overflows_in_a_row = 0
            return
        if self.precision != Precision.FP16:
            raise not_finite(f"step {step}: the loss or its gradient")
        progress.overflows += 1
        progress.overflows_in_a_row += 1
        if progress.overflows_in_a_row >= MOST_OVERFLOWS:
            raise UserError(
                f"step {step}: the {MOST_OVERFLOWS}th in a row to overflow in fp16, and all were "
                "left out; the last checkpoint is unharmed: begin another run with --precision "
                "float32, or with a smaller learning_rate_factor"
            )

    def training_report(self, rate: float) -> Report:
        """Tell of the steps since the last report."""
        progress = self.progress
        loss = progress.window_nll / max(progress.window_tokens, 1)
        speed = progress.window_tokens / progress.window_seconds
        progress.window_nll, progress.window_tokens, progress.window_seconds = 0.0, 0, 0.0
        left_out = f"{progress.overflows} steps left out (overflow)" if progress.overflows else ""
        return self.report("training", loss, rate, speed, left_out)

    def report(
        self, kind: str, loss: float, rate: float, speed: float | None = None, note: str = ""
    ) -> Report:
        """Tell where the run stands; arguments as `Report` has them."""
        progress, now = self.progress, time.perf_counter() - self.clock
        done = max(progress.step - self.first_step, 1)
        return Report(
            kind=kind,
            step=progress.step,
            steps=self.steps,
            epoch=progress.epoch + 1,
            loss=loss,
            learning_rate=rate,
            tokens_per_second=speed,
            seconds=now,
            seconds_left=(now - self.first_seconds) / done * (self.steps - progress.step),
            note=note,
        )
