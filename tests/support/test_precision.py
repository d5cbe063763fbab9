"""What is said of bfloat16 is what this machine's clock says."""

import pytest
import torch

from transformer.support import precision
from transformer.support.clock import cpu_seconds


@pytest.mark.parametrize("short", [0.5, 2.0])
def test_the_faster_of_two_products(monkeypatch: pytest.MonkeyPatch, short: float) -> None:
    def seconds(product: object, rounds: int) -> float:
        made = product()  # type: ignore[operator]
        return short if made.dtype == torch.bfloat16 else 1.0

    monkeypatch.setattr(precision, "cpu_seconds", seconds)
    precision._is_faster_on_this_cpu.cache_clear()
    assert precision.bfloat16_is_faster(torch.device("cpu")) == (short < 1)
    precision._is_faster_on_this_cpu.cache_clear()


def test_a_gpu_is_believed() -> None:
    assert precision.bfloat16_is_faster(torch.device("cuda"))


def test_a_longer_product_takes_longer() -> None:
    small, large = torch.rand(8, 8), torch.rand(512, 512)
    assert 0 < cpu_seconds(lambda: small @ small) < cpu_seconds(lambda: large @ large)
