"""What this machine can do, and how much of a lesson to run on it."""

import os

import torch

from transformer.support.errors import unknown_name

PROFILES = ("quick", "full")


def pick_device() -> torch.device:
    """Give the GPU if there is one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def course_profile() -> str:
    """Say how much a lesson should train here.

    Returns:
        "quick": the embedded corpus and small models, about a minute. "full": real corpora,
        which needs a GPU to be pleasant. `COURSE_PROFILE` decides where it is set
        and not empty; else "full" where there is a GPU.

    Raises:
        UserError: `COURSE_PROFILE` is neither.
    """
    chosen = os.environ.get("COURSE_PROFILE")
    if not chosen:
        return "full" if torch.cuda.is_available() else "quick"
    if chosen not in PROFILES:
        raise unknown_name("COURSE_PROFILE", chosen, PROFILES)
    return chosen
