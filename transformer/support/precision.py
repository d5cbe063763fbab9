"""Whether short numbers pay on this machine (not in the paper, which trained in 32 bits)."""

import time
from functools import cache

import torch
from torch import Tensor

SIZE, ROUNDS = 256, 3


def bfloat16_is_faster(device: torch.device) -> bool:
    """Say whether a product in bfloat16 is faster than one in float32.

    Processors without instructions for bfloat16, which most laptops have, take 20 to 60 times as
    long for it; some that have them are slower with them, too. One product each is timed on a CPU,
    the best of three: a few milliseconds. A GPU is believed to be fast.

    Args:
        device: What will compute.
    """
    return device.type != "cpu" or _is_faster_on_this_cpu()


@cache
def _is_faster_on_this_cpu() -> bool:
    matrix = torch.rand(SIZE, SIZE)
    return _seconds(matrix.bfloat16()) < _seconds(matrix)


def _seconds(matrix: Tensor) -> float:
    """Give the fewest seconds that the processor worked for a product, of some rounds."""
    rounds = []
    for _ in range(1 + ROUNDS):  # the first is slow
        started = time.process_time()
        matrix @ matrix
        rounds.append(time.process_time() - started)
    return min(rounds)
