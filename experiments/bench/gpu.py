"""Time training steps on a GPU: each precision, eager and compiled (§5.2).

One captions model, which is all small operations, and the paper's base model on batches of its
size (§5.1), which is mostly matrix products. Each gets the same batches and initial weights.
"""

import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from experiments.bench.peers import TrainingWorkload, load_training_workload
from lessonkit.analysis.flops import training_step_flops
from transformer.config import ModelConfig
from transformer.model import Transformer, count_parameters
from transformer.support.errors import UserError
from transformer.training.devices import Precision, memory_bytes, pick_device_and_precision
from transformer.training.loop import new_state, update
from transformer.training.schedule import configured_learning_rate

RECIPE_NAME = "multi30k-de-en"
BASE_MODEL_TRAINING_SETTINGS = {
    "batch_tokens": "25000",
    "warmup_steps": "4000",
    "learning_rate_factor": "1",
}  # §5.1, §5.3
BASE_VOCAB_SIZE = 37_000  # §5.1; the text has fewer, the softmax has all
NUM_STEPS_PER_RUN = 40
NUM_UNTIMED_STEPS = 8  # of these, not timed: kernels are chosen, or compiled
COMPILED_RUN_NAME = "bf16, compiled"
TIMED_MATRIX_SIDE = 8192  # side of the largest product


def measure_gpu_steps(
    save: Callable[[dict[str, Any]], None], steps: int = NUM_STEPS_PER_RUN
) -> None:
    """Measure both models, and save all figures after each run; the compiled are last.

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
    for way in (*Precision, COMPILED_RUN_NAME):
        for name, workload in loads.items():
            models[name]["ways"][str(way)] = time_training_steps(workload, device, way)
            save(figures)


def time_training_steps(
    workload: TrainingWorkload, device: torch.device, way: str
) -> dict[str, Any]:
    """Make the first steps of a recipe in a precision, or as `COMPILED_RUN_NAME`.

    Returns:
        Target tokens a second (the median step's, without padding), milliseconds of that step,
        seconds of the slow first two, operations a second of its matrix products, the most
        memory held (GB), the last step's loss (nats per token), and steps left out for overflow.
    """
    precision, training = Precision(way.partition(",")[0]), workload.recipe.training
    network = workload.network_config
    torch.manual_seed(training.seed)
    torch._dynamo.reset()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats(device)
    src_vocab_size, tgt_vocab_size = workload.src_vocab_size, workload.tgt_vocab_size
    model = Transformer(network, src_vocab_size=src_vocab_size, tgt_vocab_size=tgt_vocab_size)
    model.to(device).train()
    state = new_state(model, training, precision)
    if way == COMPILED_RUN_NAME:
        model.compile(dynamic=True)
    scale = state.scaler.get_scale()
    seconds, speeds, rates, skipped = [], [], [], 0
    for step, batch in enumerate(workload.batches, start=1):
        rate = configured_learning_rate(step, network.d_model, training)
        started = time.perf_counter()
        tokens, nll, _ = update(model, state, batch, training, rate, precision)
        loss = float(nll) / tokens  # waits for the GPU
        seconds.append(time.perf_counter() - started)
        speeds.append(tokens / seconds[-1])
        lengths = {"src_len": batch.src.shape[1], "tgt_len": batch.tgt_in.shape[1]}
        flops = training_step_flops(
            network, workload.tgt_vocab_size, sentences=len(batch.src), **lengths
        )
        rates.append(flops / seconds[-1])
        skipped += state.scaler.get_scale() < scale
        scale = state.scaler.get_scale()
    timed = slice(min(NUM_UNTIMED_STEPS, len(seconds) // 2), None)
    return {
        "parameters": count_parameters(model),
        "tokens_per_second": round(statistics.median(speeds[timed])),
        "milliseconds": round(1000 * statistics.median(seconds[timed]), 1),
        "first_two_seconds": round(sum(seconds[:2]), 1),
        "tflops": round(statistics.median(rates[timed]) / 1e12, 2),
        "memory_gb": round(torch.cuda.max_memory_allocated(device) / 1e9, 2),
        "loss": round(loss, 4),
        "skipped": skipped,
    }


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
