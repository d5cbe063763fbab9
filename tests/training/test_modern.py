"""The optimizer and the schedule of after 2017, each by hand."""

from functools import partial

import pytest
import torch
from torch import nn

from transformer.config import TrainingConfig
from transformer.support.errors import UserError
from transformer.training.modern import adamw, warmup_stable_decay_rate

close = partial(torch.testing.assert_close, atol=1e-5, rtol=1e-5)


def test_adamw_lets_matrices_decay_and_nothing_else() -> None:
    model = nn.Sequential(nn.Embedding(5, 3), nn.Linear(3, 2), nn.LayerNorm(2))
    optimizer = adamw(model, TrainingConfig(), weight_decay=0.25)
    before = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    for group in optimizer.param_groups:
        group["lr"] = 0.5
    for weight in model.parameters():
        weight.grad = torch.zeros_like(weight)
    optimizer.step()
    for name, weight in model.named_parameters():
        factor = 1 - 0.5 * 0.25 if weight.ndim == 2 else 1.0
        close(weight.detach(), factor * before[name])


def test_the_rate_rises_stays_and_falls() -> None:
    rates = [warmup_stable_decay_rate(step, 20, 4, 0.8, 0.25) for step in range(1, 21)]
    expected = [0.2, 0.4, 0.6, *[0.8] * 12, 0.64, 0.48, 0.32, 0.16, 0.0]
    assert rates == pytest.approx(expected)


def test_what_cannot_be_is_refused() -> None:
    for steps, message in (((1, 20, 17), "21 steps or more"), ((21, 20, 4), "step is 21")):
        with pytest.raises(UserError, match=message):
            warmup_stable_decay_rate(*steps, peak=0.1)
    with pytest.raises(UserError, match="weight_decay is -1"):
        adamw(nn.Linear(3, 2), TrainingConfig(), -1)
