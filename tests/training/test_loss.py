from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from transformer.config import BOS_ID, EOS_ID, PAD_ID, ModelConfig, TrainingConfig
from transformer.data.batches import Batch
from transformer.model import Transformer
from transformer.support.errors import UserError
from transformer.training.devices import Precision
from transformer.training.fast_loss import fast_label_smoothing_loss
from transformer.training.loss import LossSums, label_smoothing_loss
from transformer.training.model_loss import batch_loss, validation_loss

BATCH, TGT_LEN, VOCAB = 3, 5, 11


def example(pad_id: int = PAD_ID) -> tuple[Tensor, Tensor]:
    """Logits (3, 5, 11) and targets (3, 5), rows of 5, 4 and 2 real tokens."""
    chance = torch.Generator().manual_seed(7)
    logits = 3 * torch.randn(BATCH, TGT_LEN, VOCAB, generator=chance)
    targets = torch.randint(1, VOCAB - 1, (BATCH, TGT_LEN), generator=chance)
    targets[targets == pad_id] = 1 if pad_id != 1 else 2
    targets[1, 4:] = targets[2, 2:] = pad_id
    return logits, targets


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.7])
def test_by_hand(smoothing: float) -> None:
    logits, targets = example()
    log_probs = logits.double().log_softmax(dim=-1)
    loss = nll = 0.0
    for token_log_probs, target in zip(log_probs.flatten(0, 1), targets.flatten(), strict=True):
        if target != PAD_ID:
            true = float(token_log_probs[target])
            nll -= true
            loss -= (1 - smoothing) * true + smoothing / VOCAB * float(token_log_probs.sum())
    sums = label_smoothing_loss(logits, targets, smoothing=smoothing, pad_id=PAD_ID)
    assert float(sums.loss) == pytest.approx(loss, rel=1e-6)
    assert float(sums.nll) == pytest.approx(nll, rel=1e-6)
    assert int(sums.tokens) == 5 + 4 + 2


@pytest.mark.parametrize(("smoothing", "pad_id"), [(0.0, 0), (0.1, 4), (0.7, VOCAB - 1), (0.1, 0)])
def test_the_fast_loss_is_the_plain_one(
    smoothing: float, pad_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chunk = 2 * VOCAB + 1  # of two tokens
    monkeypatch.setattr("transformer.training.fast_loss.NUM_LOGITS_PER_CPU_CHUNK", chunk)
    logits, targets = example(pad_id)
    ours, theirs = (logits.double().requires_grad_() for _ in range(2))
    sums = fast_label_smoothing_loss(ours, targets, smoothing=smoothing, pad_id=pad_id)
    plain = label_smoothing_loss(theirs, targets, smoothing=smoothing, pad_id=pad_id)
    (3 * sums.loss).backward()
    (3 * plain.loss).backward()
    torch.testing.assert_close(sums.loss, plain.loss, rtol=1e-13, atol=0)
    torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(sums.nll, plain.nll)
    assert sums.tokens == plain.tokens
    assert not sums.nll.requires_grad
    assert not plain.nll.requires_grad


def test_what_cannot_be_smoothed() -> None:
    logits, targets = example()
    for smoothing in (-0.1, 1.0):
        with pytest.raises(UserError, match=rf"smoothing is {smoothing}: give a number from 0"):
            label_smoothing_loss(logits, targets, smoothing=smoothing, pad_id=PAD_ID)


@pytest.mark.parametrize("loss", [label_smoothing_loss, fast_label_smoothing_loss])
def test_a_target_outside_the_vocabulary_is_named(loss: Callable[..., LossSums]) -> None:
    logits, targets = example()
    targets[0, 0] = VOCAB
    with pytest.raises(UserError, match=f"targets go from 0 to {VOCAB}: give ids from 0 to 10"):
        loss(logits, targets, smoothing=0.1, pad_id=PAD_ID)


def test_the_gradient_is_given_once() -> None:
    logits, targets = example()
    loss, *_ = fast_label_smoothing_loss(logits.requires_grad_(), targets, smoothing=0.1, pad_id=0)
    loss.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


@pytest.mark.parametrize("narrow", [torch.float16, torch.bfloat16])
def test_half_precision_logits_are_widened_first(narrow: torch.dtype) -> None:
    logits, targets = example()
    half = logits.to(narrow).requires_grad_()
    loss, *_ = fast_label_smoothing_loss(half, targets, smoothing=0.1, pad_id=0)
    wide, *_ = fast_label_smoothing_loss(half.detach().float(), targets, smoothing=0.1, pad_id=0)
    assert torch.equal(loss, wide)
    loss.backward()
    assert getattr(half.grad, "dtype", None) == narrow


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
    sizes: list[int] = []
    model.register_forward_hook(lambda _, given, __: sizes.append(given[1].numel()))
    assert validation_loss(model, batches, micro_tokens=4) == pytest.approx(by_hand, 1e-6)
    assert sizes == [4, 4, 2]


def test_bf16_on_a_cpu_is_near_float32_and_takes_the_plain_attention() -> None:
    torch.manual_seed(3)
    config = ModelConfig(d_model=8, d_ff=16, num_heads=2, num_layers=1, dropout=0.0)
    model = Transformer(config, src_vocab_size=VOCAB, tgt_vocab_size=VOCAB)
    data = batch([5, 7, EOS_ID], [6, EOS_ID])
    losses = []
    for precision in (Precision.FLOAT32, Precision.BF16):
        with torch.profiler.profile(acc_events=True) as seen:  # or PyTorch 2.11 warns
            losses.append(batch_loss(model, data, TrainingConfig(), precision).loss)
        assert ("scaled_dot" in str(seen.key_averages())) == (precision == Precision.FLOAT32)
    torch.testing.assert_close(losses[1], losses[0], rtol=0.02, atol=0)
