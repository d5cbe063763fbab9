"""Time training steps on a GPU: each precision; eager, with CUDA graphs, compiled (§5.2).

One captions model, which is all small operations, and the paper's base model on batches of its
size (§5.1), which is mostly matrix products. Each gets the same batches and initial weights.
"""

import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from experiments.bench.gpu_profile import profile_steps
from experiments.bench.peers import TrainingWorkload, load_training_workload
from lessonkit.analysis.flops import training_step_flops
from transformer.config import ModelConfig
from transformer.data.batches import Batch
from transformer.model import Transformer, count_parameters
from transformer.support.errors import UserError
from transformer.training.cuda_graphs import StepRecorder, make_recorder
from transformer.training.devices import Precision, memory_bytes, pick_device_and_precision
from transformer.training.graphed_update import GraphedUpdate
from transformer.training.loop import new_state, update
from transformer.training.run import StepStats
from transformer.training.schedule import configured_learning_rate

RECIPE_NAME = "multi30k-de-en"
BASE_MODEL_TRAINING_SETTINGS = {
    "batch_tokens": "25000",
    "warmup_steps": "4000",
    "learning_rate_factor": "1",
}  # §5.1, §5.3
BASE_VOCAB_SIZE = 37_000  # §5.1; the text has fewer, the softmax has all
NUM_STEPS_PER_RUN = 40
# The steps are made so many times over before they are timed: kernels are chosen or compiled in the
# first pass, and CUDA graphs recorded in the second.
NUM_UNTIMED_PASSES = 2
CUDA_GRAPHS = "CUDA graphs"
COMPILED = "compiled"
WAYS = (
    *map(str, Precision),
    *(f"{precision}, {CUDA_GRAPHS}" for precision in (Precision.BF16, Precision.FP16)),
    f"{Precision.BF16}, {COMPILED}",  # the last, since compiling takes minutes
)
TIMED_MATRIX_SIDE = 8192  # side of the largest product


def measure_gpu_steps(
    save: Callable[[dict[str, Any]], None], steps: int = NUM_STEPS_PER_RUN
) -> None:
    """Measure both models in each of `WAYS`, and save all figures after each run.

    Raises:
        UserError: There is no GPU.
    """
    device = pick_device_and_precision().device
    if device.type != "cuda":
        raise UserError("no GPU is seen here, and the steps are one's: run this where there is one")
    base = load_training_workload(RECIPE_NAME, steps, BASE_MODEL_TRAINING_SETTINGS)
    base = base._replace(
        recipe=replace(base.recipe, model=ModelConfig()),
        src_vocab_size=BASE_VOCAB_SIZE,
        tgt_vocab_size=BASE_VOCAB_SIZE,
    )
    loads = {RECIPE_NAME: load_training_workload(RECIPE_NAME, steps), "base": base}
    models: dict[str, Any] = {
        name: {"batches": workload.record_fields(), "ways": {}} for name, workload in loads.items()
    }
    figures = {
        "memory_gb": round(memory_bytes(device) / 1e9, 1),
        "largest_product": {str(p): measure_matmul_tflops(p, device) for p in Precision},
        "steps": steps,
        "models": models,
    }
    for way in WAYS:
        for name, workload in loads.items():
            models[name]["ways"][way] = time_training_steps(workload, device, way)
            save(figures)


def time_training_steps(
    workload: TrainingWorkload, device: torch.device, way: str
) -> dict[str, Any]:
    """Make the first steps of a recipe in one of `WAYS`, several times over.

    Returns:
        Of a pass in which each step is waited for: target tokens a second (the median step's,
        without padding), milliseconds of that step, and operations a second of the matrix products
        of its batch as `collate` pads it. Milliseconds of a mean step of a pass in which none is,
        as in `train`. Of one under the profiler: see `profile_figures`. Seconds of the slow first
        two steps, the most memory held (GB), the last step's loss (nats per token), steps left out
        for overflow, and with CUDA graphs the positions computed for each token.
    """
    torch._dynamo.reset()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats(device)
    steps = BenchSteps(workload, device, way, make_recorder(device) if CUDA_GRAPHS in way else None)
    first_two = _seconds_of_steps(steps, 2)
    _seconds_of_steps(steps, NUM_UNTIMED_PASSES * len(workload.batches) - 2)
    count = len(workload.batches)
    seconds, stats = _time_each_step(steps, count)
    without_waiting = _seconds_of_steps(steps, count)
    profiled = profile_steps(lambda: _seconds_of_steps(steps, count), count)
    flops = _flops_of_batches(workload)
    skipped = sum(not torch.isfinite(each.grad_norm) for each in stats)
    figures = {
        "parameters": count_parameters(steps.model),
        "tokens_per_second": round(
            statistics.median(each.tokens / s for each, s in zip(stats, seconds, strict=True))
        ),
        "milliseconds": round(1000 * statistics.median(seconds), 1),
        "milliseconds_without_waiting": round(1000 * without_waiting / count, 1),
        "first_two_seconds": round(first_two, 1),
        "tflops": round(
            statistics.median(f / s for f, s in zip(flops, seconds, strict=True)) / 1e12, 2
        ),
        "memory_gb": round(torch.cuda.max_memory_allocated(device) / 1e9, 2),
        "loss": round(float(stats[-1].nll) / stats[-1].tokens, 4),
        "skipped": skipped,
        **profiled,
    }
    if steps.graphed is not None:
        positions_per_token = steps.graphed.padding.positions_per_token
        assert positions_per_token is not None, "steps were made"
        figures["positions_per_token"] = round(positions_per_token, 3)
    return figures


