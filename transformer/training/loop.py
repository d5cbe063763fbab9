"""The training loop, for any model with `model(src, tgt_in) -> logits` (§5), in reading order.

Not in the paper: mixed precision, micro-batches, clipping, validation, and exact resume. On a CPU a
run that was killed and resumed ends with bitwise the weights of one that was not, if processor,
torch, threads and processes are the same (of three or more: docs/several_processes.md).
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Adam, Optimizer

from transformer.config import TrainingConfig
from transformer.data.batches import Batch, TokenBudgetBatches, micro_batches, shard
from transformer.models import folder
from transformer.models.weights import average_weights, load_tensors, load_weights, model_weights
from transformer.support.errors import UserError
from transformer.support.files import locked
from transformer.training import processes
from transformer.training.checkpoint import Progress, State
from transformer.training.devices import Precision
from transformer.training.loss import batch_loss, validation_loss
from transformer.training.report import Report, duration
from transformer.training.run import Run
from transformer.training.schedule import configured_rate

SECONDS_BETWEEN_SAVES = 300.0  # seconds between checkpoints, where validations are further apart
BETA1 = 0.9  # Adam's (§5.3)
RATE_FACTOR = "rate_factor"  # of a group of parameters: multiplies the rate of each step; usually 1


@dataclass(frozen=True)
class TrainingResult:
    """How a run ended; `str` says it in a line. Losses are in nats per token."""

    step: int  # updates done
    epoch: int  # that the last was in, from 1
    seconds: float  # time spent, all resumed parts together
    out: Path  # the run's folder
    best_loss: float | None  # lowest validation loss of any checkpoint; None before the first
    final_loss: float | None = None  # of model.safetensors; None if interrupted: resume to go on
    final_from: str = ""  # whose weights these are: "best" or "average"; "" if interrupted

    @property
    def interrupted(self) -> bool:
        """Whether the run stopped before its end."""
        return self.final_loss is None

    def __str__(self) -> str:
        if self.final_loss is None:
            return f"stopped after step {self.step}: all is kept in {self.out}, resume to go on"
        whose = "the best checkpoint" if self.final_from == "best" else "the average"
        return (
            f"done in {duration(self.seconds)}, {self.step} steps: {whose} is kept as "
            f"{self.out / folder.WEIGHTS}, validation loss {self.final_loss:.3f}"
        )


def train(
    model: nn.Module,
    config: TrainingConfig,
    batches: TokenBudgetBatches,
    validation_batches: Sequence[Batch],
    out: Path,
    *,
    d_model: int,
    device: torch.device | str = "cpu",
    precision: Precision = Precision.FLOAT32,
    micro_tokens: int | None = None,
    compiled: bool = False,
    resume: bool = False,
    on_report: Callable[[Report], None] = print,
    stop_after: int | None = None,
    optimizer: Callable[[nn.Module], Optimizer] | None = None,
    rate: Callable[[int], float] | None = None,
) -> TrainingResult:
    """Train a model, by default with Adam on the paper's schedule (§5.3); keep its best weights.

    At the end the model, and `out`/model.safetensors, is the average of the last checkpoints (§6.1)
    or the best one, whichever has the lower validation loss. Ctrl-C ends the step in hand, saves
    everything and returns; a second one stops at once.

    Args:
        model: Gives logits `(batch, tgt_len, vocab_size)` from src `(batch, src_len)` and
            tgt_in `(batch, tgt_len)`. To repeat a run, begin with the same weights.
        config: How to train; its seed is dropout's. The schedule needs `d_model` too.
        batches, validation_batches: The same in every process.
        out: The run's folder (see `models.folder`).
        device, precision: Where and in what numbers (see `devices.pick_device_and_precision`).
        micro_tokens: Most tokens to compute at once, the gradients being added up; None: all.
        compiled: Run the model through torch.compile, whose first steps are slow.
        resume: Go on from the last checkpoint in `out`, or begin if there is none yet.
        on_report: Called with each report, in each process; `print` shows a line.
        stop_after: Stop as Ctrl-C does, once this many steps or more are done.
        optimizer, rate: Make another optimizer than Adam; give the rate of a step, from 1.

    Raises:
        UserError: `out` is in use, cannot be written, or holds a run that is not resumed, or with
            more than `steps` changed; a loss is not finite (seen at a report or checkpoint).
    """
    model.to(device).train()
    state = new_state(model, config, precision, optimizer)
    progress = state.progress
    rate = rate or partial(configured_rate, d_model=d_model, config=config)
    settings = asdict(config) | {"d_model": d_model, "precision": precision}
    settings["optimizer"] = type(state.optimizer).__name__
    on: dict[str, Any] = {"device": device, "precision": precision, "micro_tokens": micro_tokens}
    measure = partial(validation_loss, model, validation_batches, **on)
    last_step = config.steps if stop_after is None else min(stop_after, config.steps)
    held = locked(out) if processes.rank() == 0 else nullcontext()
    with held, processes.deferred_interrupt() as pressed:
        run = Run(out, state, settings, resume)  # now the state is the last checkpoint's
        network = processes.data_parallel(model)
        if compiled:
            network.compile(dynamic=True)
        stream = _stream(batches, progress)

        while progress.step < last_step:
            late = time.perf_counter() - run.saved_at > SECONDS_BETWEEN_SAVES
            stop, due = processes.all_reduce_sum([bool(pressed), late])  # in any of the processes
            if due:
                run.save()
            if stop:
                break

            batch, step = next(stream), progress.step + 1
            processes.seed_dropout(config.seed, step)
            numbers = update(network, state, batch, config, rate(step), precision, micro_tokens)
            run.unread.append(numbers)
            progress.step = step

            if step % config.report_every == 0:
                on_report(run.report(rate(step)))
            if step % config.validate_every == 0:
                on_report(run.validate(measure, rate(step)))
                run.save()

        ended = progress.step == config.steps
        if progress.step % config.validate_every:  # after a validation, all is saved
            run.save()
            if ended:  # not in the checkpoint, for a run that goes on has no validation here
                on_report(run.validate(measure, rate(config.steps)))
        kept = _finish(run, measure) if ended else (None, "")
        place = progress.step, progress.epoch + 1, progress.seconds
        return TrainingResult(*place, out, progress.best_loss, *kept)


def _stream(batches: TokenBudgetBatches, progress: Progress) -> Iterator[Batch]:
    """Give batches without end from where the run is, and count them."""
    while True:
        for batch in batches.epoch(progress.epoch, progress.batch):
            progress.batch += 1
            yield batch
        if progress.batch == 0:
            raise UserError(f"epoch {progress.epoch} has no batches: give some training data")
        progress.epoch, progress.batch = progress.epoch + 1, 0


def paper_adam(parameters: Iterable[nn.Parameter], config: TrainingConfig) -> Adam:
    """Make the paper's optimizer (§5.3); its rate is set anew for each step."""
    return Adam(parameters, lr=0.0, betas=(BETA1, config.beta2), eps=config.epsilon, fused=True)


