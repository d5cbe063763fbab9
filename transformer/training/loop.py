"""The training loop, for any model with `model(src, tgt_in) -> logits` (§5), in reading order.

Not in the paper: mixed precision, micro-batches, clipping, validation, and exact resume. On a CPU a
run that was killed and resumed ends with bitwise the weights of one that was not, if processor,
torch, threads and processes are the same (with three processes or more: docs/several_processes.md).
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from transformer.config import TrainingConfig
from transformer.data.batches import Batch, micro_batches, shard
from transformer.data.token_budget import EpochBatches
from transformer.support.devices import require_usable_device
from transformer.support.errors import UserError
from transformer.support.signatures import check_argument_types, check_type
from transformer.training import processes
from transformer.training.checkpoint import Progress, TrainingState
from transformer.training.cuda_graphs import make_recorder
from transformer.training.devices import Precision
from transformer.training.graphed_update import GraphedUpdate, make_graphed_update
from transformer.training.interrupt import deferred_interrupt
from transformer.training.model_loss import batch_loss, validation_loss
from transformer.training.optimizer import SteppingOptimizer, paper_adam
from transformer.training.report import Report
from transformer.training.result import TrainingResult, finish_run
from transformer.training.run import Run, StepStats
from transformer.training.schedule import configured_learning_rate
from transformer.training.settings import RATE_FACTOR_KEY, run_settings

# If no regular report has come by then, there is one after so many steps: it tells the time left.
STEPS_BEFORE_EARLY_REPORT = 5
MAX_SECONDS_BETWEEN_SAVES = 300.0  # at most, if validations, each of which saves, are further apart


@check_argument_types
def train(
    model: nn.Module,
    config: TrainingConfig,
    batches: EpochBatches,
    validation_batches: Iterable[Batch],
    out: Path,
    *,
    d_model: int,
    device: torch.device | str = "cpu",
    precision: Precision = Precision.FLOAT32,
    micro_tokens: int | None = None,
    compiled: bool = False,
    cuda_graphs: bool = False,
    resume: bool = False,
    on_report: Callable[[Report], None] = print,
    stop_after: int | None = None,
    optimizer: Callable[[nn.Module], Optimizer] | None = None,
    schedule: Callable[[int], float] | None = None,
    extra_settings: Mapping[str, Any] | None = None,
) -> TrainingResult:
    """Train a model, by default with Adam on the paper's schedule (§5.3), and save its weights.

    At the end the model, and `out`/model.safetensors, is the average of the last checkpoints (§6.1)
    or the best one, whichever has the lower validation loss. Ctrl-C finishes the current step,
    saves everything and returns; a second one stops at once.

    Args:
        model: Returns logits `(batch, tgt_len, vocab_size)` for src `(batch, src_len)` and
            tgt_in `(batch, tgt_len)`. To repeat a run, begin with the same weights.
        config: How to train; its seed is that of dropout. The schedule needs `d_model` too.
        batches, validation_batches: The same in every process.
        out: The run's folder (see `models.folder`).
        device, precision: See `devices.pick_device_and_precision`.
        micro_tokens: Most tokens computed at once, while the gradients add up; None: all.
        compiled: Run the model through torch.compile, whose first steps are slow.
        cuda_graphs: Record a GPU's steps and replay them (see `GraphedUpdate`); a warning says why
            if they cannot be. A resumed run must have the same.
        resume: Go on from the last checkpoint in `out`, or begin if there is none yet.
        on_report: Called with each report, in each process; `print` shows a line. If none is due
            in the first few steps, one comes early, with the time left, and is not in the log.
        stop_after: Stop, as after Ctrl-C, once this many steps or more are done.
        optimizer: Returns the optimizer for a model, instead of the paper's Adam.
        schedule: Returns the learning rate of a step, from 1, instead of the paper's. A group of
            parameters may multiply it by its `RATE_FACTOR_KEY`.
        extra_settings: What else shapes the run, as JSON: a resumed run must have the same.

    Raises:
        UserError: `out` is in use, cannot be written, or holds a run that is not resumed, or that
            was begun with other settings (only `steps` may differ); a loss is not finite (seen at
            a report or checkpoint).
    """
    measure_loss = _loss_measurement(model, validation_batches, device, precision, micro_tokens)
    recorder = make_recorder(device) if cuda_graphs else None
    model.to(require_usable_device(device)).train()
    state = new_state(model, config, precision, optimizer)
    if schedule is None:
        schedule = partial(configured_learning_rate, d_model=d_model, config=config)
    settings = run_settings(
        state, config, d_model, precision, schedule, extra_settings or {}, cuda_graphs
    )
    with processes.lock_folder(out), deferred_interrupt() as interrupts:
        run = Run(out, state, settings, schedule, resume)  # restores the last checkpoint
        plain_update = _make_plain_update(state, config, precision, micro_tokens, compiled)
        graphed = recorder and make_graphed_update(
            plain_update, state, batches, recorder, micro_tokens=micro_tokens, compiled=compiled
        )
        for step, batch in _steps_left(run, graphed or batches, stop_after, interrupts):
            processes.seed_dropout(config.seed, step)
            run.count_step((graphed or plain_update)(batch, schedule(step)))
            _report_and_validate_if_due(run, config, measure_loss, on_report)
        return finish_run(run, measure_loss, on_report, graphed.padding if graphed else None)


def _loss_measurement(
    model: nn.Module,
    batches: Iterable[Batch],
    device: torch.device | str,
    precision: Precision,
    micro_tokens: int | None,
) -> Callable[[], float]:
    """Return what measures the validation loss of a model whenever it is called."""
    return partial(
        validation_loss,
        model,
        list(batches),  # They are read many times.
        device=device,
        precision=precision,
        micro_tokens=micro_tokens,
    )


def _make_plain_update(
    state: TrainingState,
    config: TrainingConfig,
    precision: Precision,
    micro_tokens: int | None,
    compiled: bool,
) -> Callable[[Batch, float | Tensor], StepStats]:
    """Return `update` with a run's network, one for all processes, and with its settings."""
    network = processes.wrap_in_data_parallel(state.model)
    if compiled:
        network.compile(dynamic=True)

    def plain_update(batch: Batch, rate: float | Tensor) -> StepStats:
        return update(network, state, batch, config, rate, precision, micro_tokens)

    return plain_update


