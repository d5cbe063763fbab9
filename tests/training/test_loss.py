import math

import pytest
import torch
from torch import Tensor, nn

from transformer.config import BOS_ID, EOS_ID, PAD_ID, ModelConfig, TrainingConfig
from transformer.data.batches import Batch
from transformer.model import Transformer
from transformer.support.errors import UserError
from transformer.training.devices import Precision
from transformer.training.loss import (
    batch_loss,
    fused_smoothing_loss,
    label_smoothing_loss,
    smoothed_targets,
    validation_loss,
)

BATCH, TGT_LEN, VOCAB = 3, 5, 11
CASES = pytest.mark.parametrize(
    ("smoothing", "pad_id"), [(0.0, 0), (0.1, 4), (0.7, VOCAB - 1), (0.1, 0)]
)
FORMS = pytest.mark.parametrize("over_all", [True, False])


def example(pad_id: int = PAD_ID) -> tuple[Tensor, Tensor]:
    """Logits (3, 5, 11) and targets (3, 5), rows of 5, 4 and 2 real tokens."""
    chance = torch.Generator().manual_seed(7)
    logits = 3 * torch.randn(BATCH, TGT_LEN, VOCAB, generator=chance)
    targets = torch.randint(1, VOCAB - 1, (BATCH, TGT_LEN), generator=chance)
    targets[targets == pad_id] = 1 if pad_id != 1 else 2
    targets[1, 4:] = targets[2, 2:] = pad_id
    return logits, targets


def kl_by_hand(logits: Tensor, targets: Tensor, smoothing: float, pad_id: int) -> float:
    """The definition of the KL form, one probability at a time."""
    total = 0.0
    probabilities = logits.double().softmax(-1)
    for row in range(targets.size(0)):
        for position in range(targets.size(1)):
            true = int(targets[row, position])
            for token in range(logits.size(-1)):
                if token == true:
                    wanted = 1 - smoothing
                elif token == pad_id:
                    wanted = 0.0
                else:
                    wanted = smoothing / (logits.size(-1) - 2)
                if wanted > 0 and true != pad_id:
                    total += wanted * math.log(wanted / float(probabilities[row, position, token]))
    return total


@CASES
def test_over_all_equals_torch(smoothing: float, pad_id: int) -> None:
    logits, targets = example(pad_id)
    sums = label_smoothing_loss(logits, targets, smoothing=smoothing, pad_id=pad_id)
    for found, smooth in ((sums.loss, smoothing), (sums.nll, 0.0)):
        oracle = nn.CrossEntropyLoss(ignore_index=pad_id, label_smoothing=smooth, reduction="sum")
        torch.testing.assert_close(found, oracle(logits.flatten(0, 1), targets.flatten()))


@CASES
def test_kl_form_equals_its_definition(smoothing: float, pad_id: int) -> None:
    logits, targets = example(pad_id)
    sums = label_smoothing_loss(logits, targets, smoothing=smoothing, pad_id=pad_id, over_all=False)
    assert float(sums.loss) == pytest.approx(kl_by_hand(logits, targets, smoothing, pad_id), 1e-5)


def test_spelled_out_targets_by_hand() -> None:
    targets = torch.tensor([[3, 0]])
    over_all = smoothed_targets(targets, 5, smoothing=0.5, pad_id=0)
    others = smoothed_targets(targets, 5, smoothing=0.3, pad_id=0, over_all=False)
    torch.testing.assert_close(over_all[0, 0], torch.tensor([0.1, 0.1, 0.1, 0.6, 0.1]))
    torch.testing.assert_close(others[0, 0], torch.tensor([0.0, 0.1, 0.1, 0.7, 0.1]))
    assert not over_all[0, 1].any()
    assert not others[0, 1].any()


@FORMS
def test_only_real_tokens_count(over_all: bool) -> None:
    logits, targets = example()
    changed = torch.where((targets == PAD_ID).unsqueeze(-1), 100 * torch.ones(VOCAB), logits)
    changed[..., 2][targets == PAD_ID] = -100
    before, after = (
        label_smoothing_loss(scores, targets, smoothing=0.1, pad_id=PAD_ID, over_all=over_all)
        for scores in (logits, changed)
    )
    assert torch.equal(before.loss, after.loss)
    assert torch.equal(before.nll, after.nll)
    assert int(before.tokens) == 5 + 4 + 2


def test_what_cannot_be_smoothed() -> None:
    logits, targets = example()
    for smoothing in (-0.1, 1.0):
        with pytest.raises(UserError, match=rf"smoothing is {smoothing}: give a number from 0"):
            label_smoothing_loss(logits, targets, smoothing=smoothing, pad_id=PAD_ID)
    with pytest.raises(UserError, match="a vocabulary of 2"):
        smoothed_targets(torch.ones(1, 1).long(), 2, smoothing=0.1, pad_id=0, over_all=False)


# --- the fused form ------------------------------------------------------------------------


