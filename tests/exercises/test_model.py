"""Lesson 04: advice for a mistake that newer models make on purpose."""

import torch

from tests.helpers.exercise_walk import ALL


def rms_norm(hidden, gain, bias):
    return torch.nn.functional.rms_norm(hidden, hidden.shape[-1:], gain, eps=1e-5) + bias


def test_rms_norm_is_recognised():
    assert "This is RMSNorm" in repr(ALL["layer_norm"].check(rms_norm))
