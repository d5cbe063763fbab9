"""What is said of bfloat16 is what this machine's clock says."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from transformer.support import precision


@pytest.mark.parametrize("short", [0.5, 2.0])
def test_the_faster_of_two_products(monkeypatch: pytest.MonkeyPatch, short: float) -> None:
    def repeat(product: Callable[[], Tensor], **_: object) -> list[float]:
        return [9.0, short if product().dtype == torch.bfloat16 else 1.0]

    monkeypatch.setattr(precision.timeit, "repeat", repeat)
    precision._is_faster_on_this_cpu.cache_clear()
    assert precision.bfloat16_is_faster(torch.device("cpu")) == (short < 1)
    precision._is_faster_on_this_cpu.cache_clear()


def test_a_gpu_is_believed() -> None:
    assert precision.bfloat16_is_faster(torch.device("cuda"))
