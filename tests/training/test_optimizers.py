"""Which parameters each optimizer has, and what Muon does to a matrix."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn

from transformer.config import ModelConfig, Optimizer, TrainingConfig
from transformer.data.batches import Example, TokenBudgetBatches
from transformer.model import Transformer
from transformer.support.errors import UserError
from transformer.training.loop import train
from transformer.training.optimizers import make_optimizers, set_rate

MUON = TrainingConfig(optimizer=Optimizer.MUON, muon_rate_factor=2.0)


def network(tied: bool = True) -> Transformer:
    torch.manual_seed(1)
    shape = ModelConfig(
        d_model=12, d_ff=20, num_heads=2, num_layers=2, pre_norm=True, tie_source_target=tied
    )
    return Transformer(shape, src_vocab_size=23, tgt_vocab_size=23 if tied else 29)


def names(model: nn.Module, optimizer: torch.optim.Optimizer) -> set[str]:
    given = {id(each) for group in optimizer.param_groups for each in group["params"]}
    return {name for name, each in model.named_parameters() if id(each) in given}


def test_adam_alone_has_every_parameter() -> None:
    model = network()
    (adam,) = make_optimizers(model, TrainingConfig())
    assert names(model, adam) == {name for name, _ in model.named_parameters()}


@pytest.mark.parametrize("tied", [True, False])
def test_muon_has_the_hidden_matrices_and_adam_all_else(tied: bool) -> None:
    model = network(tied)
    adam, muon = make_optimizers(model, MUON)
    assert names(model, adam) | names(model, muon) == {name for name, _ in model.named_parameters()}
    assert not names(model, adam) & names(model, muon)
    layers = {name for name in names(model, muon) if name.startswith(("encoder.", "decoder."))}
    assert layers == names(model, muon)
    assert len(layers) == 2 * (4 + 2) + 2 * (4 + 4 + 2)  # projections, and two of feed-forward
    kinds = {name.rpartition(".")[0].rpartition(".")[2] for name in names(model, adam)}
    assert {"token", "norm", "inner", "outer"} <= kinds  # of inner and outer the biases


def test_the_softmax_is_adams_where_it_is_not_tied() -> None:
    torch.manual_seed(1)
    shape = ModelConfig(d_model=12, d_ff=20, num_heads=2, num_layers=1, tie_softmax=False)
    model = Transformer(shape, src_vocab_size=23, tgt_vocab_size=23)
    adam, muon = make_optimizers(model, MUON)
    assert "output.weight" in names(model, adam)
    assert "output.weight" not in names(model, muon)


def test_rates_stand_in_the_ratio_that_was_asked_for() -> None:
    optimizers = make_optimizers(network(), MUON)
    set_rate(optimizers, 0.25)
    assert [each.param_groups[0]["lr"] for each in optimizers] == [0.25, 0.5]


def test_muons_step_is_nearly_orthogonal() -> None:
    # Of a gradient whose directions differ in size by 100, all are moved about equally far.
    torch.manual_seed(2)
    model = nn.Sequential(nn.Linear(13, 7, bias=False), nn.LayerNorm(7))
    left, _ = torch.linalg.qr(torch.randn(7, 7))
    right, _ = torch.linalg.qr(torch.randn(13, 7))
    sizes = torch.logspace(0, -2, 7)
    before = model[0].weight.detach().clone()
    model[0].weight.grad = left @ sizes.diag() @ right.T
    optimizers = make_optimizers(model, MUON)
    set_rate(optimizers, 0.01)
    optimizers[1].step()
    moved = torch.linalg.svdvals(before - model[0].weight.detach())
    assert moved.max() / moved.min() < 2
    # 0.2 * sqrt(13) times the rate, 2 * 0.01: what makes its size like that of Adam's updates.
    assert abs(moved.mean().item() / (0.02 * 0.2 * 13**0.5) - 1) < 0.25


def test_muon_learns_and_goes_on_as_if_never_stopped(tmp_path: Path) -> None:
    def run(out: Path, stop_after: int | None = None, resume: bool = False) -> Transformer:
        model = network()
        sentences = [Example([4 + (i + j) % 19 for j in range(5)], [4 + i % 19]) for i in range(40)]
        batches = TokenBudgetBatches(sentences, 60)
        config = TrainingConfig(
            steps=12, learning_rate=0.01, optimizer=Optimizer.MUON, validate_every=4, average_last=1
        )
        train(
            model,
            config,
            batches,
            list(batches.epoch(0)),
            out,
            d_model=12,
            device=torch.device("cpu"),
            resume=resume,
            stop_after=stop_after,
            on_report=lambda report: losses.append(report.loss),
        )
        return model

    losses: list[float] = []
    whole = run(tmp_path / "whole")
    assert losses[-1] < losses[0]
    run(tmp_path / "cut", stop_after=7)
    gone_on = run(tmp_path / "cut", resume=True)
    pairs = zip(whole.parameters(), gone_on.parameters(), strict=True)
    assert all(torch.equal(one, other) for one, other in pairs)


def test_a_model_without_hidden_matrices_has_no_use_for_muon() -> None:
    with pytest.raises(UserError, match="no matrix between hidden layers: take optimizer=adam"):
        make_optimizers(nn.Embedding(3, 5), MUON)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: TrainingConfig(muon_rate_factor=2.0),
        lambda: TrainingConfig(optimizer=Optimizer.MUON, muon_rate_factor=0.0),
    ],
)
def test_settings_that_make_no_sense(wrong: Callable[[], object]) -> None:
    with pytest.raises(UserError, match="muon_rate_factor"):
        wrong()
