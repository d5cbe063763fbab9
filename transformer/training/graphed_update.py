"""`loop.update`, recorded once for each shape of batch and replayed from then on.

Not in the paper. The batch is gathered on the device, inside the recording. Of a step the program
only sends the numbers of its examples and the learning rate.
"""

import warnings
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from transformer.data.batch_shapes import BatchShape, PaddingCount, few_shapes
from transformer.data.batches import Batch
from transformer.data.device_batches import ExampleTensors
from transformer.data.token_budget import EpochBatches, TokenBudgetBatches
from transformer.training import processes
from transformer.training.checkpoint import TrainingState
from transformer.training.cuda_graphs import (
    RecordingObstacles,
    Step,
    StepRecorder,
    reason_for_eager_steps,
)
from transformer.training.run import StepStats


class GraphedUpdate:
    """Updates by batches that are numbers of examples, as `epoch` yields them.

    The first batch of a shape is carried out operation by operation: what is made once, as Adam's
    moments, is made then, and what cannot be recorded is seen. The second one is recorded. So a
    shape that comes once is not. Python does not run in a replay: what a model's code decides anew
    in each step, as by `random.random`, stays as it was recorded.

    Args:
        update: Updates the weights by a batch, with a learning rate that is a scalar tensor:
            `loop.update`, its other arguments given.
        state: What `update` changes. A checkpoint has been restored into it already.
        batches: What the run trains on.
        recorder: Records the steps.

    Attributes:
        padding: What padding has cost so far.
    """

    def __init__(
        self,
        update: Callable[[Batch, Tensor], StepStats],
        state: TrainingState,
        batches: TokenBudgetBatches,
        recorder: StepRecorder,
    ) -> None:
        self._update, self._state, self._recorder = update, state, recorder
        self._batches = batches
        self._examples = ExampleTensors(batches.examples, state.device)
        self._shapes = few_shapes(batches)
        self.padding = PaddingCount()
        # What a step reads and writes; it stays where it is from replay to replay.
        self._rate = torch.zeros((), device=state.device)
        self._sums = torch.zeros(2, device=state.device)  # the two tensors of `StepStats`
        self._rows: dict[BatchShape, Tensor] = {}  # numbers of examples, (sentences,)
        self._replays: dict[BatchShape, Step] = {}
        self._is_eager = False  # because a step cannot be recorded

    def epoch(self, number: int, start: int = 0) -> Iterator[NDArray[np.int64]]:
        """Yield the examples' numbers of each batch of an epoch, as `EpochBatches.epoch` would."""
        yield from self._batches.rows_by_batch(number)[start:]

    def __call__(self, rows: NDArray[np.int64], rate: float) -> StepStats:
        """Update the weights once, by a batch of examples (see `epoch`)."""
        shape = self._shapes.shape_of(rows)
        is_new = shape not in self._rows
        if is_new:
            sentences = shape.sentences
            self._rows[shape] = torch.zeros(sentences, dtype=torch.int64, device=self._state.device)
        self._send(self._examples.pad_rows(rows, shape.sentences), self._rows[shape])
        self._rate.fill_(rate)
        step = partial(self._step, shape)
        if is_new or self._is_eager:
            self._run_eagerly(step)
        else:
            if shape not in self._replays:
                self._replays[shape] = self._record(step)
            self._replays[shape]()
        tokens = self._shapes.num_tgt_tokens(rows)
        self.padding.add(shape, tokens + self._shapes.num_src_tokens(rows))
        nll, grad_norm = self._sums.clone().unbind()
        return StepStats(tokens, nll, grad_norm)

    def _send(self, numbers: Tensor, target: Tensor) -> None:
        """Copy numbers to the device without waiting for it."""
        if target.is_cuda:
            numbers = numbers.pin_memory()
        target.copy_(numbers, non_blocking=True)

    def _step(self, shape: BatchShape) -> None:
        """Do all that is recorded."""
        batch = self._examples.gather(self._rows[shape], shape)
        stats = self._update(batch, self._rate)
        torch.stack([stats.nll, stats.grad_norm], out=self._sums)

    def _run_eagerly(self, step: Step) -> None:
        """Carry out a step operation by operation, and notice if it cannot be recorded."""
        if self._is_eager:
            self._recorder.run(step)
            return
        with RecordingObstacles() as obstacles:
            self._recorder.run(step)
        if obstacles.first:
            self._is_eager = True
            _warn_of_eager_steps(obstacles.first)

    def _record(self, step: Step) -> Step:
        """Record a step."""
        groups = self._state.optimizer.param_groups
        before = [group["capturable"] for group in groups]
        # Adam with fused=True is the same with and without, but PyTorch asks for it in a recording
        # and warns of it elsewhere.
        for group in groups:
            group["capturable"] = True
        try:
            return self._recorder.record(step)
        finally:
            for group, capturable in zip(groups, before, strict=True):
                group["capturable"] = capturable


def make_graphed_update(
    update: Callable[[Batch, Tensor], StepStats],
    state: TrainingState,
    batches: EpochBatches,
    recorder: StepRecorder,
    *,
    micro_tokens: int | None,
    compiled: bool,
) -> GraphedUpdate | None:
    """Return the update of a run, or None, with a warning, if its steps cannot be recorded.

    The last two arguments are those of `loop.train`.
    """
    reason = reason_for_eager_steps(
        state.model, state.optimizer, batches, micro_tokens=micro_tokens, compiled=compiled
    )
    if reason or not isinstance(batches, TokenBudgetBatches):
        _warn_of_eager_steps(reason)
        return None
    return GraphedUpdate(update, state, batches, recorder)


def _warn_of_eager_steps(reason: str) -> None:
    if processes.rank() == 0:
        message = f"no CUDA graphs: {reason}; each operation is launched by itself"
        warnings.warn(message, stacklevel=3)