def leaf(logits: Tensor) -> Tensor:
    """A copy in double precision, to be differentiated at."""
    return logits.detach().double().requires_grad_()


@FORMS
@CASES
def test_equals_the_plain_form(over_all: bool, smoothing: float, pad_id: int) -> None:
    logits, targets = example(pad_id)
    fused_at, plain_at = leaf(logits), leaf(logits)
    options = {"smoothing": smoothing, "pad_id": pad_id, "over_all": over_all}
    loss, nll, _ = fused_smoothing_loss(fused_at, targets, **options)
    plain = label_smoothing_loss(plain_at, targets, **options)
    (3 * loss).backward()
    (3 * plain.loss).backward()
    assert loss.dtype == plain.loss.dtype == torch.float64
    torch.testing.assert_close(loss, plain.loss, rtol=1e-13, atol=0)
    torch.testing.assert_close(nll, plain.nll, rtol=1e-13, atol=0)
    torch.testing.assert_close(fused_at.grad, plain_at.grad, rtol=1e-12, atol=1e-14)


def test_the_gradient_is_given_once() -> None:
    logits, targets = example()
    loss, nll, _ = fused_smoothing_loss(logits.requires_grad_(), targets, smoothing=0.1, pad_id=0)
    assert not nll.requires_grad
    loss.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


@pytest.mark.parametrize("narrow", [torch.float16, torch.bfloat16])
def test_half_precision_logits_are_widened_first(narrow: torch.dtype) -> None:
    logits, targets = example()
    half = logits.to(narrow).requires_grad_()
    loss, *_ = fused_smoothing_loss(half, targets, smoothing=0.1, pad_id=0)
    wide, *_ = fused_smoothing_loss(half.detach().float(), targets, smoothing=0.1, pad_id=0)
    assert torch.equal(loss, wide)
    loss.backward()
    assert half.grad is not None
    assert half.grad.dtype == narrow


# --- the loss of a model ---------------------------------------------------------------


class Bigram(nn.Module):
    """Scores of the next token from the last one alone."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.scores = nn.Embedding(VOCAB, VOCAB)
        self.dropout = nn.Dropout(0.5)

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        logits: Tensor = self.dropout(self.scores(tgt_in))
        return logits


def batch(*rows: list[int]) -> Batch:
    longest = max(map(len, rows))
    tgt_out = torch.tensor([[*row, *[PAD_ID] * (longest - len(row))] for row in rows])
    tgt_in = torch.cat([torch.full((len(rows), 1), BOS_ID), tgt_out[:, :-1]], dim=1)
    return Batch(src=torch.full((len(rows), 1), EOS_ID), tgt_in=tgt_in, tgt_out=tgt_out)


def test_validation_loss_weighs_tokens_not_batches() -> None:
    model = Bigram()
    batches = [batch([5, 7, 4, EOS_ID], [6, EOS_ID]), batch([8, EOS_ID])]
    table = model.scores.weight.detach().double().log_softmax(-1)
    pairs = [(BOS_ID, 5), (5, 7), (7, 4), (4, EOS_ID), (BOS_ID, 6), (6, EOS_ID)]
    pairs += [(BOS_ID, 8), (8, EOS_ID)]
    by_hand = -sum(float(table[before, after]) for before, after in pairs) / len(pairs)
    assert validation_loss(model, batches) == pytest.approx(by_hand, 1e-6)
    assert model.training
    assert validation_loss(model.eval(), batches) == pytest.approx(by_hand, 1e-6)
    assert not model.training


def test_batch_loss_follows_the_configuration() -> None:
    model, data = Bigram().eval(), batch([5, 7, EOS_ID], [6, EOS_ID])
    config = TrainingConfig(label_smoothing=0.2, smooth_over_all=False)
    wanted = label_smoothing_loss(
        model(data.src, data.tgt_in), data.tgt_out, smoothing=0.2, pad_id=PAD_ID, over_all=False
    )
    given = batch_loss(model, data, config)
    torch.testing.assert_close(given, wanted)
    assert int(given.tokens) == 5


def test_bf16_on_a_cpu_is_near_float32_and_takes_the_plain_attention() -> None:
    torch.manual_seed(3)
    config = ModelConfig(d_model=8, d_ff=16, num_heads=2, num_layers=1, dropout=0.0)
    model = Transformer(config, src_vocab_size=VOCAB, tgt_vocab_size=VOCAB)
    data = batch([5, 7, EOS_ID], [6, EOS_ID])
    wanted = batch_loss(model, data, TrainingConfig()).loss
    with torch.profiler.profile(acc_events=True) as seen:  # or PyTorch 2.11 warns
        given = batch_loss(model, data, TrainingConfig(), Precision.BF16).loss
    assert given.dtype == torch.float32
    torch.testing.assert_close(given, wanted, rtol=0.02, atol=0)
    names = {event.key for event in seen.key_averages()}
    assert "aten::_scaled_dot_product_attention_math" in names
    assert not any("flash" in name for name in names)
