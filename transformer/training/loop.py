"""The training loop, for any model with `model(src, tgt_in) -> logits` (§5).

Not in the paper: clipping, accumulation, validation, and exact resume.
On a CPU, a run that was killed and resumed ends with bitwise the weights of one that was
not. The processor, torch and the numbers of threads and processes must be the same, since they
decide the order of the sums (`runner` says so where they are not), and so must be the batches.
From three processes on it holds to rounding only (docs/several_processes.md).
"""

import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Protocol

import torch
from torch import nn

from transformer.config import TrainingConfig
from transformer.data.batches import Batch
from transformer.models.folder import RunFolder
from transformer.models.log import Report
from transformer.support.errors import UserError, is_out_of_memory
from transformer.training.checkpoint import Progress
from transformer.training.processes import ALONE, Processes
from transformer.training.run import Run, TrainingResult
from transformer.training.updates import MakeOptimizer, Rate, Updates

NOTED = "stopping after this step; Ctrl-C again stops at once and loses what is not saved"


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
    optimizer: MakeOptimizer | None = None,
    rate: Rate | None = None,
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
        resume: Go on from the last checkpoint in `out`, or begin if there is none yet. Only
            `steps` may differ from the configuration begun with; with more of them the run ends
            as one that was to be so long from the beginning.
        on_report: Called with each report, in each process; `print` shows a line.
        stop_after: Stop as Ctrl-C does, once this many steps or more are done.
        processes: Those that share the work; each calls this with the same arguments.
        optimizer: Makes another optimizer than Adam (see `Updates`).
        rate: The learning rate of a step, from 1, in place of the configuration's.

    Raises:
        UserError: `out` holds a run and it is not resumed, or is resumed with another
            configuration or model, or without its last checkpoint; a loss is not finite
            (seen at the next report or validation, and never saved); the memory is too
            small; a file cannot be written; another process trains in `out`.
    """
    with ExitStack() as held, _full_memory_in_one_line(device):
        wrapped = processes.wrap(model.to(device).train())
        updates = Updates(wrapped, config, d_model, processes, make_optimizer=optimizer, rate=rate)
        run = Run(updates, validation_batches, RunFolder(out))
        run.begin(processes.from_first(lambda: run.enter(held, resume)))
        progress, stream = run.progress, _stream(batches, run.progress)
        last_step = config.steps if stop_after is None else min(stop_after, config.steps)
        with noted_interrupt(say=processes.size == 1) as pressed:
            while progress.step < last_step and not processes.any(bool(pressed)):
                run.update(stream)
                if progress.step % config.report_every == 0:
                    on_report(run.report())
                if progress.step % config.validate_every == 0:
                    on_report(run.validate())
                    run.save()
            if progress.step < config.steps:
                run.save()
                return run.result()
            if progress.step % config.validate_every:  # an end between two validations
                run.save()
                on_report(run.validate())
        return run.finish()


@contextmanager
def _full_memory_in_one_line(device: torch.device | str) -> Iterator[None]:
    """Say in a line that a tensor found no room."""
    try:
        yield
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        raise UserError(
            f"out of memory on {device}; what was saved before is kept: begin another run with a "
            "smaller model, or halve batch_tokens and double accumulate"
        ) from error


def _stream(batches: Batches, progress: Progress) -> Iterator[Batch]:
    """Give batches without end from where the run is, and count them."""
    while True:
        for batch in batches.epoch(progress.epoch, progress.batch):
            progress.batch += 1
            yield batch
        if progress.batch == 0:
            raise UserError(f"epoch {progress.epoch} has no batches: give some training data")
        progress.epoch, progress.batch = progress.epoch + 1, 0


@contextmanager
def noted_interrupt(say: bool = True) -> Iterator[list[int]]:
    """Note the first Ctrl-C, with a line that says so if `say`; the second one interrupts.

    So no update of the weights is left half done. SIGTERM counts as Ctrl-C where it is set to
    interrupt, as the command line does. A signal that is ignored or handled by someone else is
    left alone, as are all in another thread than the main one.

    Yields:
        A list that is empty until Ctrl-C is pressed.
    """
    pressed: list[int] = []
    interrupt, main = signal.default_int_handler, threading.main_thread()
    signals = [
        each
        for each in (signal.SIGINT, signal.SIGTERM)
        if signal.getsignal(each) is interrupt and threading.current_thread() is main
    ]

    def note(number: int, frame: FrameType | None) -> None:
        pressed.append(number)
        for each in signals:
            signal.signal(each, interrupt)
        # To sys.stderr, since a notebook shows that and not descriptor 2. Where the signal came
        # in the middle of another line, Python refuses this one (RuntimeError): it is left out.
        with suppress(RuntimeError, OSError):
            if say:
                print(NOTED, file=sys.stderr, flush=True)

    for each in signals:
        signal.signal(each, note)
    try:
        yield pressed
    finally:
        for each in signals:
            signal.signal(each, interrupt)