def new_state(
    model: nn.Module,
    config: TrainingConfig,
    precision: Precision = Precision.FLOAT32,
    optimizer: Callable[[nn.Module], Optimizer] | None = None,
) -> State:
    """Give what a run begins with; arguments as `train` has them, the model on its device."""
    made = optimizer(model) if optimizer else paper_adam(model.parameters(), config)
    device = next(model.parameters()).device
    scaler = torch.amp.GradScaler(device.type, enabled=precision == Precision.FP16)
    return State(model, made, scaler, device)


def update(
    network: nn.Module,
    state: State,
    batch: Batch,
    config: TrainingConfig,
    rate: float,
    precision: Precision = Precision.FLOAT32,
    micro_tokens: int | None = None,
) -> tuple[int, Tensor, Tensor]:
    """Change the weights once, by the mean loss over all real tokens of a batch (§5.3, §5.4).

    `network` is the state's model, or what `processes.data_parallel` and torch.compile made of it;
    the batch is the same for every process, each of which takes its part. The rest is as `train`
    has it.

    Returns:
        How many real target tokens the batch has; and, scalars on the device, the negative log
        likelihood of this process's, unsmoothed, summed, and the gradient's norm before clipping.
    """
    nll = torch.zeros((), device=state.device)
    tokens, world_size = batch.num_tgt_tokens, processes.world_size()
    parts = micro_batches(shard(batch, processes.rank(), world_size), micro_tokens)
    state.optimizer.zero_grad()
    for part in parts:
        # The processes exchange gradients once a step, in the last backward pass.
        exchange = nullcontext() if part is parts[-1] else processes.no_sync(network)
        with exchange, precision.float32_matmul_precision(state.device):
            sums = batch_loss(network, part.to(state.device), config, precision)
            # DistributedDataParallel averages the processes' gradients: times their number, they
            # add up to the gradient of the mean over all tokens of the batch.
            state.scaler.scale(sums.loss / (tokens / world_size)).backward()
        nll += sums.nll

    state.scaler.unscale_(state.optimizer)
    gradients = [p.grad for p in state.model.parameters() if p.grad is not None]
    grad_norm = nn.utils.get_total_norm(gradients)
    if config.clip_norm:
        nn.utils.clip_grads_with_norm_(state.model.parameters(), config.clip_norm, grad_norm)
    for group in state.optimizer.param_groups:
        group["lr"] = rate * group.get(RATE_FACTOR, 1.0)
    state.scaler.step(state.optimizer)  # skips the step if a gradient is not finite in fp16
    state.scaler.update()
    return tokens, nll, grad_norm


def _finish(run: Run, measure: Callable[[], float]) -> tuple[float, str]:
    """Keep the best weights or the averaged ones, whichever have the lower loss (§6.1), given."""
    progress, model, kept = run.progress, run.state.model, "best"
    assert progress.best_loss is not None, "a run ends with a validation"
    loss = progress.best_loss
    best = {name: tensor.clone() for name, tensor in model_weights(model).items()}
    if progress.best_step != progress.step:
        best = processes.on_rank_zero(lambda: load_tensors(run.out / folder.BEST)[0])
    if len(progress.to_average) > 1:
        paths = [folder.step_file(run.out, step) for step in progress.to_average]
        average = processes.on_rank_zero(lambda: average_weights(paths))
        load_weights(model, average, run.out)
        if (average_loss := measure()) < loss:
            loss, kept = average_loss, "average"
    if kept == "best":
        load_weights(model, best, run.out)
    run.save_final(loss=loss, kept=kept)
    return loss, kept