class BenchSteps:
    """A recipe's first steps in one of `WAYS`, one at each call; after the last the first again."""

    def __init__(
        self,
        workload: TrainingWorkload,
        device: torch.device,
        way: str,
        recorder: StepRecorder | None,
    ) -> None:
        precision = Precision(way.partition(",")[0])
        self._training = training = workload.recipe.training
        self._d_model = workload.network_config.d_model
        torch.manual_seed(training.seed)
        self.model = Transformer(
            workload.network_config,
            src_vocab_size=workload.src_vocab_size,
            tgt_vocab_size=workload.tgt_vocab_size,
        )
        # With `self` in the closure, the next way's memory would count all this until Python's
        # garbage collector came by.
        model = self.model.to(device).train()
        state = new_state(model, training, precision)
        if COMPILED in way:
            model.compile(dynamic=True)

        def plain_update(batch: Batch, rate: float | Tensor) -> StepStats:
            return update(model, state, batch, training, rate, precision)

        self._update: Callable[[Any, float], StepStats] = plain_update
        self._batches: list[Any] = list(workload.batches)
        self.graphed: GraphedUpdate | None = None
        if recorder is not None:
            self.graphed = GraphedUpdate(plain_update, state, workload.pipeline, recorder)
            self._update = self.graphed
            self._batches = workload.pipeline.rows_by_batch(0)[: len(self._batches)]
        self._num_steps = 0

    def __call__(self) -> StepStats:
        """Make the next step."""
        batch = self._batches[self._num_steps % len(self._batches)]
        self._num_steps += 1
        rate = configured_learning_rate(self._num_steps, self._d_model, self._training)
        return self._update(batch, rate)


def _time_each_step(steps: BenchSteps, count: int) -> tuple[list[float], list[StepStats]]:
    """Make some steps, each of which is waited for, and return their seconds and statistics."""
    seconds, stats = [], []
    for _ in range(count):
        started = time.perf_counter()
        stats.append(steps())
        float(stats[-1].nll)  # waits for the GPU
        seconds.append(time.perf_counter() - started)
    return seconds, stats


def _seconds_of_steps(steps: BenchSteps, count: int) -> float:
    """Return how long some steps take, of which the last alone is waited for."""
    started = time.perf_counter()
    for _ in range(count):
        stats = steps()
    float(stats.nll)
    return time.perf_counter() - started


def _flops_of_batches(workload: TrainingWorkload) -> list[float]:
    """Return the operations of the matrix products of each batch's step."""
    return [
        training_step_flops(
            workload.network_config,
            workload.tgt_vocab_size,
            sentences=len(batch.src),
            src_len=batch.src.shape[1],
            tgt_len=batch.tgt_in.shape[1],
        )
        for batch in workload.batches
    ]


def measure_matmul_tflops(precision: Precision, device: torch.device, rounds: int = 10) -> float:
    """Measure the rate of a large product, TFLOP/s: the median of some rounds."""
    left, right = torch.randn(2, TIMED_MATRIX_SIDE, TIMED_MATRIX_SIDE, device=device).unbind()
    if precision in (Precision.BF16, Precision.FP16):  # autocast would time its casts, too
        short = torch.bfloat16 if precision == Precision.BF16 else torch.float16
        left, right = left.to(short), right.to(short)
    seconds = []
    with precision.autocast(device), torch.autocast(device.type, enabled=False):
        for _ in range(rounds + 3):
            torch.cuda.synchronize()
            started = time.perf_counter()
            left @ right
            torch.cuda.synchronize()
            seconds.append(time.perf_counter() - started)
    return round(2 * TIMED_MATRIX_SIDE**3 / statistics.median(seconds[3:]) / 1e12, 1)
