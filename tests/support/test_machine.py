"""The device, and how much of a lesson to run."""

import pytest
import torch

from transformer.support.errors import UserError
from transformer.support.machine import course_profile, pick_device

HAS_GPU = torch.cuda.is_available()


def test_the_device_is_a_gpu_only_if_there_is_one() -> None:
    assert pick_device().type == ("cuda" if HAS_GPU else "cpu")


def test_the_learner_chooses_the_profile_else_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for chosen in ("quick", "full"):
        monkeypatch.setenv("COURSE_PROFILE", chosen)
        assert course_profile() == chosen
    monkeypatch.setenv("COURSE_PROFILE", "")
    assert course_profile() == ("full" if HAS_GPU else "quick")
    monkeypatch.setenv("COURSE_PROFILE", "fool")
    with pytest.raises(UserError, match="unknown COURSE_PROFILE 'fool': did you mean 'full'"):
        course_profile()
