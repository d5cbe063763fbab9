"""The fused loss, held to its plain form in `loss` and to torch's own."""

import pytest
import torch
from torch import Tensor

from tests.training.test_loss import FORMS, VOCAB, example
from transformer.training.loss import fused_smoothing_loss, label_smoothing_loss

SMOOTHINGS = pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.7])
PADS = pytest.mark.parametrize("pad_id", [0, 4, VOCAB - 1])


def leaf(logits: Tensor) -> Tensor:
    """A copy in double precision, to be differentiated at."""
    return logits.detach().double().requires_grad_()


@FORMS
@SMOOTHINGS
@PADS
def test_equals_the_plain_form(over_all: bool, smoothing: float, pad_id: int) -> None:
    logits, targets = example(pad_id)
    fused_at, plain_at = leaf(logits), leaf(logits)
    options = {"smoothing": smoothing, "pad_id": pad_id, "over_all": over_all}
    loss, nll = fused_smoothing_loss(fused_at, targets, **options)
    plain = label_smoothing_loss(plain_at, targets, **options)
    (3 * loss).backward()
    (3 * plain.loss).backward()
    assert loss.dtype == plain.loss.dtype == torch.float64
    torch.testing.assert_close(loss, plain.loss, rtol=1e-13, atol=0)
    torch.testing.assert_close(nll, plain.nll, rtol=1e-13, atol=0)
    torch.testing.assert_close(fused_at.grad, plain_at.grad, rtol=1e-12, atol=1e-14)


def test_the_gradient_is_given_once() -> None:
    logits, targets = example()
    loss, nll = fused_smoothing_loss(logits.requires_grad_(), targets, smoothing=0.1, pad_id=0)
    assert not nll.requires_grad
    loss.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


@pytest.mark.parametrize("narrow", [torch.float16, torch.bfloat16])
def test_half_precision_logits_are_widened_first(narrow: torch.dtype) -> None:
    logits, targets = example()
    half = logits.to(narrow).requires_grad_()
    loss, _ = fused_smoothing_loss(half, targets, smoothing=0.1, pad_id=0)
    wide, _ = fused_smoothing_loss(half.detach().float(), targets, smoothing=0.1, pad_id=0)
    assert torch.equal(loss, wide)
    loss.backward()
    assert half.grad is not None
    assert half.grad.dtype == narrow
