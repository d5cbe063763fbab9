"""Whether short numbers pay on this machine (not in the paper, which trained in 32 bits)."""

import time
from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor

SIZE, ROUNDS = 256, 3


def bfloat16_is_faster(device: torch.device) -> bool:
    """Say whether a product in bfloat16 is faster than one in float32.

    Processors without instructions for bfloat16, which most laptops have, take 20 to 60 times as
    long for it. One product each is timed on a CPU, the best of three: a few milliseconds. A
    GPU is believed to be fast.

    Args:
        device: What will compute.
    """
    return device.type != "cpu" or _is_faster_on_this_cpu()


@cache
def _is_faster_on_this_cpu() -> bool:
    matrix = torch.rand(SIZE, SIZE)
    short = matrix.bfloat16()
    return _seconds(lambda: short @ short) < _seconds(lambda: matrix @ matrix)


def _seconds(product: Callable[[], Tensor]) -> float:
    """Give the shortest of a few times, after one that nobody counts."""
    product()
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        product()
        times.append(time.perf_counter() - began)
    return min(times)
