"""Random tensors that are the same each time, for the cases of exercises (not in the paper)."""

from collections.abc import Callable

import torch
from torch import Tensor

from lessonkit.exercises.toys import CASE_SEED_SHIFT


def seeded_generator(seed: int) -> torch.Generator:
    """Return a generator of random numbers that gives the same ones each time."""
    return torch.Generator().manual_seed(seed + CASE_SEED_SHIFT)


def make_normal_sampler(seed: int) -> Callable[..., Tensor]:
    """Return a function that draws normal tensors, the same each time: `draw(2, 3)` is (2, 3)."""
    generator = seeded_generator(seed)
    return lambda *shape: torch.randn(shape, generator=generator)
