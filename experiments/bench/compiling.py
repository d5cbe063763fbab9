"""Training steps with torch.compile and without, ours and the peers', with what compiling takes.

Not in the paper.
"""

import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch._inductor.config

from experiments.bench.contenders import load, make_contenders
from lessonkit.analysis.machines import seconds_of

RECIPE, ROUNDS = "multi30k-de-en", 6


def measure(advance: Callable[[str], object]) -> dict[str, Any]:
    """Make steps in each precision: the median speed of all rounds but the first two.

    Batches differ in their shapes, so the second step may compile once more, for any shape.
    """
    torch._inductor.config.force_disable_caches = True  # what was compiled before helps nobody
    workload = load(RECIPE, ROUNDS)
    rows: list[dict[str, Any]] = []
    for precision, bf16 in (("float32", False), ("bfloat16", True)):
        speeds: dict[str, dict[str, Any]] = {}
        for compiled in (False, True):
            for who, contender in make_contenders(workload, bf16).items():
                if compiled:
                    contender.model.compile(dynamic=True)
                took: list[float] = []
                ends: list[float] = []
                begun = time.perf_counter()
                for number, batch in enumerate(workload.batches, start=1):
                    took.append(seconds_of(partial(contender.step, number, batch)))
                    ends.append(time.perf_counter() - begun)
                pairs = list(zip(workload.batches, took, strict=True))[2:]
                speed = round(statistics.median(b.num_tgt_tokens / s for b, s in pairs))
                row = speeds.setdefault(who, {"precision": precision, "who": who})
                row["compiled" if compiled else "eager"] = speed
                row["first_steps_seconds"] = round(ends[1], 1)  # at last, the compiled one's
                advance(f"{precision}, {who}, {'compiled' if compiled else 'eager'}")
        rows += speeds.values()
    return {"recipe": workload.recipe.name, "rounds": ROUNDS, "rows": rows}
