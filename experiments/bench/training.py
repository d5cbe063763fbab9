"""Compare training steps: interleaved, in CPU time, on one thread; and profile ours.

Not in the paper.
"""

import statistics
from collections.abc import Callable
from functools import partial
from itertools import accumulate
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from experiments.bench.peers import (
    OURS,
    TrainingWorkload,
    load_training_workload,
    make_contenders,
    toolkit_versions,
)
from lessonkit.analysis.flops import training_step_flops
from lessonkit.analysis.timing import operation_time_shares, process_seconds_of_call
from transformer.model import count_parameters
from transformer.training.devices import Precision

RECIPE_NAMES = ("multi30k-de-en", "multi30k")  # the course's captions; system 4
NUM_TIMED_ROUNDS = 6
PRECISIONS_AND_DTYPES = {
    "float32": (Precision.FLOAT32, torch.float32),
    "bfloat16": (Precision.BF16, torch.bfloat16),
}
TIMED_MATRIX_SIDE = 2048  # side of the largest product


def measure_all_recipes() -> dict[str, Any]:
    """Measure every recipe in every precision, printing what has been done."""
    ceiling = {}
    for name, (_, dtype) in PRECISIONS_AND_DTYPES.items():
        ceiling[name] = measure_matmul_gmacs(dtype)
        print(f"{name}: the largest product")
    figures: dict[str, Any] = {
        "rounds": NUM_TIMED_ROUNDS,
        "toolkits": toolkit_versions(),
        "ceiling": ceiling,
        "recipes": {},
    }
    for recipe in RECIPE_NAMES:
        workload = load_training_workload(recipe, NUM_TIMED_ROUNDS + 1)
        making = process_seconds_of_call(partial(list, workload.pipeline.epoch(1)))
        measured = {}
        for name, (precision, _) in PRECISIONS_AND_DTYPES.items():
            measured[name] = compare_contenders(workload, precision, ceiling[name])
            print(f"{recipe}, {name}")
        figures["recipes"][recipe] = {
            "batches": workload.record_fields(),
            "pipeline_seconds_a_batch": round(making / len(workload.pipeline.plan(1)), 6),
            "precisions": measured,
        }
    return figures


def measure_matmul_gmacs(dtype: torch.dtype) -> float:
    """Measure the rate of the largest product, what no step can exceed: the best of some rounds.

    Billions of multiplications (each with its addition) a second.
    """
    left, right = torch.randn(2, TIMED_MATRIX_SIDE, TIMED_MATRIX_SIDE).to(dtype).unbind()
    seconds = [
        process_seconds_of_call(partial(torch.mm, left, right)) for _ in range(NUM_TIMED_ROUNDS)
    ]
    return round(TIMED_MATRIX_SIDE**3 / min(seconds) / 1e9, 1)


def compare_contenders(
    workload: TrainingWorkload, precision: Precision, ceiling: float
) -> dict[str, Any]:
    """Time every contender on each batch in turn, and profile our step.

    The first batch does not count: memory is allocated and kernels are chosen there.

    Returns:
        For each contender tokens a second (the median of the rounds), ours as a multiple of its
        speed (median, lowest and highest of the rounds), the rate of its products as a share of
        the ceiling, parameters, and the most memory of a step; and each kind of work's share of a
        step of ours, 0 to 1.
    """
    contenders = make_contenders(workload, precision)
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for number, batch in enumerate(workload.batches, start=1):
        for name, contender in contenders.items():
            seconds[name].append(process_seconds_of_call(partial(contender.step, number, batch)))
    figures = {
        name: _contender_figures(workload, seconds[name][1:], seconds[OURS][1:], ceiling)
        | {
            "parameters": count_parameters(contender.model),
            "peak_megabytes": peak_megabytes(partial(contender.step, 1, workload.batches[1])),
        }
        for name, contender in contenders.items()
    }
    shares = operation_time_shares(partial(contenders[OURS].step, 1, workload.batches[1]))
    shares = {kind: round(share, 3) for kind, share in shares.items()}
    return {"contenders": figures, "profile": shares}


def peak_megabytes(step: Callable[[], object]) -> int:
    """Return the most memory that a step's own tensors take at once, in megabytes.

    Weights and Adam's moments, which are there before, do not count.
    """
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True, acc_events=True) as seen:
        step()
    recorded: Any = seen.profiler
    changes = [
        (event.start_ns(), event.nbytes())  # below 0 where memory is freed
        for event in recorded.kineto_results.events()
        if event.name() == "[memory]"
    ]
    return round(max(accumulate(size for _, size in sorted(changes))) / 1e6)


def _contender_figures(
    workload: TrainingWorkload, seconds: list[float], ours: list[float], ceiling: float
) -> dict[str, Any]:
    """Summarise a contender's rounds."""
    speeds, rates = [], []
    for batch, took in zip(workload.batches[1:], seconds, strict=True):
        sentences, src_len = batch.src.shape  # padding included: the same for every contender
        sizes = {"sentences": sentences, "src_len": src_len, "tgt_len": batch.tgt_in.shape[1]}
        multiplications = (
            training_step_flops(workload.network_config, workload.tgt_vocab_size, **sizes) // 2
        )
        speeds.append(batch.num_tgt_tokens / took)
        rates.append(multiplications / took / 1e9)
    times = [theirs / mine for theirs, mine in zip(seconds, ours, strict=True)]
    return {
        "tokens_per_second": round(statistics.median(speeds)),
        "ours_is_times": round(statistics.median(times), 2),
        "lowest_and_highest": [round(min(times), 2), round(max(times), 2)],
        "share_of_ceiling": round(statistics.median(rates) / ceiling, 3),
        "seconds": [round(took, 3) for took in seconds],
    }
