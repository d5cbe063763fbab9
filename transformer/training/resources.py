"""What the machine has for a training: memory, disk, and whether it is faster in bfloat16.

Not in the paper, which trained in 32 bits on eight GPUs.
"""

import ctypes
import os
import shutil
import sys
import time
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

from transformer.models.folder import Description
from transformer.support.errors import UserError

IN_MEMORY = 4  # copies of the weights while training: themselves, gradient, two moments
CHECKPOINTS = 5  # copies on disk: in the last one with two moments, the best and the final ones
_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4  # from glibc's malloc.h


def check_resources(
    description: Description, out: Path | None, device: torch.device, processes_here: int = 1
) -> None:
    """Refuse a model that this machine cannot train or the disk not hold.

    A lower bound: the weights and what Adam keeps of each. The batches' activations come on top.

    Args:
        description: Of the model; it is drawn without memory to count its weights.
        out: Folder of the run, which need not exist; None: its files are there already.
        device: Where it is to be trained.
        processes_here: How many of this machine train it together; each has all of it, and
            where there are several one copy more, of what they exchange.

    Raises:
        UserError: the memory or the disk is too small.
    """
    with torch.device("meta"):
        model = description.build()
    weights = sum(parameter.nbytes for parameter in model.parameters())
    needed = (IN_MEMORY + (processes_here > 1)) * weights
    if device.type == "cpu":  # each GPU has memory of its own
        needed *= processes_here
    if needed > (there := memory(device)):
        raise UserError(
            f"this model needs {needed / 1e9:,.1f} GB of memory at the least, and {device} has "
            f"{there / 1e9:,.1f} GB: give a smaller d_model, d_ff, num_layers or vocab_size"
        )
    if out is None:
        return
    needed = (CHECKPOINTS + description.recipe.training.average_last) * weights
    nearest = next(each for each in (out, *out.absolute().parents) if each.is_dir())
    if needed > (free := shutil.disk_usage(nearest).free):
        raise UserError(
            f"this run writes {needed / 1e9:,.1f} GB of checkpoints, and {nearest} has "
            f"{free / 1e9:,.1f} GB free: make room, choose another folder, or give a smaller "
            "model or average_last"
        )


def memory(device: torch.device) -> int:
    """Give a device's memory in bytes, in use or not."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[1]
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not on Windows: let the run find out
        return 2**63


def bfloat16_is_faster(device: torch.device) -> bool:
    """Say whether a product in bfloat16 is faster than one in float32.

    Processors without instructions for bfloat16, which most laptops have, take 20 to 60 times as
    long for it; some that have them are slower with them, too. One product each is timed on a CPU,
    the best of three: a few milliseconds. A GPU is believed to be fast.
    """
    return device.type != "cpu" or _is_faster_on_this_cpu()


@cache
def _is_faster_on_this_cpu() -> bool:
    matrix = torch.rand(256, 256)
    return _seconds(matrix.bfloat16()) < _seconds(matrix)


def _seconds(matrix: Tensor) -> float:
    """Give the fewest seconds that the processor worked for a product, of some rounds."""
    rounds = []
    for _ in range(4):  # the first is slow
        started = time.process_time()
        matrix @ matrix
        rounds.append(time.process_time() - started)
    return min(rounds)


def keep_freed_memory() -> None:
    """Ask the C library, if it is glibc, to keep what is freed, for the rest of this process.

    A training step takes and frees the same large tensors again and again. By default glibc gives
    each back to the system, which must fill its pages with zeros when it is asked for them anew:
    5 to 10% of a step of the demo. Kept, they cost nothing; the process stays as large as it was.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(_M_MMAP_MAX, 0)
        mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)
