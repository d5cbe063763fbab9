"""Training steps side by side: interleaved, in seconds of computing, on one thread.

Not in the paper.
"""

import statistics
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from experiments.bench.contenders import make_contenders, multiply_adds
from experiments.bench.names import OURS
from experiments.bench.profile import where_time_goes
from experiments.bench.workload import Workload, load
from lessonkit.analysis.costs import step_flops
from lessonkit.analysis.machines import seconds_of
from transformer.data.batches import Batch
from transformer.model import count_parameters

RECIPES = ("multi30k-de-en", "multi30k")  # the course's captions; system 4
ROUNDS = 6
PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}
LARGEST = 2048  # side of the largest product

Advance = Callable[[str], object]


def parts() -> int:
    """Give how many times `measure` calls `advance`."""
    return len(PRECISIONS) * (1 + len(RECIPES) * (ROUNDS + 2))


def measure(advance: Advance) -> dict[str, Any]:
    """Measure every recipe in every precision.

    Args:
        advance: Called with what was just done, `parts` times.

    Returns:
        The ceiling, and for each recipe what the batches were and `compare`'s figures.
    """
    ceiling = ceilings(advance)
    figures: dict[str, Any] = {"rounds": ROUNDS, "ceiling": ceiling, "recipes": {}}
    for name in RECIPES:
        workload = load(name, ROUNDS + 1)
        figures["recipes"][name] = {
            "batches": workload.about(),
            "pipeline_seconds_a_batch": round(pipeline_seconds(workload), 6),
            "precisions": {
                precision: compare(workload, precision == "bfloat16", ceiling[precision], advance)
                for precision in PRECISIONS
            },
        }
    return figures


def ceilings(advance: Advance, side: int = LARGEST, rounds: int = 5) -> dict[str, float]:
    """Measure the rate of the largest product, in each precision: what no step can exceed.

    Returns:
        The best of some rounds, billions of multiplications (each with its addition) a second.
    """
    best = {}
    for name, dtype in PRECISIONS.items():
        left, right = torch.randn(2, side, side).to(dtype).unbind()
        seconds = [seconds_of(partial(torch.mm, left, right)) for _ in range(1 + rounds)]
        best[name] = round(side**3 / min(seconds) / 1e9, 1)
        advance(f"{name}: the largest product")
    return best


def pipeline_seconds(workload: Workload) -> float:
    """Measure what it costs to make a batch: shuffling, sorting, padding, tensors.

    Returns:
        The mean over an epoch; the text is encoded beforehand, once for all epochs.
    """

    def whole_epoch() -> None:
        for _ in workload.pipeline.epoch(1):
            pass

    return seconds_of(whole_epoch) / len(workload.pipeline.plan(1))


def compare(workload: Workload, bf16: bool, ceiling: float, advance: Advance) -> dict[str, Any]:
    """Make steps by turns, every contender on the same batch, and the profile of ours.

    The first batch is not counted: memory is allocated and kernels are chosen there.

    Returns:
        For each contender tokens a second (the median of the rounds), ours as a multiple of its
        speed (median, lowest and highest of the rounds), the rate of its products as a share of
        the ceiling, parameters, and multiplications for eight sentences, as PyTorch counts them.
    """
    contenders = make_contenders(workload, bf16)
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    label = f"{workload.recipe.name}, {'bfloat16' if bf16 else 'float32'}"
    for number, batch in enumerate(workload.batches, start=1):
        for name, contender in contenders.items():
            took = seconds_of(partial(contender.step, number, batch))
            if number > 1:
                seconds[name].append(took)
        advance(f"{label}, round {number}")
    few = _few(workload.batches[0])
    figures = {
        name: _figures(workload, seconds[name], seconds[OURS], ceiling)
        | {
            "parameters": count_parameters(contender.model),
            "multiplications_of_8": multiply_adds(contender, few),
            "differs": contender.differs,
        }
        for name, contender in contenders.items()
    }
    profile = where_time_goes(contenders[OURS], workload.batches[1:], workload.tgt_vocab_size)
    advance(f"{label}, profile")
    return {"contenders": figures, "profile": profile}


def _few(batch: Batch) -> Batch:
    """Give the first eight sentences: enough to count by."""
    return Batch(batch.src[:8], batch.tgt_in[:8], batch.tgt_out[:8])


def _figures(
    workload: Workload, seconds: list[float], ours: list[float], ceiling: float
) -> dict[str, Any]:
    """Sum up a contender's rounds."""
    counted = workload.batches[1:]
    times = [theirs / mine for theirs, mine in zip(seconds, ours, strict=True)]
    speeds = [batch.num_tgt_tokens / took for batch, took in zip(counted, seconds, strict=True)]
    rates = [_multiplications(workload, b) / s / 1e9 for b, s in zip(counted, seconds, strict=True)]
    return {
        "tokens_per_second": round(statistics.median(speeds)),
        "ours_is_times": round(statistics.median(times), 2),
        "lowest_and_highest": [round(min(times), 2), round(max(times), 2)],
        "share_of_ceiling": round(statistics.median(rates) / ceiling, 3),
        "seconds": [round(took, 3) for took in seconds],
    }


def _multiplications(workload: Workload, batch: Batch) -> int:
    """Count a step's, padding included: the same for every contender."""
    sentences, src_len = batch.src.shape
    sizes = {"sentences": sentences, "src_len": src_len, "tgt_len": batch.tgt_in.shape[1]}
    return step_flops(workload.network, workload.tgt_vocab_size, **sizes) // 2
