"""Training steps side by side: interleaved, in seconds of computing, on one thread.

Not in the paper. And where the time of a step of ours goes, by kind of work: each operator is timed
as PyTorch dispatches it, forward and backward, in seconds of computing. (PyTorch's own profiler
reads the clock, so on a shared machine it counts other work too.)
"""

import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from experiments.bench.contenders import Contender, Workload, load, make_contenders
from experiments.bench.tables import OURS
from lessonkit.analysis.costs import step_flops
from lessonkit.analysis.machines import Timed, seconds_of
from transformer.data.batches import Batch
from transformer.model import count_parameters

RECIPES = ("multi30k-de-en", "multi30k")  # the course's captions; system 4
ROUNDS = 6
PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}
LARGEST = 2048  # side of the largest product
PROFILED = 3  # steps
OUTPUT, LOSS, REST = "output product", "softmax and loss", "rest"
KINDS = {
    "products": {"mm", "addmm"},
    OUTPUT: set(),  # the products with a side as wide as the vocabulary
    "attention": {
        *("bmm", "baddbmm", "_softmax", "_safe_softmax", "_softmax_backward_data"),
        "_scaled_dot_product_flash_attention_for_cpu",
        "_scaled_dot_product_flash_attention_for_cpu_backward",
    },
    LOSS: set(),  # all else with such a side
    "dropout": {"bernoulli_", "random_", "div_", "native_dropout", "native_dropout_backward"},
    "layer norm": {"native_layer_norm", "native_layer_norm_backward"},
    "optimizer": {"_fused_adam_", "_foreach_norm", "linalg_vector_norm", "_foreach_mul_"},
    "casts and copies": {"_to_copy", "copy_", "clone", "cat"},
    REST: set(),
    "between operators": set(),  # Python, autograd, the allocator
}


def measure(advance: Callable[[str], object]) -> dict[str, Any]:
    """Measure every recipe in every precision; say what was just done."""
    ceiling = ceilings(advance)
    figures: dict[str, Any] = {"rounds": ROUNDS, "ceiling": ceiling, "recipes": {}}
    for name in RECIPES:
        workload = load(name, ROUNDS + 1)
        making = seconds_of(partial(list, workload.pipeline.epoch(1)))
        figures["recipes"][name] = {
            "batches": workload.about(),
            "pipeline_seconds_a_batch": round(making / len(workload.pipeline.plan(1)), 6),
            "precisions": {
                precision: compare(workload, precision == "bfloat16", ceiling[precision], advance)
                for precision in PRECISIONS
            },
        }
    return figures


def ceilings(advance: Callable[[str], object]) -> dict[str, float]:
    """Measure the rate of the largest product, in each precision: what no step can exceed.

    It is the best of some rounds, billions of multiplications (each with its addition) a second.
    """
    best = {}
    for name, dtype in PRECISIONS.items():
        left, right = torch.randn(2, LARGEST, LARGEST).to(dtype).unbind()
        seconds = [seconds_of(partial(torch.mm, left, right)) for _ in range(ROUNDS)]
        best[name] = round(LARGEST**3 / min(seconds) / 1e9, 1)
        advance(f"{name}: the largest product")
    return best


def compare(
    workload: Workload, bf16: bool, ceiling: float, advance: Callable[[str], object]
) -> dict[str, Any]:
    """Make steps by turns, every contender on the same batch, and the profile of ours.

    The first batch is not counted: memory is allocated and kernels are chosen there.

    Returns:
        For each contender tokens a second (the median of the rounds), ours as a multiple of its
        speed (median, lowest and highest of the rounds), the rate of its products as a share of
        the ceiling, and parameters.
    """
    contenders = make_contenders(workload, bf16)
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    label = f"{workload.recipe.name}, {'bfloat16' if bf16 else 'float32'}"
    for number, batch in enumerate(workload.batches, start=1):
        for name, contender in contenders.items():
            seconds[name].append(seconds_of(partial(contender.step, number, batch)))
        advance(f"{label}, round {number}")
    figures = {
        name: _figures(workload, seconds[name][1:], seconds[OURS][1:], ceiling)
        | {"parameters": count_parameters(contender.model)}
        for name, contender in contenders.items()
    }
    profile = where_time_goes(contenders[OURS], workload.batches[1:], workload.tgt_vocab_size)
    advance(f"{label}, profile")
    return {"contenders": figures, "profile": profile}


def _figures(
    workload: Workload, seconds: list[float], ours: list[float], ceiling: float
) -> dict[str, Any]:
    """Sum up a contender's rounds."""
    speeds, rates = [], []
    for batch, took in zip(workload.batches[1:], seconds, strict=True):
        sentences, src_len = batch.src.shape  # padding included: the same for every contender
        sizes = {"sentences": sentences, "src_len": src_len, "tgt_len": batch.tgt_in.shape[1]}
        multiplications = step_flops(workload.network, workload.tgt_vocab_size, **sizes) // 2
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


def where_time_goes(
    contender: Contender, batches: Sequence[Batch], vocab_size: int
) -> dict[str, float]:
    """Give each kind of work's share of a step, 0 to 1; together they are 1.

    What is as wide as the target's vocabulary works for the softmax.
    """

    def kind(name: str, values: Any) -> str:
        tensors = [each for each in tree_leaves(values) if isinstance(each, torch.Tensor)]
        wide = any(vocab_size in tensor.shape for tensor in tensors)
        return kind_of(name.removeprefix("aten::"), tensors, wide)

    clock = Timed(kind)
    started = time.process_time()
    with clock:
        for number, batch in enumerate(batches[:PROFILED], start=1):
            contender.step(number, batch)
    total = time.process_time() - started
    spent = dict.fromkeys(KINDS, 0.0) | clock.seconds
    spent["between operators"] = total - sum(spent.values())
    return {kind: round(seconds / total, 3) for kind, seconds in spent.items()}


def kind_of(name: str, tensors: Sequence[torch.Tensor], wide: bool) -> str:
    """Tell what an operator ("mm") works for, by its tensors: as wide as the vocabulary or not."""
    kind = next((kind for kind, names in KINDS.items() if name in names), REST)
    if kind == "optimizer":
        return kind
    if wide:
        return OUTPUT if kind == "products" else LOSS
    masked = name == "mul" and len({tensor.shape for tensor in tensors}) == 1 and len(tensors) == 3
    return "dropout" if masked and tensors[0].dim() > 2 else kind
