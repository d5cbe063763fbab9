from collections.abc import Callable

import pytest
import torch
from torch.optim import SGD

from attention_laws import Adapter, Verdict
from attention_laws.laws import learning
from lessonkit.museum.faults import FAULTS, switch_on
from tests.attention_laws.trying import same, small, state, tried
from transformer.model import Transformer

NAMES = [law.name for law in learning.LAWS]
BATCH, COPY, BACK = NAMES


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small models learn sooner than others."""
    monkeypatch.setattr(learning, "STEPS", 200)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_sound_model_learns_and_is_left_as_it_was(name: str) -> None:
    adapter = small(pre_norm=True, d_model=32)
    before = state(adapter)
    line = tried(adapter, name, minute=True)
    assert line.verdict == Verdict.KEPT
    assert "at a rate of 0.0028" in line.seen
    assert same(before, state(adapter))


def cut_off(model: Transformer) -> None:
    """Let cross-attention read a memory of zeros."""
    encode = model.encode
    model.encode = lambda src, mask: encode(src, mask) * 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "name"),
    [(lambda model: switch_on(model, next(iter(FAULTS))), BACK), (cut_off, COPY)],
)
def test_what_cannot_be_seen_cannot_be_learned(
    fault: Callable[[Transformer], None], name: str
) -> None:
    adapter = small(d_model=32)
    assert isinstance(adapter.module, Transformer)
    fault(adapter.module)
    line = tried(adapter, name, minute=True)
    assert line.verdict == Verdict.BROKEN
    assert f"after {learning.STEPS} steps" in line.seen


def still(adapter: Adapter) -> Adapter:
    """An adapter whose step does nothing."""
    return adapter.replace(train_step=lambda *batch: 0.0)


def test_weights_that_hardly_move_tell_nothing() -> None:
    line = tried(still(small()), BATCH, minute=True)
    assert line.verdict == Verdict.NOT_TRIED
    assert "the weights moved by 0.0%" in line.seen


def test_few_steps_tell_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "SECONDS", 0.0)
    line = tried(still(small()), BATCH, minute=True)
    assert line.verdict == Verdict.NOT_TRIED
    assert "steps in 0 s are too few to tell" in line.seen


@pytest.mark.slow
def test_at_a_rate_of_its_own_a_model_is_warned_of_at_most() -> None:
    adapter = small(d_model=32)
    assert isinstance(adapter.module, Transformer)
    model, loss = adapter.module, adapter.loss
    assert loss is not None
    fast = SGD(model.parameters(), lr=30.0)

    def step(src: torch.Tensor, tgt_in: torch.Tensor, tgt_out: torch.Tensor) -> float:
        fast.zero_grad()
        found = loss(model(src, tgt_in), tgt_out)
        found.backward()
        fast.step()
        return float(found.detach())

    line = tried(adapter.replace(train_step=step, optimizer=fast), COPY, minute=True)
    assert line.verdict == Verdict.WARNED
    assert "at its own rate" in line.seen
