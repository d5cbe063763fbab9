"""The learning rate against the paper's figures and by hand."""

import pytest

from transformer.support.errors import UserError
from transformer.training.schedule import learning_rate


def test_the_papers_peak() -> None:
    # d_model 512, 4000 steps of warm-up: 1 / sqrt(512 * 4000) = 6.99e-4
    assert learning_rate(4000, 512, 4000) == pytest.approx(6.9877e-4, rel=1e-4)


def test_by_hand() -> None:
    # d_model 16, warm-up 4: rises as step / (4 * 8), then falls as 1 / (4 * sqrt(step))
    rates = [learning_rate(step, 16, 4) for step in (1, 2, 4, 16, 100)]
    assert rates == pytest.approx([1 / 32, 2 / 32, 1 / 8, 1 / 16, 1 / 40])


@pytest.mark.parametrize("name", ["step", "d_model", "warmup_steps"])
def test_counts_under_one(name: str) -> None:
    values = {"step": 3, "d_model": 5, "warmup_steps": 7} | {name: 0}
    with pytest.raises(UserError, match=f"{name} is 0: give a number of 1 or more"):
        learning_rate(**values)
