"""One state for every check: what the learner has set of PyTorch's changes no verdict.

Not in the paper.
"""

import contextlib
import random
from collections.abc import Iterator

import torch


@contextlib.contextmanager
def sealed() -> Iterator[None]:
    """Check in a state that is always the same, and leave the learner's as it was."""
    dtype, chance = torch.get_default_dtype(), random.getstate()
    torch.set_default_dtype(torch.float32)
    try:
        with (
            torch.inference_mode(False),
            torch.enable_grad(),
            torch.device("cpu"),
            torch.autocast("cpu", enabled=False),
            torch.random.fork_rng(devices=[]),
        ):
            torch.manual_seed(0)
            random.seed(0)
            yield
    finally:
        torch.set_default_dtype(dtype)
        random.setstate(chance)