def _steps_left(
    run: Run,
    batches: EpochBatches | GraphedUpdate,
    stop_after: int | None,
    interrupts: Sequence[int],
) -> Iterator[tuple[int, Any]]:
    """Yield each step that is left, from 1, with its batch; save from time to time.

    There are no more after `stop_after`, or once an interrupt was noted. Whoever takes a step calls
    `Run.count_step`.
    """
    progress, last_step = run.progress, run.settings["steps"]
    if stop_after is not None:
        last_step = min(stop_after, last_step)
    stream = _batch_stream(batches, progress)
    while progress.step < last_step:
        save_is_due = time.perf_counter() - run.saved_at > MAX_SECONDS_BETWEEN_SAVES
        # If one process is to save or to stop, all do so after the same step.
        stop, save = processes.all_reduce_sum([bool(interrupts), save_is_due])
        if save:
            run.save()
        if stop:
            return
        yield progress.step + 1, next(stream)


def _report_and_validate_if_due(
    run: Run,
    config: TrainingConfig,
    measure_loss: Callable[[], float],
    on_report: Callable[[Report], None],
) -> None:
    """Report the steps since the last report, and validate and save, after the steps for it."""
    step = run.progress.step
    if step % config.report_every == 0:
        on_report(run.report())
    elif _is_early_report_due(step, run.first_step, config.report_every):
        on_report(run.early_report())
    if step % config.validate_every == 0:
        on_report(run.validate(measure_loss))
        run.save()


