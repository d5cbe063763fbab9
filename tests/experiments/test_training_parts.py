"""What experiments change about training: Muon against PyTorch's own, the line to 0, settings."""

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from experiments.muon import Muon, MuonAndAdam, orthogonal
from experiments.training_parts import FAST, FAST_PARTS, Parts, changed, find, linear_decay_rate
from transformer.config import ModelConfig, TrainingConfig
from transformer.data.batches import Example, TokenBudgetBatches
from transformer.model import Transformer
from transformer.recipes.named import find_recipe
from transformer.support.errors import UserError
from transformer.training.loop import train
from transformer.training.schedule import learning_rate

COUNTS = st.integers(1, 100_000)
DEMO = find_recipe("demo")


def network(**changes: Any) -> Transformer:
    torch.manual_seed(1)
    shape = {"d_model": 12, "d_ff": 20, "num_heads": 2, "num_layers": 2, "pre_norm": True}
    types = 23 if changes.get("tie_source_target", True) else 29
    config = ModelConfig(**shape | changes)
    return Transformer(config, src_vocab_size=23, tgt_vocab_size=types)


def made(model: nn.Module, factor: float = 1.0) -> MuonAndAdam:
    return MuonAndAdam(model, TrainingConfig(), rate_factor=factor)


@pytest.mark.parametrize("tied", [True, False])
def test_muon_has_the_hidden_matrices_and_adam_all_else(tied: bool) -> None:
    model = network(tie_source_target=tied, tie_softmax=tied)
    name_of = {id(each): name for name, each in model.named_parameters()}
    adams, muons = (
        {name_of[id(each)] for each in group["params"]} for group in made(model).param_groups
    )
    assert adams | muons == set(name_of.values())
    assert not adams & muons
    assert all(name.startswith(("encoder.", "decoder.")) for name in muons)
    assert len(muons) == 2 * (4 + 2) + 2 * (4 + 4 + 2)  # projections, and two of feed-forward
    assert ("output.weight" in adams) == (not tied)
    groups = made(model, factor=2.0).param_groups
    assert [group.get("rate_factor") for group in groups] == [None, 2.0]


def test_muon_learns_and_goes_on_as_if_never_stopped(tmp_path: Path) -> None:
    sentences = [Example([4 + (i + j) % 19 for j in range(5)], [4 + i % 19]) for i in range(40)]
    batches = TokenBudgetBatches(sentences, 60)
    config = TrainingConfig(steps=12, learning_rate=0.01, validate_every=4, average_last=1)
    losses: list[float] = []

    def run(name: str, **options: Any) -> Transformer:
        options |= {"optimizer": made, "on_report": lambda report: losses.append(report.loss)}
        model, held_out = network(), list(batches.epoch(0))
        train(model, config, batches, held_out, tmp_path / name, d_model=12, **options)
        return model

    whole = run("whole")
    assert losses[-1] < losses[0]
    run("cut", stop_after=7)
    gone_on = run("cut", resume=True)
    pairs = zip(whole.parameters(), gone_on.parameters(), strict=True)
    assert all(torch.equal(one, other) for one, other in pairs)


def test_linear_decay_by_hand() -> None:
    # d_model 16, warm-up 4: the same peak, 1/8, at step 4; then a fifth of it less each step.
    rates = [linear_decay_rate(step, 9, 16, 4) for step in range(1, 10)]
    wanted = [1 / 32, 2 / 32, 3 / 32, 5 / 40, 4 / 40, 3 / 40, 2 / 40, 1 / 40, 0]
    assert rates == pytest.approx(wanted, abs=1e-15)
    assert rates[-1] == 0
    assert linear_decay_rate(6, 9, 16, 4, factor=2) == pytest.approx(6 / 40)
    with pytest.raises(UserError, match="warmup_steps 5 leave no step to decay: give under 5"):
        linear_decay_rate(3, 5, 16, 5)
    with pytest.raises(UserError, match="step is 7, and the rate falls to 0 at 6"):
        linear_decay_rate(7, 6, 16, 5)


@given(warmup_steps=COUNTS, falling=COUNTS, place=st.floats(0, 1))
def test_linear_decay_rises_as_the_papers(warmup_steps: int, falling: int, place: float) -> None:
    step = max(1, round(place * warmup_steps))
    rate = linear_decay_rate(step, warmup_steps + falling, 7, warmup_steps)
    assert rate == learning_rate(step, 7, warmup_steps)


