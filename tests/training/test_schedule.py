"""The learning rate: the paper's figures, by hand; test_values has what is refused."""

import pytest

from transformer.training.schedule import learning_rate


def test_by_hand() -> None:
    # d_model 16, warm-up 4: rises as step / (4 * 8), then falls as 1 / (4 * sqrt(step))
    rates = [learning_rate(step, 16, 4) for step in (1, 2, 4, 16, 100)]
    assert rates == pytest.approx([1 / 32, 2 / 32, 1 / 8, 1 / 16, 1 / 40])
