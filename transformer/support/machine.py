"""Where to compute."""

import torch


def pick_device() -> torch.device:
    """Give the GPU if there is one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