def _is_early_report_due(step: int, first_step: int, report_every: int) -> bool:
    """Return whether a run from `first_step` on has come far enough without a regular report."""
    had_report = step // report_every > first_step // report_every
    return step - first_step == STEPS_BEFORE_EARLY_REPORT and not had_report


def _batch_stream(batches: EpochBatches | GraphedUpdate, progress: Progress) -> Iterator[Any]:
    """Yield batches without end, from where the run stands, and count them in its progress."""
    while True:
        for batch in batches.epoch(progress.epoch, progress.batch):
            progress.batch += 1
            yield batch
        if progress.batch == 0:
            raise UserError(f"epoch {progress.epoch} has no batches: give some training data")
        progress.epoch += 1
        progress.batch = 0


@check_argument_types
def new_state(
    model: nn.Module,
    config: TrainingConfig,
    precision: Precision = Precision.FLOAT32,
    optimizer: Callable[[nn.Module], Optimizer] | None = None,
) -> TrainingState:
    """Return the state that a run begins with.

    The model is on its device; the other arguments are those of `train`.
    """
    make_optimizer = optimizer or (lambda model: paper_adam(model.parameters(), config))
    device = next(model.parameters()).device
    scaler = torch.amp.GradScaler(device.type, enabled=precision == Precision.FP16)
    made_optimizer = make_optimizer(model)
    check_type("what `optimizer` returns", made_optimizer, SteppingOptimizer)
    return TrainingState(model, made_optimizer, scaler, device)


def check_gradients_are_dense(model: nn.Module) -> None:
    """Raise a UserError if a gradient is sparse: its norm and Adam are of dense ones alone."""
    for name, parameter in model.named_parameters():
        if parameter.grad is not None and parameter.grad.layout != torch.strided:
            raise UserError(
                f"the gradient of {name} is sparse, and training takes dense ones: make its "
                "nn.Embedding with sparse=False"
            )


@check_argument_types
def update(
    network: nn.Module,
    state: TrainingState,
    batch: Batch,
    config: TrainingConfig,
    rate: float | Tensor,
    precision: Precision = Precision.FLOAT32,
    micro_tokens: int | None = None,
) -> StepStats:
    """Update the weights once, by the mean loss over all real tokens of a batch (§5.3, §5.4).

    `network` is the state's model, or what `processes.wrap_in_data_parallel` and torch.compile made
    of it. The batch is the same in every process, each of which takes its share; `rate` is the
    learning rate, on the device if it is a scalar tensor. The other arguments are those of `train`.
    """
    nll = torch.zeros((), device=state.device)
    tokens, world_size = batch.num_tgt_tokens, processes.world_size()
    parts = micro_batches(shard(batch, processes.rank(), world_size), micro_tokens)
    state.optimizer.zero_grad()
    for part in parts:
        # The processes exchange gradients once a step, in the last backward pass.
        exchange = nullcontext() if part is parts[-1] else processes.no_sync(network)
        with exchange, precision.float32_matmul_context(state.device):
            sums = batch_loss(network, part.to(state.device), config, precision)
            # DistributedDataParallel averages the gradients of the processes. Multiplied by their
            # number, the average is the gradient of the mean over all tokens of the batch.
            state.scaler.scale(sums.loss / (tokens / world_size)).backward()
        nll += sums.nll

    check_gradients_are_dense(state.model)
    state.scaler.unscale_(state.optimizer)
    gradients = [p.grad for p in state.model.parameters() if p.grad is not None]
    grad_norm = nn.utils.get_total_norm(gradients)
    if config.clip_norm:
        nn.utils.clip_grads_with_norm_(state.model.parameters(), config.clip_norm, grad_norm)
    for group in state.optimizer.param_groups:
        group["lr"] = rate * group.get(RATE_FACTOR_KEY, 1.0)
    state.scaler.step(state.optimizer)  # in fp16, skips the step if a gradient is not finite
    state.scaler.update()
    return StepStats(tokens, nll, grad_norm)
