"""Logits and loss in parts, held to the plain loss of all logits."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.helpers.tiny_training import DATA, transformer
from transformer.config import DecoderOnlyConfig, ModelConfig, TrainingConfig
from transformer.data.batches import Batch
from transformer.decoder_only import DecoderOnly
from transformer.model import Transformer
from transformer.support.errors import UserError
from transformer.training import fast_loss, linear_loss
from transformer.training.devices import Precision
from transformer.training.linear_loss import linear_label_smoothing_loss, output_layer_for_parts
from transformer.training.loss import LossSums, label_smoothing_loss
from transformer.training.model_loss import batch_loss, validation_loss

BATCH, TGT_LEN, WIDTH, VOCAB = 3, 5, 7, 11
Patch = pytest.MonkeyPatch


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: Patch) -> None:
    monkeypatch.setattr(linear_loss, "MAX_ROWS_PER_PART", 4)
    monkeypatch.setattr(linear_loss, "MAX_ROWS_PER_WEIGHT_PRODUCT", 3)
    monkeypatch.setattr(fast_loss, "NUM_LOGITS_PER_CPU_CHUNK", 2 * VOCAB + 1)
    monkeypatch.setattr(linear_loss, "MIN_LOGITS_FOR_PARTS", 0)


def example(dtype: torch.dtype, bias: bool, pad_id: int) -> tuple[Tensor, nn.Linear, Tensor]:
    """Hidden states (3, 5, 7), a layer to 11 types, and targets of 5, 3 and 0 real tokens."""
    torch.manual_seed(7)
    targets = (torch.randint(1, VOCAB, (BATCH, TGT_LEN)) + pad_id) % VOCAB  # none is padding
    targets[1, 3:] = targets[2] = pad_id
    hidden = torch.randn(BATCH, TGT_LEN, WIDTH, dtype=dtype, requires_grad=True)
    return hidden, nn.Linear(WIDTH, VOCAB, bias).to(dtype), targets


def gradients(loss: Tensor, *parameters: Tensor) -> list[Tensor]:
    """Of three times the loss, as what comes after it has a say in its gradient."""
    return list(torch.autograd.grad(3 * loss, parameters))


@pytest.mark.parametrize(("smoothing", "pad_id"), [(0.0, 0), (0.1, 4), (0.7, VOCAB - 1)])
@pytest.mark.parametrize("bias", [False, True])
def test_is_the_plain_loss_of_all_logits(smoothing: float, pad_id: int, bias: bool) -> None:
    hidden, output, targets = example(torch.float64, bias, pad_id)
    chosen: dict[str, Any] = {"smoothing": smoothing, "pad_id": pad_id}
    sums = linear_label_smoothing_loss(hidden, output, targets, **chosen)
    plain = label_smoothing_loss(output(hidden), targets, **chosen)
    torch.testing.assert_close(tuple(sums), tuple(plain), rtol=1e-13, atol=0)
    assert not sums.nll.requires_grad
    weights = (hidden, *output.parameters())
    expected = gradients(plain.loss, *weights)
    torch.testing.assert_close(gradients(sums.loss, *weights), expected, rtol=1e-12, atol=1e-14)
    with torch.no_grad():
        alone = linear_label_smoothing_loss(hidden, output, targets, **chosen)
    torch.testing.assert_close(tuple(alone), tuple(plain), rtol=1e-13, atol=0)


def test_large_logits_do_not_overflow() -> None:
    hidden, output, targets = example(torch.float32, False, 0)
    hidden = hidden * 1e4
    sums = linear_label_smoothing_loss(hidden, output, targets, smoothing=0.1, pad_id=0)
    plain = label_smoothing_loss(output(hidden), targets, smoothing=0.1, pad_id=0)
    torch.testing.assert_close(sums.loss, plain.loss)


def test_padding_alone_costs_nothing() -> None:
    hidden, output, targets = example(torch.float32, True, 0)
    sums = linear_label_smoothing_loss(hidden, output, targets * 0, smoothing=0.1, pad_id=0)
    assert [total.item() for total in sums] == [0, 0, 0]
    assert all(torch.all(g == 0) for g in gradients(sums.loss, hidden, *output.parameters()))


@pytest.mark.parametrize("frozen", ["hidden", "weight", "bias"])
def test_what_is_frozen_has_no_gradient_and_the_rest_has_its_own(frozen: str) -> None:
    hidden, output, targets = example(torch.float64, True, 4)
    inputs = {"hidden": hidden, "weight": output.weight, "bias": output.bias}
    inputs.pop(frozen).requires_grad_(False)
    chosen: dict[str, Any] = {"smoothing": 0.1, "pad_id": 4}
    sums = linear_label_smoothing_loss(hidden, output, targets, **chosen)
    plain = label_smoothing_loss(output(hidden), targets, **chosen)
    expected = gradients(plain.loss, *inputs.values())
    torch.testing.assert_close(gradients(sums.loss, *inputs.values()), expected)


def test_what_cannot_be_computed() -> None:
    hidden, output, targets = example(torch.float32, False, 0)
    chosen: dict[str, Any] = {"smoothing": 0.1, "pad_id": 0}
    with pytest.raises(UserError, match="hidden"):
        linear_label_smoothing_loss(hidden[..., 1:], output, targets, **chosen)
    targets[0, 0] = VOCAB
    with pytest.raises(UserError, match=f"targets go from 0 to {VOCAB}"):
        linear_label_smoothing_loss(hidden, output, targets, **chosen)
    loss = linear_label_smoothing_loss(hidden, output, targets % VOCAB, **chosen).loss
    (first,) = torch.autograd.grad(loss.square(), hidden, create_graph=True)
    with pytest.raises(RuntimeError, match="differentiate twice"):
        first.sum().backward()


# --- in training -----------------------------------------------------------------------


def decoder_only() -> DecoderOnly:
    config = DecoderOnlyConfig(d_model=16, d_ff=19, num_heads=2, num_layers=1)
    torch.manual_seed(3)
    return DecoderOnly(config, vocab_size=23)


def untied() -> Transformer:
    config = ModelConfig(
        d_model=16, d_ff=19, num_heads=2, num_layers=1, tie_softmax=False, output_bias=True
    )
    torch.manual_seed(3)
    return Transformer(config, src_vocab_size=23, tgt_vocab_size=23)


def losses_and_gradients(
    model: nn.Module, batch: Batch, precision: Precision, monkeypatch: Patch
) -> list[tuple[LossSums, Tensor]]:
    """Of the same dropout, first in parts, then of all logits."""
    found = []
    for least in (0, 2**40):
        monkeypatch.setattr(linear_loss, "MIN_LOGITS_FOR_PARTS", least)
        model.zero_grad()
        torch.manual_seed(5)
        sums = batch_loss(model, batch, TrainingConfig(), precision)
        sums.loss.backward()
        grads = [p.grad.flatten() for p in model.parameters() if p.grad is not None]
        found.append((sums, torch.cat(grads)))
    return found


@pytest.mark.parametrize("make", [transformer, untied, decoder_only])
@pytest.mark.parametrize("precision", [Precision.FLOAT32, Precision.BF16])
def test_a_model_learns_the_same(
    make: Callable[[], nn.Module], precision: Precision, monkeypatch: Patch
) -> None:
    model, batch = make(), next(DATA.epoch(0))
    (sums, ours), (plain, theirs) = losses_and_gradients(model, batch, precision, monkeypatch)
    relative = 3e-7 if precision == Precision.FLOAT32 else 0.01
    torch.testing.assert_close(tuple(sums), tuple(plain), rtol=relative, atol=0)
    assert (ours - theirs).norm() <= relative * theirs.norm()
    # They are not the same sums: the parts were taken.
    assert not torch.equal(ours, theirs)
    held_out = [validation_loss(model, DATA.epoch(0))]
    monkeypatch.setattr(linear_loss, "MIN_LOGITS_FOR_PARTS", 0)
    assert validation_loss(model, DATA.epoch(0)) == pytest.approx(held_out[0], rel=1e-6)


class Louder(Transformer):
    """Changes the logits after the fact, and offers nothing."""

    def decode(self, *arguments: Any) -> Tensor:
        return 2 * super().decode(*arguments)


def test_who_offers_hidden_states() -> None:
    model, targets = transformer(), next(DATA.epoch(0)).tgt_out
    assert output_layer_for_parts(model, targets) is model.output
    assert output_layer_for_parts(decoder_only(), targets) is not None
    with Precision.FP16.autocast(targets.device):
        assert output_layer_for_parts(model, targets) is None
    assert (
        output_layer_for_parts(Louder(model.config, src_vocab_size=5, tgt_vocab_size=5), targets)
        is None
    )
    assert output_layer_for_parts(lambda src, tgt_in: src, targets) is None
    hooks: list[Callable[[], Any]] = [
        lambda: model.output.register_forward_hook(lambda _, __, logits: 2 * logits),
        lambda: model.register_forward_hook(lambda _, __, logits: 2 * logits),
        lambda: model.output.register_full_backward_hook(lambda *_: None),
    ]
    for register in hooks:
        hook = register()
        assert output_layer_for_parts(model, targets) is None
        hook.remove()
    altered: Any = transformer()
    altered.decode = lambda *arguments: 2 * Transformer.decode(altered, *arguments)
    assert output_layer_for_parts(altered, targets) is None
    assert output_layer_for_parts(model, targets) is model.output
    linear_loss.MIN_LOGITS_FOR_PARTS = 23 * targets.numel() + 1
    assert output_layer_for_parts(model, targets) is None
