"""Growth is told as multiples of the first point; memory is what autograd keeps."""

import pytest
import torch
from torch import nn

from experiments.bench import growth


def test_what_is_kept_by_hand() -> None:
    first, second = nn.Linear(7, 5, bias=False), nn.Linear(5, 3, bias=False)
    model = nn.Sequential(first, nn.Sigmoid(), second)
    given = torch.randn(11, 7)
    # the first product keeps what it is given, the sigmoid what it gives, and so does the second
    # product, of which it is the same tensor; the weights are there anyway
    assert growth.bytes_kept(model, lambda: model(given)) == 4 * 11 * (7 + 5)


def test_points_of_an_axis() -> None:
    done: list[str] = []
    points = [
        (value, {"length": value, "batch": 3, "vocabulary": 53, "depth": 1}) for value in (5, 7, 11)
    ]
    first, second, third = growth.along(points, done.append, "length")
    assert [row["value"] for row in (first, second, third)] == [5, 7, 11]
    assert first["times_the_first"] == first["multiplications_times_the_first"] == 1
    assert 7 / 5 < second["multiplications_times_the_first"] < (7 / 5) ** 2
    for row in (first, second):
        assert row["straight_line_bytes"] == row["kept_bytes"] > 0
    step = (second["kept_bytes"] - first["kept_bytes"]) / 2
    assert third["straight_line_bytes"] == round(first["kept_bytes"] + 6 * step)
    low, high = third["lowest_and_highest"]
    assert 0 < low <= third["seconds"] <= high
    assert len(done) == 3 * (1 + growth.ROUNDS)


@pytest.mark.parametrize("axis", list(growth.AXES))
def test_an_axis_passes_through_the_middle(axis: str) -> None:
    assert growth.MIDDLE[axis] in growth.AXES[axis]
    assert list(growth.AXES[axis]) == sorted(set(growth.AXES[axis]))
