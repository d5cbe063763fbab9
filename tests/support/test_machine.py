"""The device, and how much of a lesson to run."""

import pytest
import torch

from transformer.support.errors import UserError
from transformer.support.machine import course_profile, is_out_of_memory, pick_device

HAS_GPU = torch.cuda.is_available()


def test_the_device_is_a_gpu_only_if_there_is_one() -> None:
    assert pick_device().type == ("cuda" if HAS_GPU else "cpu")


def test_full_memory_is_told_from_other_errors() -> None:
    assert is_out_of_memory(torch.OutOfMemoryError("CUDA out of memory. Tried to allocate"))
    with pytest.raises(RuntimeError) as caught:
        torch.empty(10**15)  # four petabytes, of the CPU
    assert is_out_of_memory(caught.value)
    assert not is_out_of_memory(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))


@pytest.mark.parametrize("profile", ["quick", "full"])
def test_the_learner_chooses(profile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COURSE_PROFILE", profile)
    assert course_profile() == profile


def test_else_the_machine_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COURSE_PROFILE", raising=False)
    chosen = course_profile()
    assert chosen == ("full" if HAS_GPU else "quick")
    monkeypatch.setenv("COURSE_PROFILE", "")
    assert course_profile() == chosen


def test_a_profile_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COURSE_PROFILE", "fool")
    with pytest.raises(UserError, match="unknown COURSE_PROFILE 'fool': did you mean 'full'"):
        course_profile()
