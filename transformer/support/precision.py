"""Whether short numbers pay on this machine (not in the paper, which trained in 32 bits)."""

from functools import cache

import torch

from transformer.support.clock import cpu_seconds

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
    short = matrix.bfloat16()
    in_short = cpu_seconds(lambda: short @ short, ROUNDS)
    return in_short < cpu_seconds(lambda: matrix @ matrix, ROUNDS)
