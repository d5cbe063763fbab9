"""What a training takes of memory and disk, reckoned before the work (not in the paper).

A lower bound: the weights and what Adam keeps of each. The batches' activations come on top.
"""

import os
import shutil
from pathlib import Path

import torch

from transformer.models.folder import Description
from transformer.support.errors import UserError

IN_MEMORY = 4  # copies of the weights while training: themselves, gradient, two moments
CHECKPOINTS = 5  # copies on disk: in the last one with two moments, the best and the final ones


def check_resources(
    description: Description, out: Path | None, device: torch.device, processes_here: int = 1
) -> None:
    """Refuse a model that this machine cannot train or the disk not hold.

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
