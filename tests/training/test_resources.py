"""What is said of bfloat16 is what this machine's clock says."""

import pytest
import torch

from transformer.training import resources


@pytest.mark.parametrize("short", [0.5, 2.0])
def test_the_faster_of_two_products(monkeypatch: pytest.MonkeyPatch, short: float) -> None:
    def seconds(matrix: torch.Tensor) -> float:
        return short if matrix.dtype == torch.bfloat16 else 1.0

    monkeypatch.setattr(resources, "_seconds", seconds)
    resources._is_faster_on_this_cpu.cache_clear()
    assert resources.bfloat16_is_faster(torch.device("cpu")) == (short < 1)
    resources._is_faster_on_this_cpu.cache_clear()


def test_a_gpu_is_believed() -> None:
    assert resources.bfloat16_is_faster(torch.device("cuda"))


def test_a_longer_product_takes_longer() -> None:
    assert 0 < resources._seconds(torch.rand(8, 8)) < resources._seconds(torch.rand(512, 512))
