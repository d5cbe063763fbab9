"""The fused loss, held to its plain form in `loss` and to torch's own."""

from typing import Any, ClassVar

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from tests.training.test_loss import FORMS, VOCAB, example
from transformer.training.fused_loss import fused_smoothing_loss
from transformer.training.loss import label_smoothing_loss

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


@SMOOTHINGS
@PADS
def test_over_all_equals_torch(smoothing: float, pad_id: int) -> None:
    logits, targets = example(pad_id)
    fused_at, torch_at = leaf(logits), leaf(logits)
    oracle = nn.CrossEntropyLoss(ignore_index=pad_id, label_smoothing=smoothing, reduction="sum")
    wanted = oracle(torch_at.flatten(0, 1), targets.flatten())
    loss, _ = fused_smoothing_loss(fused_at, targets, smoothing=smoothing, pad_id=pad_id)
    loss.backward()
    wanted.backward()
    torch.testing.assert_close(loss, wanted, rtol=1e-13, atol=0)
    torch.testing.assert_close(fused_at.grad, torch_at.grad, rtol=1e-12, atol=1e-14)


@FORMS
@given(
    seed=st.integers(0, 10_000),
    smoothing=st.just(0.0) | st.floats(1e-6, 0.99),
    size=st.integers(3, 17),
)
def test_equals_the_plain_form_on_anything(
    over_all: bool, seed: int, smoothing: float, size: int
) -> None:
    chance = torch.Generator().manual_seed(seed)
    logits = 5 * torch.randn(2, 3, size, generator=chance)
    targets = torch.randint(0, size, (2, 3), generator=chance)  # id 0 is padding
    fused_at, plain_at = leaf(logits), leaf(logits)
    options = {"smoothing": smoothing, "pad_id": 0, "over_all": over_all}
    loss, _ = fused_smoothing_loss(fused_at, targets, **options)
    plain = label_smoothing_loss(plain_at, targets, **options).loss
    loss.backward()
    plain.backward()
    torch.testing.assert_close(loss, plain, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(fused_at.grad, plain_at.grad, rtol=1e-10, atol=1e-12)


@FORMS
def test_nothing_is_copied_to_the_device(over_all: bool) -> None:
    class Operations(TorchDispatchMode):
        """Notes what is called."""

        seen: ClassVar[set[object]] = set()

        def __torch_dispatch__(
            self, function: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            self.seen.add(function)
            return function(*args, **(kwargs or {}))

    logits, targets = example()
    with Operations() as operations:
        loss, _ = fused_smoothing_loss(
            logits.requires_grad_(), targets, smoothing=0.1, pad_id=0, over_all=over_all
        )
        loss.backward()
    assert torch.ops.aten.scatter_add_.default in operations.seen  # of the backward pass
    assert torch.ops.aten.lift_fresh.default not in operations.seen  # a tensor from Python's data


def test_the_gradient_is_given_once() -> None:
    logits, targets = example()
    loss, nll = fused_smoothing_loss(logits.requires_grad_(), targets, smoothing=0.1, pad_id=0)
    assert not nll.requires_grad
    loss.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


@FORMS
def test_what_stands_at_padding_does_not_matter(over_all: bool) -> None:
    logits, targets = example()
    strange = torch.where((targets == 0).unsqueeze(-1), 100.0, logits)
    options = {"smoothing": 0.1, "pad_id": 0, "over_all": over_all}
    before, after = (fused_smoothing_loss(x, targets, **options) for x in (logits, strange))
    assert torch.equal(torch.stack(before), torch.stack(after))


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
