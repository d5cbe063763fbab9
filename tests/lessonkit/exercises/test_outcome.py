"""A right answer passes whatever the learner has set of PyTorch's, and leaves it as it was."""

import random
from contextlib import AbstractContextManager, nullcontext

import pytest
import torch

from lessonkit.exercises import own
from tests.helpers.exercise_walk import ALL

STATES: dict[str, AbstractContextManager[object]] = {
    "no gradients": torch.no_grad(),
    "inference": torch.inference_mode(),
    "autocast": torch.autocast("cpu", dtype=torch.bfloat16),
    "another device": torch.device("meta"),
    "float64": nullcontext(),
    "bfloat16": nullcontext(),
    "another seed": nullcontext(),
    "deterministic": nullcontext(),
}


@pytest.mark.slow
@pytest.mark.parametrize("state", STATES)
def test_every_right_answer_passes_in_every_state(
    state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = torch.get_default_dtype()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(hash(state) % 1000)
        try:
            if state in ("float64", "bfloat16"):
                torch.set_default_dtype(getattr(torch, state))
            torch.use_deterministic_algorithms(state == "deterministic")
            chance, other = torch.random.get_rng_state(), random.getstate()
            with STATES[state]:
                for exercise in ALL.values():
                    assert exercise.passes(exercise.reference), exercise.name
                for part in own.CLASS_EXERCISES_BY_NAME.values():
                    assert part.passes(part.reference), part.name
                assert torch.is_grad_enabled() == (state not in ("no gradients", "inference"))
            assert torch.equal(torch.random.get_rng_state(), chance)
            assert random.getstate() == other
        finally:
            torch.set_default_dtype(before)
            torch.use_deterministic_algorithms(False)
