"""Operations, bytes, rooflines and the exchange of gradients, by hand."""

import pytest

from lessonkit.analysis import roofline
from transformer.support.errors import UserError


def test_costs_intensity_and_roof_by_hand() -> None:
    costs = [
        roofline.training_flops(hours, 8, roofline.SUSTAINED_FLOPS_BY_GPU["P100"])
        for hours in (12, 3.5 * 24)
    ]
    assert [f"{cost:.1e}" for cost in costs] == ["3.3e+18", "2.3e+19"]  # Table 2
    # 3 vectors of width 5: 150 operations; 15 + 25 + 15 numbers.
    assert roofline.matmul_flops(3, 5) == 150
    assert roofline.arithmetic_intensity(3, 5) == pytest.approx(150 / (4 * 55))
    assert roofline.arithmetic_intensity(3, 5, number_bytes=2) == pytest.approx(150 / (2 * 55))
    toy = roofline.Machine("toy", flops=60.0, bandwidth=4.0)
    assert [roofline.attainable_flops(toy, each) for each in (1, 15, 16)] == [4, 60, 60]


def test_an_exchange_by_hand() -> None:
    # Of 3 numbers each of 3 machines sends a third, 4 bytes, four times: at 3 bytes a second.
    assert roofline.all_reduce_seconds(3, 3, 3.0) == pytest.approx(4 * 4 / 3)
    assert roofline.all_reduce_seconds(10**9, 1, 0.0) == 0
    with pytest.raises(UserError, match="2 machines and a link of 0 bytes/s: give a faster link"):
        roofline.all_reduce_seconds(10**9, 2, 0)
