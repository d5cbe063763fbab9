"""What machines can do: by hand, by the paper's own figures, and by a ring that exchanges."""

import pytest
import torch

from lessonkit.analysis.machines import (
    MACHINES,
    SUSTAINED,
    Machine,
    attainable,
    exchange_seconds,
    intensity,
    product_flops,
    product_seconds,
    this_machine,
    training_cost,
)
from transformer.support.errors import UserError

TOY = Machine("toy", flops=60.0, bandwidth=4.0, link=3.0)


def test_the_papers_costs_come_out() -> None:
    base = training_cost(12, 8, SUSTAINED["P100"])
    big = training_cost(3.5 * 24, 8, SUSTAINED["P100"])
    assert (f"{base:.1e}", f"{big:.1e}") == ("3.3e+18", "2.3e+19")  # Table 2


def test_intensity_by_hand() -> None:
    # 3 vectors of width 5: 150 operations; 15 + 25 + 15 numbers.
    assert product_flops(3, 5) == 150
    assert intensity(3, 5) == pytest.approx(150 / (4 * 55))
    assert intensity(3, 5, number_bytes=2) == pytest.approx(150 / (2 * 55))
    assert intensity(1, 4096) == pytest.approx(0.5, rel=1e-3)  # a number is read for two of them


def test_the_roof_rises_then_is_flat() -> None:
    assert [attainable(TOY, each) for each in (1, 15, 16)] == [4, 60, 60]


@pytest.mark.parametrize("machines", [2, 3, 5, 7])
def test_a_ring_sends_what_is_reckoned(machines: int) -> None:
    """Every machine sends a part of the sum to the next, until all have all of it."""
    parts = 1
    numbers = [[machines**rank] * machines for rank in range(machines)]
    sent = 0
    for turn in range(2 * (machines - 1)):
        moving = [(rank, (rank - turn) % machines) for rank in range(machines)]
        values = [numbers[rank][part] for rank, part in moving]
        for (rank, part), value in zip(moving, values, strict=True):
            there = (rank + 1) % machines
            first_round = turn < machines - 1
            numbers[there][part] = value + numbers[there][part] * first_round
        sent += parts
    total = sum(machines**rank for rank in range(machines))
    assert numbers == [[total] * machines] * machines
    expected = 4 * sent * 1.0 / 3.0  # so many parts of one number each, at 3 bytes a second
    assert exchange_seconds(machines, machines, 3.0) == pytest.approx(expected)


def test_one_machine_exchanges_nothing_and_several_need_a_link() -> None:
    assert exchange_seconds(10**9, 1, 0.0) == 0
    with pytest.raises(UserError, match="2 machines and a link of 0 bytes/s: give a faster link"):
        exchange_seconds(10**9, 2, 0)


def test_this_machine_is_measured() -> None:
    here = this_machine()
    assert here.flops > 1e8
    assert here.bandwidth > 1e8
    assert here.link == 0
    assert product_seconds(3, 7, calls=2) > 0
    assert product_seconds(3, 7, torch.bfloat16, calls=2) > 0


def test_machines_have_names_of_their_own_and_links() -> None:
    assert len({each.name for each in MACHINES}) == len(MACHINES)
    assert all(each.link > 0 for each in MACHINES)