def test_settings_go_to_the_recipe_or_to_the_parts() -> None:
    recipe, parts = changed(DEMO, {"steps": "300", "decay": "linear", "cooccurrence_start": "true"})
    assert recipe == DEMO.override({"steps": "300"})
    assert (parts.decay, parts.optimizer, parts.cooccurrence_start) == ("linear", "adam", True)
    options = parts.options(recipe)
    assert sorted(options) == ["rate", "start"]
    assert options["rate"](300) == 0
    assert Parts().options(DEMO) == {}
    assert sorted(FAST_PARTS.options(FAST)) == ["optimizer", "rate", "start"]
    assert find("multi30k-de-en-fast") == (FAST, FAST_PARTS)
    assert find("demo") == (DEMO, Parts())


def test_parts_that_cannot_be() -> None:
    for settings, message in (
        ({"decay": "lineal"}, "unknown decay 'lineal': did you mean 'linear'?"),
        ({"muon_rate_factor": "2"}, "muon_rate_factor has no effect on adam: leave it out"),
        ({"muon_rate_factor": "0"}, "muon_rate_factor is 0.0: give a number above 0"),
        ({"decay": "linear", "learning_rate": "0.001"}, "learning_rate 0.001: give it or decay="),
        ({"decay": "linear", "steps": "7", "warmup_steps": "7"}, "warmup_steps 7 leave no step"),
    ):
        with pytest.raises(UserError, match=f"^{re.escape(message)}"):  # noqa: PT012
            recipe, parts = changed(DEMO, settings)
            parts.options(recipe)
    with pytest.raises(UserError, match="no matrix between hidden layers: take optimizer=adam"):
        made(nn.Embedding(3, 5))


@pytest.mark.skipif(not hasattr(torch.optim, "Muon"), reason="PyTorch below 2.9")
def test_muon_is_pytorchs() -> None:
    torch.manual_seed(1)
    shapes = [(7, 13), (13, 7), (7, 13), (11, 11)]
    ours, theirs = ([nn.Parameter(torch.full(shape, 0.5)) for shape in shapes] for _ in range(2))
    mine = Muon(ours, precision=torch.bfloat16)
    other = torch.optim.Muon(theirs, weight_decay=0.0, adjust_lr_fn="match_rms_adamw")
    for rate in (0.1, 0.05, 0.2):
        for one, another in zip(ours, theirs, strict=True):
            one.grad = torch.randn_like(one)
            another.grad = one.grad.clone()
        for optimizer in (mine, other):
            optimizer.param_groups[0]["lr"] = rate
            optimizer.step()
    for one, another in zip(ours, theirs, strict=True):
        # bfloat16 has three digits; in stacks the sums have another order.
        assert (one - another).abs().max() < 0.02 * (another - 0.5).abs().max()
    assert list(mine.state[ours[0]]) == list(other.state[theirs[0]])  # a checkpoint's keys
    buffers = (each["momentum_buffer"] for each in (mine.state[ours[0]], other.state[theirs[0]]))
    torch.testing.assert_close(*buffers)


@pytest.mark.parametrize("shape", [(3, 7, 13), (3, 13, 7), (3, 5, 5)])
def test_singular_values_come_near_one_and_vectors_stay(shape: tuple[int, ...]) -> None:
    torch.manual_seed(2)
    matrices = torch.randn(shape) * torch.tensor([1.0, 50.0, 0.01])[:, None, None]
    near = orthogonal(matrices)
    assert near.shape == matrices.shape
    values = torch.linalg.svdvals(near)
    assert values.min() > 0.4
    assert values.max() < 1.3
    # U^T near V is diagonal if the vectors are still those of the matrix.
    left, _, right = torch.linalg.svd(matrices, full_matrices=False)
    turned = left.mT @ near @ right.mT
    assert (turned - torch.diag_embed(turned.diagonal(dim1=1, dim2=2))).abs().max() < 1e-4


def test_a_step_by_hand() -> None:
    # Of one number the singular value is its size: 1, and 5 times the polynomial after that.
    value = 1.0
    for _ in range(5):
        value = 3.4445 * value - 4.7750 * value**3 + 2.0315 * value**5
    number = nn.Parameter(torch.tensor([[3.0]]))
    muon = Muon([number])
    muon.param_groups[0]["lr"] = 0.1
    number.grad = torch.tensor([[-8.0]])
    muon.step()
    assert number.item() == pytest.approx(3.0 + 0.1 * 0.2 * value, rel=1e-5)
    # Momentum is 0.05 of the gradient so far; nothing moves without one.
    assert muon.state[number]["momentum_buffer"].item() == pytest.approx(-0.4)
    before, number.grad = number.item(), None
    muon.step()
    assert number.item() == before
    number.grad, muon.state[number]["momentum_buffer"] = torch.zeros(1, 1), torch.zeros(1, 1)
    muon.step()
    assert number.item() == before  # nor with one of zero
