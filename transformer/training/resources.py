"""What a training takes of memory and disk, reckoned before the work.

Not in the paper. A lower bound: the weights and what the optimizer keeps of each. The batches'
activations come on top; where they do not fit, the run says so itself.
"""

import os
import shutil
from pathlib import Path

import torch

from transformer.models.folder import Description
from transformer.support.errors import UserError

WEIGHT = 4  # bytes of a float32
IN_MEMORY = 4  # copies of the weights while training: themselves, gradient, two moments (Muon: one)
LAST = 3  # copies in the checkpoint to resume from: weights and moments
OTHERS = 2  # the best weights and the final ones; then there are those to be averaged


def check_resources(
    description: Description,
    out: Path,
    device: torch.device,
    new: bool = True,
    processes_here: int = 1,
) -> None:
    """Refuse a model that this machine cannot train or the disk not hold.

    Args:
        description: Of the model; it is drawn without memory to count its weights.
        out: Folder of the run, which need not exist.
        device: Where it is to be trained.
        new: Whether the checkpoints are yet to be written.
        processes_here: How many of this machine train it together; each has all of it, and
            where there are several one copy more, of what they exchange.

    Raises:
        UserError: the memory or the disk is too small.
    """
    with torch.device("meta"):
        model = description.build()
    weights = WEIGHT * sum(parameter.numel() for parameter in model.parameters())
    tables = sum(buffer.nbytes for buffer in model.buffers())
    needed, there = IN_MEMORY * weights + tables, memory(device)
    if processes_here > 1:
        needed += weights
    if device.type == "cpu":  # each GPU has memory of its own
        needed *= processes_here
    if needed > there:
        raise UserError(
            f"this model needs {_gigabytes(needed)} of memory at the least, and {device} has "
            f"{_gigabytes(there)}: give a smaller d_model, d_ff, num_layers or vocab_size"
        )
    copies = LAST + OTHERS + description.recipe.training.average_last
    nearest = next(each for each in (out, *out.absolute().parents) if each.is_dir())
    free = shutil.disk_usage(nearest).free
    if new and copies * weights > free:
        raise UserError(
            f"this run writes {_gigabytes(copies * weights)} of checkpoints, and {nearest} has "
            f"{_gigabytes(free)} free: make room, choose another folder, or give a smaller model "
            "or average_last"
        )


def memory(device: torch.device) -> int:
    """Give a device's memory in bytes, in use or not."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[1]
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not on Windows: let the run find out
        return 2**63


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:,.1f} GB"
