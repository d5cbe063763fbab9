import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.support.errors import UserError
from transformer.training.schedule import learning_rate

COUNTS = st.integers(1, 100_000)


def test_the_papers_peak() -> None:
    # d_model 512, 4000 steps of warm-up: 1 / sqrt(512 * 4000) = 6.99e-4
    assert learning_rate(4000, 512, 4000) == pytest.approx(6.9877e-4, rel=1e-4)


def test_by_hand() -> None:
    # d_model 16, warm-up 4: rises as step / (4 * 8), then falls as 1 / (4 * sqrt(step))
    rates = [learning_rate(step, 16, 4) for step in (1, 2, 4, 16, 100)]
    assert rates == pytest.approx([1 / 32, 2 / 32, 1 / 8, 1 / 16, 1 / 40])


@given(step=COUNTS, warmup_steps=COUNTS)
def test_rises_in_proportion_then_falls_with_the_root(step: int, warmup_steps: int) -> None:
    first = learning_rate(1, 7, warmup_steps)
    peak = learning_rate(warmup_steps, 7, warmup_steps)
    rising, falling = step * first, peak * math.sqrt(warmup_steps / step)
    wanted = rising if step <= warmup_steps else falling
    assert learning_rate(step, 7, warmup_steps) == pytest.approx(wanted)


@pytest.mark.parametrize("name", ["step", "d_model", "warmup_steps"])
def test_counts_under_one(name: str) -> None:
    values = {"step": 3, "d_model": 5, "warmup_steps": 7} | {name: 0}
    with pytest.raises(UserError, match=f"{name} is 0: give a number of 1 or more"):
        learning_rate(**values)
