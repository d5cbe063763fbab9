"""The clock, a step's kinds of work, and what machines can do: by hand, and by a ring."""

import contextlib
from typing import Any

import pytest
import torch

from lessonkit.analysis.machines import (
    KINDS,
    REST,
    SUSTAINED,
    Machine,
    Timed,
    attainable,
    cpu_seconds,
    exchange_seconds,
    intensity,
    one_thread,
    product_flops,
    product_seconds,
    shares,
    this_machine,
    training_cost,
)
from transformer.config import ModelConfig, TrainingConfig
from transformer.data.batches import Batch
from transformer.model import Transformer
from transformer.support.errors import UserError
from transformer.training.loss import batch_loss


def test_the_papers_costs_come_out() -> None:
    costs = [training_cost(hours, 8, SUSTAINED["P100"]) for hours in (12, 3.5 * 24)]
    assert [f"{cost:.1e}" for cost in costs] == ["3.3e+18", "2.3e+19"]  # Table 2


def test_intensity_and_roof_by_hand() -> None:
    # 3 vectors of width 5: 150 operations; 15 + 25 + 15 numbers.
    assert product_flops(3, 5) == 150
    assert intensity(3, 5) == pytest.approx(150 / (4 * 55))
    assert intensity(3, 5, number_bytes=2) == pytest.approx(150 / (2 * 55))
    toy = Machine("toy", flops=60.0, bandwidth=4.0)
    assert [attainable(toy, each) for each in (1, 15, 16)] == [4, 60, 60]


def test_a_ring_sends_what_is_reckoned() -> None:
    """Every machine sends a part of the sum to the next, until all have all of it."""
    for machines in (2, 3, 5):
        numbers = [[machines**rank] * machines for rank in range(machines)]
        turns = 2 * (machines - 1)
        for turn in range(turns):
            moving = [(rank, (rank - turn) % machines) for rank in range(machines)]
            values = [numbers[rank][part] for rank, part in moving]
            for (rank, part), value in zip(moving, values, strict=True):
                there = (rank + 1) % machines
                first_round = turn < machines - 1
                numbers[there][part] = value + numbers[there][part] * first_round
        total = sum(machines**rank for rank in range(machines))
        assert numbers == [[total] * machines] * machines
        # in each turn a part of one number, of 4 bytes, at 3 bytes a second
        assert exchange_seconds(machines, machines, 3.0) == pytest.approx(4 * turns / 3)
    assert exchange_seconds(10**9, 1, 0.0) == 0
    with pytest.raises(UserError, match="2 machines and a link of 0 bytes/s: give a faster link"):
        exchange_seconds(10**9, 2, 0)


def test_this_machine_is_measured() -> None:
    here = this_machine()
    assert min(here.flops, here.bandwidth) > 1e8
    assert product_seconds(3, 7, torch.bfloat16, calls=2) > 0


def test_one_thread_is_given_back() -> None:
    before = torch.get_num_threads()
    with contextlib.suppress(KeyError), one_thread():
        assert torch.get_num_threads() == 1
        raise KeyError
    assert torch.get_num_threads() == before


def test_the_clock_leaves_the_first_call_out() -> None:
    calls: list[int] = []
    assert cpu_seconds(lambda: calls.append(1), rounds=3) >= 0
    assert len(calls) == 4


def test_operations_are_timed_by_kind_and_seen_whole() -> None:
    seen: list[tuple[str, Any, Any]] = []

    def kind_of(name: str, values: Any) -> str:
        seen.append((name, *values))
        return name.removeprefix("aten::")

    left, right = torch.ones(3, 2), torch.ones(2, 5)
    with Timed(kind_of) as timed:
        (left @ right).neg()
    (name, given, gave), _ = seen
    assert (name, given[0] is left, gave.shape) == ("aten::mm", True, (3, 5))
    assert timed.seconds.keys() == {"mm", "neg"}


def test_shares_are_of_one_whole_and_the_step_is_made() -> None:
    shape = ModelConfig(d_model=12, d_ff=17, num_heads=3, num_layers=1)
    model = Transformer(shape, src_vocab_size=23, tgt_vocab_size=23)
    tgt = torch.randint(4, 23, (3, 7))
    made: list[float] = []

    def step() -> None:
        sums = batch_loss(model, Batch(tgt, tgt, tgt), TrainingConfig())
        sums.loss.backward()
        made.append(float(sums.nll))

    found = shares(step, steps=2)
    assert len(made) == 3  # one before the clock runs
    assert list(found) == [*KINDS, REST]
    assert sum(found.values()) == pytest.approx(1)
    assert all(found[name] > 0 for name in ("products", "attention", "loss", "norm", REST))
    assert found["Adam"] == 0
    large, small = torch.randn(700, 700), torch.randn(3)
    assert shares(lambda: (large @ large, small + small), steps=2)["products"] > 0.9
