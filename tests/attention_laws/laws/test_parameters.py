from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Adam

from attention_laws import Adapter, Verdict
from tests.attention_laws.trying import setup, small, tried
from transformer.model import Transformer


def model_of(adapter: Adapter) -> Transformer:
    assert isinstance(adapter.module, Transformer)
    return adapter.module


def stepping(adapter: Adapter, **changes: Any) -> Adapter:
    """The adapter with a step of training that a test may change.

    Args:
        adapter: Its model and loss.
        changes: `optimizer`; or `before`, `after`: called without arguments around the step.
    """
    model, loss = model_of(adapter), adapter.loss
    assert loss is not None
    optimizer = changes.get("optimizer") or Adam(model.parameters(), lr=1e-3)
    before = changes.get("before", optimizer.zero_grad)
    after = changes.get("after", lambda: None)

    def step(src: Tensor, tgt_in: Tensor, tgt_out: Tensor) -> float:
        before()
        found = loss(model(src, tgt_in), tgt_out)
        found.backward()
        optimizer.step()
        after()
        return float(found.detach())

    return adapter.replace(optimizer=optimizer, train_step=step)


def test_a_layer_that_is_never_used_is_named() -> None:
    adapter = small()
    model_of(adapter).register_module("unused", nn.Linear(3, 3))
    line = tried(adapter, "gradients_reach")
    assert line.verdict == Verdict.BROKEN
    assert "unused.weight" in line.seen


def test_a_branch_that_begins_at_zero_is_not_cut_off() -> None:
    """As where the last matrix of each branch starts at zero: those before it get none at first."""
    adapter = small()
    for layer in model_of(adapter).encoder.layers:
        nn.init.zeros_(layer.feed_forward.outer.weight)
    assert tried(adapter, "gradients_reach").verdict == Verdict.KEPT


def test_frozen_parameters_need_no_gradient() -> None:
    adapter = small()
    model_of(adapter).src_embedding.requires_grad_(False)
    assert tried(adapter, "gradients_reach").verdict == Verdict.KEPT
    model_of(adapter).requires_grad_(False)
    assert tried(adapter, "gradients_reach").verdict == Verdict.NOT_TRIED


def test_an_optimizer_of_two_models_is_warned_of() -> None:
    adapter = small()
    both = [*model_of(adapter).parameters(), *setup(1).model.parameters()]
    line = tried(stepping(adapter, optimizer=Adam(both, lr=1e-3)), "optimizer_holds")
    assert line.verdict == Verdict.WARNED


def test_a_rate_of_zero_moves_nothing() -> None:
    adapter = small()
    still = Adam(model_of(adapter).parameters(), lr=0.0)
    line = tried(stepping(adapter, optimizer=still), "all_move")
    assert line.verdict == Verdict.BROKEN
    assert line.seen.endswith("the optimizer's rate is 0")


def test_a_very_small_rate_still_moves() -> None:
    """At the first steps of a long warm-up a scale of 1 does not move by its last digit."""
    adapter = small()
    slow = Adam(model_of(adapter).parameters(), lr=2e-8)
    assert tried(stepping(adapter, optimizer=slow), "all_move").verdict == Verdict.KEPT


def test_gradients_that_add_up_are_found_behind_clipping() -> None:
    adapter = small()
    model = model_of(adapter)
    optimizer = Adam(model.parameters(), lr=1e-3)

    def clip(*_: object) -> None:
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)

    optimizer.register_step_pre_hook(clip)
    adapter = stepping(adapter, optimizer=optimizer, before=lambda: None)
    assert tried(adapter, "gradient_cleared").verdict == Verdict.BROKEN


def test_gradients_may_be_cleared_after_the_step() -> None:
    adapter = small()
    model = model_of(adapter)
    adapter = stepping(adapter, before=lambda: None, after=model.zero_grad)
    assert tried(adapter, "gradient_cleared").verdict == Verdict.KEPT
    line = tried(adapter.replace(optimizer=None), "gradient_cleared")
    assert line.verdict == Verdict.NOT_TRIED


def test_a_step_that_draws_of_its_own_is_not_compared() -> None:
    adapter = small()
    generator = torch.Generator().manual_seed(0)
    loss = adapter.loss
    assert loss is not None

    def noisy(logits: Tensor, tgt_out: Tensor) -> Tensor:
        return loss(logits, tgt_out) * (1 + torch.rand((), generator=generator))

    line = tried(stepping(adapter.replace(loss=noisy)), "gradient_cleared")
    assert line.verdict == Verdict.NOT_TRIED


def test_a_step_that_ends_in_evaluation_mode_is_found() -> None:
    adapter = small()
    line = tried(stepping(adapter, after=model_of(adapter).eval), "trains_in_training_mode")
    assert line.verdict == Verdict.BROKEN
    assert "50% are in evaluation mode" in line.seen


def test_a_step_that_leaves_the_mode_to_the_caller_is_warned_of() -> None:
    assert tried(stepping(small()), "trains_in_training_mode").verdict == Verdict.WARNED
