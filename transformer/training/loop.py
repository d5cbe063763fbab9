"""The training loop, for any model with `model(src, tgt_in) -> logits` (§5).

Not in the paper: clipping, accumulation, validation with patience, and exact resume.
On a CPU, a run that was killed and resumed ends with bitwise the weights of one that was
not. The processor, torch and the numbers of threads and processes must be the same, since they
decide the order of the sums (`runner` says so where they are not), and so must be the batches.
From three processes on it holds to rounding only (docs/several_processes.md).
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Protocol

import torch
from torch import nn

from transformer.config import TrainingConfig
from transformer.data.batches import Batch
from transformer.models.folder import RunFolder
from transformer.models.log import Progress, Report, TrainingResult
from transformer.support.errors import UserError, is_out_of_memory
from transformer.support.lock import locked
from transformer.training.distributed import ALONE, Processes
from transformer.training.interrupt import noted_interrupt
from transformer.training.run import Run


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
    processes: Processes = ALONE,
) -> TrainingResult:
    """Train a model, by default with Adam on the paper's schedule (§5.3); keep its best weights.

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
            Only `steps` may differ from the configuration begun with, and under linear decay
            nothing. With more steps the run ends as one that was to be so long from the
            beginning.
        on_report: Called with each report, in each process; `print` shows a line.
        stop_after: Stop as Ctrl-C does, once this many steps or more are done.
        processes: Those that share the work; each calls this with the same arguments.

    Raises:
        UserError: `out` holds a run and it is not resumed, or is resumed with another
            configuration or model, or without its last checkpoint; a loss is not finite
            (seen at the next report or validation, and never saved); the memory is too
            small; a file cannot be written; another process trains in `out`.
    """
    device = torch.device(device)
    with ExitStack() as held:
        with _memory_for_a_start(device):
            folder = RunFolder(out)
            run = Run(model, config, validation_batches, folder, d_model, device, processes)
            processes.once(lambda: held.enter_context(locked(out)))
            run.begin(resume)
        try:
            return _carry_out(run, batches, on_report, stop_after)
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            raise run.out_of_memory() from error


@contextmanager
def _memory_for_a_start(device: torch.device) -> Iterator[None]:
    """Say in a line that the weights found no room."""
    try:
        yield
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        raise UserError(
            f"out of memory on {device} before the first step; what was saved is kept: give a "
            "smaller model, or wait until other programs have ended"
        ) from error


def _carry_out(
    run: Run, batches: Batches, on_report: Callable[[Report], None], stop_after: int | None
) -> TrainingResult:
    """Make the steps that are left, or those up to where the run is stopped."""
    config, progress, stream = run.config, run.progress, _stream(batches, run.progress)
    last_step = config.steps if stop_after is None else stop_after
    processes = run.processes
    with noted_interrupt(say=processes is ALONE) as interrupted:
        if run.validation_due:  # the run was stopped or killed just before it
            on_report(run.validate_and_save())
        while not run.ended and progress.step < last_step:
            if processes.any(bool(interrupted)):
                break
            run.update([next(stream) for _ in range(config.accumulate)])
            if progress.step % config.report_every == 0:
                on_report(run.training_report())
            if run.validation_due:
                on_report(run.validate_and_save())
        if not run.ended:
            run.save_last()
            return run.result(run.progress.best_loss, None, "")
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
