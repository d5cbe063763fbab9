"""How much a lesson trains here, and in which folder. Not in the paper."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

from transformer.support.errors import unknown_name

PROFILES = ("quick", "full")
RUNS = "COURSE_RUNS"  # variable that names the folder in which lessons keep what they train


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
        import torch  # late: `lessonkit.colab` sets what torch reads as it loads

        return "full" if torch.cuda.is_available() else "quick"
    if chosen not in PROFILES:
        raise unknown_name("COURSE_PROFILE", chosen, PROFILES)
    return chosen


def run_folder(name: str) -> Path:
    """Give the folder that a lesson trains in: a new one, removed when Python ends.

    Args:
        name: The folder's own name. Where `COURSE_RUNS` is set and not empty, it is the
            same folder in there each time, and it stays: a run can be resumed.
    """
    if kept := os.environ.get(RUNS):
        return Path(kept) / name
    temporary = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, temporary, ignore_errors=True)
    return Path(temporary) / name
