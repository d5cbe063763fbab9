"""The device."""

import torch

from transformer.support.machine import pick_device


def test_the_device_is_a_gpu_only_if_there_is_one() -> None:
    assert pick_device().type == ("cuda" if torch.cuda.is_available() else "cpu")
