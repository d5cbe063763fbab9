from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from attention_laws import Adapter, Verdict
from attention_laws.laws import loss as laws
from tests.attention_laws.trying import small, tried
from transformer.config import PAD_ID
from transformer.training.loss import fused_smoothing_loss, label_smoothing_loss

NAMES = [law.name for law in laws.LAWS]
TAKES, PADDING, ONCE, TRUE, MASS = NAMES
Loss = Callable[[Tensor, Tensor], Tensor]


def crossed(logits: Tensor, tgt_out: Tensor, **options: object) -> Tensor:
    """Cross-entropy over all places, as torch has it."""
    return F.cross_entropy(logits.flatten(end_dim=1), tgt_out.flatten(), **options)


def plain(logits: Tensor, tgt_out: Tensor) -> Tensor:
    return crossed(logits, tgt_out, ignore_index=PAD_ID)


def of_sum(logits: Tensor, tgt_out: Tensor) -> Tensor:
    return crossed(logits, tgt_out, ignore_index=PAD_ID, reduction="sum")


def smoothed(over_all: bool) -> Loss:
    def loss(logits: Tensor, tgt_out: Tensor) -> Tensor:
        options = {"smoothing": 0.2, "pad_id": PAD_ID, "over_all": over_all}
        sums = label_smoothing_loss(logits, tgt_out, **options)
        return sums.loss / sums.tokens

    return loss


def of_log_probs(log_probs: Tensor, tgt_out: Tensor) -> Tensor:
    return F.nll_loss(log_probs.flatten(end_dim=1), tgt_out.flatten(), ignore_index=PAD_ID)


SOUND: dict[str, Loss] = {
    "a mean": plain,
    "a sum": of_sum,
    "a sum for each sentence": lambda logits, out: of_sum(logits, out) / len(out),
    "smoothed over all": smoothed(True),
    "smoothed over all but two": smoothed(False),
    "the fused one": lambda logits, out: fused_smoothing_loss(
        logits, out, smoothing=0.1, pad_id=PAD_ID
    )[0],
}


@pytest.mark.parametrize("which", SOUND)
def test_kept_by_sound_losses(which: str) -> None:
    for name in NAMES:
        assert tried(small().replace(loss=SOUND[which]), name).verdict == Verdict.KEPT


def giving(adapter: Adapter, what: Callable[[Tensor], Tensor]) -> Adapter:
    """The adapter whose model gives something made of its logits."""
    forward = adapter.forward
    return adapter.replace(forward=lambda src, tgt_in: what(forward(src, tgt_in)))


def test_a_model_may_give_what_its_loss_wants() -> None:
    log_probs = giving(small().replace(loss=of_log_probs), lambda logits: logits.log_softmax(-1))
    other = small().replace(loss=lambda given, out: of_log_probs(given.log(), out))
    probabilities = giving(other, lambda logits: logits.softmax(-1))
    for name in NAMES:
        assert tried(log_probs, name).verdict == Verdict.KEPT
        assert tried(probabilities, name).verdict == Verdict.KEPT


def test_logits_are_not_for_a_loss_of_log_probabilities() -> None:
    line = tried(small().replace(loss=of_log_probs), TAKES)
    assert line.verdict == Verdict.BROKEN
    assert "a constant added" in line.seen


def over_all_places(logits: Tensor, tgt_out: Tensor) -> Tensor:
    """Right in the sum, wrong in what it is divided by."""
    return of_sum(logits, tgt_out) / tgt_out.numel()


@pytest.mark.parametrize(
    ("loss", "seen"),
    [(crossed, "other logits at its padding"), (over_all_places, "3 more places of padding")],
)
def test_padding_in_the_loss_is_found(loss: Loss, seen: str) -> None:
    line = tried(small().replace(loss=loss), PADDING)
    assert line.verdict == Verdict.BROKEN
    assert seen in line.seen


def test_targets_that_the_loss_shifts_again_are_found() -> None:
    shifting = small().replace(loss=lambda logits, out: plain(logits[:, :-1], out[:, 1:]))
    line = tried(shifting, TRUE)
    assert line.verdict == Verdict.BROKEN
    assert "position 0: the loss would have token" in line.seen


def sharing(true: float, other: float) -> Loss:
    """A loss towards these two probabilities, whatever they sum to."""

    def loss(logits: Tensor, tgt_out: Tensor) -> Tensor:
        log_probs = logits.log_softmax(-1)
        wanted = torch.full_like(log_probs, other)
        wanted.scatter_(-1, tgt_out[..., None], true)
        return -(wanted * log_probs).sum(-1)[tgt_out != PAD_ID].mean()

    return loss


@pytest.mark.parametrize(
    ("true", "other"),
    [
        (0.9, 0.1),  # the whole mass to each
        (0.9, 0.1 / 29),  # the true token's own share is missing
        (0.9, 0.1 / 27),  # divided by two fewer, and padding has a share too
        (1.0, 0.1 / 28),  # nothing taken from the true token
    ],
)
def test_a_smoothed_target_that_does_not_sum_to_one_is_found(true: float, other: float) -> None:
    line = tried(small().replace(loss=sharing(true, other)), MASS)
    assert line.verdict == Verdict.BROKEN
    assert f"{true + 28 * other:.6g} in all" in line.seen


def test_a_loss_in_another_unit_is_warned_of() -> None:
    bits = small().replace(loss=lambda logits, out: plain(logits, out) / 0.6931)
    assert tried(bits, MASS).verdict == Verdict.WARNED


def test_what_is_no_cross_entropy_has_no_mass() -> None:
    def focal(logits: Tensor, tgt_out: Tensor) -> Tensor:
        true = logits.log_softmax(-1).gather(-1, tgt_out[..., None])
        return (-((1 - true.exp()) ** 2) * true).mean()

    line = tried(small().replace(loss=focal), MASS)
    assert line.verdict == Verdict.NOT_TRIED
    assert "no cross-entropy" in line.seen
