"""Dropout with cheap random numbers does what `nn.Dropout` does."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from transformer.fast_dropout import NUM_16_BIT_VALUES, FastDropout, fast_dropout, use_fast_dropout
from transformer.support.modes import evaluation_mode

SHAPE = (7, 11, 13)  # 1,001 numbers: not a multiple of the four that share a random number


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5, 0.9])
def test_what_is_kept_is_scaled_so_that_the_mean_stays(p: float) -> None:
    torch.manual_seed(1)
    hidden = torch.full((1000, 1000), 3.0)
    dropped = FastDropout(p)(hidden)
    kept = dropped != 0
    share = round((1 - p) * NUM_16_BIT_VALUES) / NUM_16_BIT_VALUES
    assert torch.allclose(dropped[kept], torch.tensor(3.0 / share))
    deviation = math.sqrt(p * (1 - p) / hidden.numel())
    assert abs(kept.double().mean().item() - share) < 5 * deviation


def test_neighbours_are_dropped_independently() -> None:
    torch.manual_seed(2)
    kept = (FastDropout(0.5)(torch.ones(4_000_000)) != 0).double() - 0.5
    for distance in (1, 2, 3, 4, 5, 64):  # four decisions come from one random number
        together = (kept[distance:] * kept[:-distance]).mean().item() * 4
        assert abs(together) < 5 / math.sqrt(len(kept)), distance


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_shape_and_type_stay(dtype: torch.dtype) -> None:
    dropped = FastDropout(0.4)(torch.ones(SHAPE, dtype=dtype))
    assert (dropped.shape, dropped.dtype) == (SHAPE, dtype)


def test_each_of_the_levels_is_used() -> None:
    many = torch.ones(2048, 1024)
    assert torch.equal(FastDropout(1e-6)(many), many)  # rounded to 0: all levels are kept
    torch.manual_seed(6)
    # One level alone: 32 numbers.
    kept = int((FastDropout(1 - 1 / NUM_16_BIT_VALUES)(many) != 0).sum())
    assert 10 < kept < 60


def test_at_the_ends_in_evaluation_and_elsewhere_it_is_pytorchs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hidden = torch.randn(SHAPE)
    assert isinstance(FastDropout(0.1), nn.Dropout)  # found where dropout is looked for
    assert FastDropout(0.4).eval()(hidden) is hidden
    assert FastDropout(1 - 1e-9)(torch.ones(SHAPE)).isfinite().all()
    for p in (0.0, 1.0):
        assert torch.equal(fast_dropout(hidden, p), F.dropout(hidden, p))
    monkeypatch.setattr(F, "dropout", lambda *how: how)
    elsewhere = torch.empty(SHAPE, device="meta")
    assert tuple(fast_dropout(elsewhere, 0.4)) == (elsewhere, 0.4, True)


def test_a_model_is_in_the_mode_that_it_was_in_after_an_error_too() -> None:
    model = nn.Sequential(nn.Linear(3, 5), FastDropout(0.5).eval())
    with pytest.raises(ZeroDivisionError), evaluation_mode(model):
        assert not any(module.training for module in model.modules()) / 0
    assert [module.training for module in model.modules()] == [True, True, False]


def test_every_dropout_of_a_model_is_replaced_and_nothing_else() -> None:
    model = nn.Sequential(nn.Linear(3, 5), nn.Sequential(nn.Dropout(0.4)), nn.Dropout1d(0.3))
    assert use_fast_dropout(model) is model
    assert [type(module) for module in model.modules()] == [
        *(nn.Sequential, nn.Linear, nn.Sequential, FastDropout, nn.Dropout1d)
    ]
    hidden = torch.randn(SHAPE)
    torch.manual_seed(8)
    expected = fast_dropout(hidden, 0.4)
    torch.manual_seed(8)
    assert torch.equal(model[1](hidden), expected)
