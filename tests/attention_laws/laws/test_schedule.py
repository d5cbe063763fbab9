import itertools
from collections.abc import Callable
from typing import Any

import pytest
from torch import Tensor
from torch.optim import Adam
from torch.optim.lr_scheduler import LambdaLR

from attention_laws import Adapter, Verdict
from tests.attention_laws.trying import setup, small, tried
from transformer.training.schedule import learning_rate

POSITIVE, PAPER, USED = "rate_above_zero", "schedule_of_paper", "rates_used"


@pytest.mark.parametrize("warmup_steps", [1, 2, 7, 4000])
def test_the_papers_schedule_is_known_for_any_warmup(warmup_steps: int) -> None:
    rate = lambda step: 2 * learning_rate(step, 16, warmup_steps)  # noqa: E731
    line = tried(small().replace(schedule=rate, warmup_steps=warmup_steps), PAPER)
    assert line.verdict == Verdict.KEPT
    assert line.seen.endswith("times 2")


@pytest.mark.parametrize(
    ("rate", "verdict"),
    [
        (lambda step: 1e-3, Verdict.KEPT),
        (lambda step: (step - 1) * 1e-3, Verdict.WARNED),
        (lambda step: 0.0, Verdict.BROKEN),
        (lambda step: 1e-3 - step * 1e-4, Verdict.BROKEN),
        (lambda step: float("nan"), Verdict.BROKEN),
    ],
)
def test_a_rate_is_above_zero(rate: Callable[[int], float], verdict: Verdict) -> None:
    assert tried(small().replace(schedule=rate), POSITIVE).verdict == verdict


def scheduled(adapter: Adapter, rate: Callable[[int], float], *, steps: int = 1) -> Adapter:
    """The adapter with a scheduler of torch, stepped after each update.

    Args:
        adapter: Its model and loss.
        rate: `rate(count)`, the count from 0, as LambdaLR has it.
        steps: How often it is stepped for each update.
    """
    model: Any = adapter.module
    loss: Any = adapter.loss
    optimizer = Adam(model.parameters(), lr=1.0)
    scheduler = LambdaLR(optimizer, rate)

    def step(src: Tensor, tgt_in: Tensor, tgt_out: Tensor) -> float:
        optimizer.zero_grad()
        found = loss(model(src, tgt_in), tgt_out)
        found.backward()
        optimizer.step()
        for _ in range(steps):
            scheduler.step()
        return float(found.detach())

    return adapter.replace(optimizer=optimizer, train_step=step, stateful=(scheduler,))


def papers(step: int) -> float:
    return learning_rate(step, 16, 40)


def test_a_scheduler_that_is_stepped_after_the_update_is_right() -> None:
    """It leaves the next step's rate behind; what counts is what the update is made with."""
    adapter = scheduled(small(), lambda count: papers(count + 1))
    for _ in range(2):  # the scheduler is put back, so that the second time it begins anew
        assert tried(adapter, USED).verdict == Verdict.KEPT


def test_other_rates_than_were_asked_for_are_found() -> None:
    for adapter in (
        scheduled(small(), lambda count: papers(max(count, 1))),  # the first twice
        scheduled(small(), lambda count: papers(count + 2)),  # a step ahead
        scheduled(small(), lambda count: papers(count + 1), steps=0),  # never stepped
    ):
        line = tried(adapter, USED)
        assert line.verdict == Verdict.BROKEN
        assert line.seen.startswith("steps 1, 2, ... are made at")


def counting(start: int) -> Adapter:
    """A step that counts where nobody can see it."""
    own = setup()
    adapter = own.adapter()
    counts = itertools.count(start)
    own.updates = lambda: next(counts)
    return adapter


def test_a_count_that_cannot_be_seen_is_warned_of_where_it_began_before() -> None:
    assert tried(counting(0), USED).verdict == Verdict.KEPT
    line = tried(counting(7), USED)
    assert line.verdict == Verdict.WARNED
    assert "right if 7 steps were made before" in line.seen


def test_steps_go_on_where_a_trained_model_is() -> None:
    own = setup()
    adapter = own.adapter()
    for _ in range(3):
        own.train_step(*own.make_batch([[5, 6]], [[7, 8]]))
    assert tried(adapter, USED).seen == "5 steps are made at the rates of steps 4 to 8"
