"""Muon against PyTorch's own, and by hand."""

import pytest
import torch
from torch import nn

from experiments.muon import Muon, orthogonal


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


def test_a_gradient_of_zero_moves_nothing() -> None:
    matrix = nn.Parameter(torch.ones(2, 3))
    muon = Muon([matrix])
    muon.param_groups[0]["lr"] = 0.1
    matrix.grad = torch.zeros(2, 3)
    muon.step()
    assert torch.equal(matrix, torch.ones(2, 3))
