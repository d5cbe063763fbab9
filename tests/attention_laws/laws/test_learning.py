"""Training steps: gradients, learning rates, and what can be learned."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.optim import SGD, Adam
from torch.optim.lr_scheduler import LambdaLR

from attention_laws import Adapter
from attention_laws.law import laws_in_modules
from attention_laws.laws import learning
from lessonkit.museum.trainable import add_faults_to_model
from tests.attention_laws.one_law import expect, small_adapter, small_setup
from transformer.training.schedule import learning_rate


def stepping(adapter: Adapter, **changes: Any) -> Adapter:
    """Return the adapter with another `optimizer`, or `before` and `after` called around a step."""
    model, loss = adapter.module, adapter.loss
    optimizer = changes.get("optimizer") or Adam(model.parameters(), lr=1e-3)
    before = changes.get("before", optimizer.zero_grad)
    after = changes.get("after", lambda: None)

    def step(src: Tensor, tgt_in: Tensor, tgt_out: Tensor) -> float:
        before()
        value = loss(model(src, tgt_in), tgt_out)
        value.backward()
        optimizer.step()
        after()
        return float(value.detach())

    return adapter.replace(optimizer=optimizer, train_step=step)


def test_every_parameter_gets_a_gradient() -> None:
    at_zero, frozen = small_adapter(), small_adapter()
    # If the last matrix of each branch starts at zero, those before it get no gradient at first.
    for layer in at_zero.module.encoder.layers:
        nn.init.zeros_(layer.feed_forward.outer.weight)
    expect(at_zero, "gradients_reach_all_parameters", "kept")
    frozen.module.src_embedding.requires_grad_(False)
    expect(frozen, "gradients_reach_all_parameters", "kept")
    frozen.module.requires_grad_(False)
    expect(frozen, "gradients_reach_all_parameters", "not tried")


def test_an_optimizer_holds_this_model_and_moves_all_of_it() -> None:
    adapter = small_adapter()
    own = list(adapter.module.parameters())
    both = Adam([*own, *small_setup(1).model.parameters()], lr=1e-3)
    expect(stepping(adapter, optimizer=both), "optimizer_holds_all_parameters", "warned")
    # At the first steps of a long warm-up a scale of 1 does not move by its last digit.
    expect(
        stepping(adapter, optimizer=Adam(own, lr=2e-8)), "train_step_updates_all_weights", "kept"
    )


def test_gradients_are_zeroed_before_or_after_a_step() -> None:
    adapter = small_adapter()
    model = adapter.module
    optimizer = Adam(model.parameters(), lr=1e-3)

    def clip(*_: object) -> None:
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)

    optimizer.register_step_pre_hook(clip)
    behind = stepping(adapter, optimizer=optimizer, before=lambda: None)
    expect(behind, "gradients_are_zeroed_between_steps", "broken")
    after = stepping(small_adapter(), before=lambda: None)
    after = stepping(after, before=lambda: None, after=after.module.zero_grad)
    expect(after, "gradients_are_zeroed_between_steps", "kept")
    expect(after.replace(optimizer=None), "gradients_are_zeroed_between_steps", "not tried")


def test_a_step_that_draws_random_numbers_itself_is_not_compared() -> None:
    generator, adapter = torch.Generator().manual_seed(0), small_adapter()
    loss: Any = adapter.loss

    def noisy(logits: Tensor, tgt_out: Tensor) -> Tensor:
        return loss(logits, tgt_out) * (1 + torch.rand((), generator=generator))

    expect(stepping(adapter.replace(loss=noisy)), "gradients_are_zeroed_between_steps", "not tried")


def test_a_step_that_does_not_set_the_mode_is_warned_of() -> None:
    # Whoever calls it sets the mode.
    expect(stepping(small_adapter()), "train_step_runs_in_train_mode", "warned")


POSITIVE, PAPER, USED = (
    "learning_rate_is_positive",
    "schedule_matches_paper",
    "steps_use_scheduled_learning_rate",
)


def test_a_multiple_of_the_papers_schedule_is_recognized_for_any_warmup() -> None:
    for warmup in (1, 2, 7, 4000):
        rate = lambda step, warmup=warmup: 2 * learning_rate(step, 16, warmup)  # noqa: E731
        expect(
            small_adapter().replace(schedule=rate, warmup_steps=warmup), PAPER, "kept", "times 2"
        )


def test_learning_rates_of_zero_and_nan_are_found() -> None:
    rates: list[tuple[Callable[[int], float], str]] = [
        (lambda step: 1e-3, "kept"),
        (lambda step: (step - 1) * 1e-3, "warned"),
        (lambda step: float("nan"), "broken"),
    ]
    for rate, verdict in rates:
        expect(small_adapter().replace(schedule=rate), POSITIVE, verdict)


def scheduled(adapter: Adapter, rate: Callable[[int], float]) -> Adapter:
    """Return the adapter with a LambdaLR stepped after each update; `rate` counts from 0."""
    optimizer = Adam(adapter.module.parameters(), lr=1.0)
    scheduler = LambdaLR(optimizer, rate)
    own = stepping(adapter, optimizer=optimizer, after=scheduler.step)
    return own.replace(stateful=(scheduler,))


def paper_rate(step: int) -> float:
    return learning_rate(step, 16, 40)


def test_a_scheduler_stepped_after_the_update_is_right() -> None:
    """It leaves the next step's rate behind; what counts is the rate of the update itself."""
    adapter = scheduled(small_adapter(), lambda count: paper_rate(count + 1))
    # The scheduler is restored, so that the second time it begins anew.
    for _ in range(2):
        expect(adapter, USED, "kept")


def test_rates_that_are_a_step_ahead_are_found() -> None:
    ahead = scheduled(small_adapter(), lambda count: paper_rate(count + 2))
    expect(ahead, USED, "broken")


def test_a_hidden_step_count_that_began_earlier_is_warned_of() -> None:
    for start, verdict, seen in (
        (0, "kept", ""),
        (1, "broken", ""),
        (7, "warned", "7 steps"),
    ):
        own, counts = small_setup(), itertools.count(start)
        adapter = own.to_adapter()
        own.count_updates = lambda counts=counts: next(counts)
        expect(adapter, USED, verdict, seen)


def test_steps_of_a_trained_model_are_counted_on() -> None:
    own = small_setup()
    for _ in range(3):
        own.train_step(*own.make_batch([[5, 6]], [[7, 8]]))
    expect(own.to_adapter(), USED, "kept", "steps 4 to 8")


NAMES = [law.name for law in laws_in_modules(learning)]
BATCH, COPY = "model_can_overfit_a_batch", "model_can_learn_to_copy"
BACK = "model_can_learn_to_look_back"


@pytest.fixture(autouse=True)
def few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small models learn sooner than others."""
    monkeypatch.setattr(learning, "MAX_STEPS", 200)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_sound_model_learns(name: str) -> None:
    expect(small_adapter(pre_norm=True, d_model=32), name, "kept", "0.0028", minute=True)


@pytest.mark.slow
def test_a_model_that_cannot_see_what_it_needs_does_not_learn() -> None:
    back, copy = small_adapter(d_model=32), small_adapter(d_model=32)
    add_faults_to_model(back.module, "self-attention returns its own input")
    encode = copy.module.encode
    copy.module.encode = lambda src, mask: encode(src, mask) * 0  # the memory is zeros
    for adapter, name in ((back, BACK), (copy, COPY)):
        expect(adapter, name, "broken", f"after {learning.MAX_STEPS} steps", minute=True)


def test_weights_that_hardly_move_and_few_steps_prove_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    unmoved = small_adapter().replace(train_step=lambda *batch: 0.0)
    expect(unmoved, BATCH, "not tried", "0.0%", minute=True)
    monkeypatch.setattr(learning, "MAX_SECONDS", 0.0)
    expect(unmoved, BATCH, "not tried", "in 0 s", minute=True)


@pytest.mark.slow
def test_a_model_at_its_own_rate_is_at_most_warned_of() -> None:
    adapter = small_adapter(d_model=32)
    own = stepping(adapter, optimizer=SGD(adapter.module.parameters(), lr=30.0))
    expect(own, COPY, "warned", minute=True)
