"""Sound batches and losses keep the laws, and each fault is found."""

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from attention_laws import Adapter
from attention_laws.law import laws_in_modules
from attention_laws.laws import batches
from attention_laws.laws import loss as laws
from tests.attention_laws.one_law import expect, small_adapter
from transformer.config import BOS_ID, EOS_ID, PAD_ID
from transformer.data.batches import Example, collate
from transformer.training.loss import label_smoothing_loss

SPECIAL_TOKENS, SHIFT = "targets_have_bos_and_eos", "targets_are_shifted_by_one"
PADDING, SOURCE = "padding_is_trailing", "sources_are_complete"
Ids = Sequence[list[int]]
Batch = tuple[Tensor, Tensor, Tensor]


def course_batch(sources: Ids, targets: Ids) -> Batch:
    batch = collate([Example(*pair) for pair in zip(sources, targets, strict=True)])
    return batch.src, batch.tgt_in, batch.tgt_out


def padded(rows: Ids, pad_id: int = PAD_ID) -> Tensor:
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[pad_id] * (longest - len(row))] for row in rows])


def cut_in_two(sources: Ids, targets: Ids) -> Batch:
    """Pad whole sentences, then cut off the last and the first token, as torchtext's users do."""
    whole = padded([[BOS_ID, *ids, EOS_ID] for ids in targets])
    return padded([[BOS_ID, *ids, EOS_ID] for ids in sources]), whole[:, :-1], whole[:, 1:]


def test_batches_that_are_cut_in_two_are_sound() -> None:
    for law in laws_in_modules(batches):
        expect(small_adapter().replace(make_batch=cut_in_two), law.name, "kept")


def without_padding(ids: Tensor) -> Tensor:
    """Return ids with a word in place of padding."""
    return ids.masked_fill(ids == PAD_ID, 9)


def with_bos(ids: Tensor) -> Tensor:
    """Return targets that begin with bos, too."""
    return torch.cat((torch.full((len(ids), 1), BOS_ID), ids), dim=1)


def test_a_wrong_batch_is_found() -> None:
    changes: list[tuple[Callable[[Tensor, Tensor, Tensor], Batch], str, str]] = [
        (lambda src, tgt_in, tgt_out: (src, tgt_in, with_bos(tgt_out)), SPECIAL_TOKENS, "target ["),
        (lambda src, tgt_in, tgt_out: (src, tgt_in, tgt_out[:, 1:]), SHIFT, "(3, 7)"),
        (lambda src, tgt_in, tgt_out: (src, tgt_in, without_padding(tgt_out)), PADDING, "target ["),
        (lambda src, tgt_in, tgt_out: (src, without_padding(tgt_in), tgt_out), PADDING, "target ["),
        (lambda src, tgt_in, tgt_out: (src[:, :2], tgt_in, tgt_out), SOURCE, "source ["),
        (lambda src, tgt_in, tgt_out: (without_padding(src), tgt_in, tgt_out), SOURCE, "source ["),
    ]
    for change, name, seen in changes:
        faulty = small_adapter().replace(
            make_batch=lambda *ids, change=change: change(*course_batch(*ids))
        )
        expect(faulty, name, "broken", seen)


def test_sources_without_eos_are_warned_of() -> None:
    bare = small_adapter().replace(
        make_batch=lambda src, tgt: (padded(src), *course_batch(src, tgt)[1:])
    )
    expect(bare, SOURCE, "warned")


NAMES = [law.name for law in laws_in_modules(laws)]
SOFTMAX, TARGET = "softmax_is_taken_once", "loss_favors_the_target"
SMOOTHING = "smoothed_targets_sum_to_one"
Loss = Callable[[Tensor, Tensor], Tensor]


def cross_entropy(logits: Tensor, tgt_out: Tensor, **options: object) -> Tensor:
    """Return the cross-entropy over all positions, as torch has it."""
    return F.cross_entropy(logits.flatten(end_dim=1), tgt_out.flatten(), **options)


def mean_loss(logits: Tensor, tgt_out: Tensor) -> Tensor:
    return cross_entropy(logits, tgt_out, ignore_index=PAD_ID)


def sum_loss(logits: Tensor, tgt_out: Tensor) -> Tensor:
    return cross_entropy(logits, tgt_out, ignore_index=PAD_ID, reduction="sum")


def smoothed(logits: Tensor, tgt_out: Tensor) -> Tensor:
    sums = label_smoothing_loss(logits, tgt_out, smoothing=0.2, pad_id=PAD_ID)
    return sums.loss / sums.tokens


def diverging(logits: Tensor, tgt_out: Tensor) -> Tensor:
    """Return a divergence from a target smoothed over all types but the true one and padding."""
    target = torch.full_like(logits, 0.2 / (logits.size(-1) - 2)).index_fill(
        -1, torch.tensor([PAD_ID]), 0.0
    )
    target = target.scatter(-1, tgt_out.unsqueeze(-1), 0.8) * (tgt_out != PAD_ID).unsqueeze(-1)
    return F.kl_div(logits.log_softmax(-1), target, reduction="sum") / (tgt_out != PAD_ID).sum()


def log_prob_loss(log_probs: Tensor, tgt_out: Tensor) -> Tensor:
    return F.nll_loss(log_probs.flatten(end_dim=1), tgt_out.flatten(), ignore_index=PAD_ID)


SOUND: dict[str, Loss] = {
    "a mean": mean_loss,
    "a sum": sum_loss,
    "a sum for each sentence": lambda logits, out: sum_loss(logits, out) / len(out),
    "smoothed over all": smoothed,
    "smoothed over all but two": diverging,
}


def test_sound_losses_keep_the_laws() -> None:
    for loss in SOUND.values():
        for name in NAMES:
            expect(small_adapter().replace(loss=loss), name, "kept")


def with_outputs(adapter: Adapter, convert: Callable[[Tensor], Tensor]) -> Adapter:
    """Return the adapter whose model returns something computed from its logits."""
    forward = adapter.forward
    return adapter.replace(forward=lambda src, tgt_in: convert(forward(src, tgt_in)))


def test_a_model_may_return_what_its_loss_takes() -> None:
    bare = small_adapter().replace(loss=log_prob_loss)
    log_probs = with_outputs(bare, lambda logits: logits.log_softmax(-1))
    other = small_adapter().replace(loss=lambda outputs, out: log_prob_loss(outputs.log(), out))
    probabilities = with_outputs(other, lambda logits: logits.softmax(-1))
    for name in NAMES:
        expect(log_probs, name, "kept")
        expect(probabilities, name, "kept")
    expect(bare, SOFTMAX, "broken")


def test_targets_shifted_twice_and_another_unit_are_found() -> None:
    twice = small_adapter().replace(loss=lambda logits, out: mean_loss(logits[:, :-1], out[:, 1:]))
    expect(twice, TARGET, "broken", "position 0")
    bits = small_adapter().replace(loss=lambda logits, out: mean_loss(logits, out) / 0.6931)
    expect(bits, SMOOTHING, "warned")


def loss_towards(true: float, other: float) -> Loss:
    """Return a loss towards these two probabilities, whatever they sum to."""

    def loss(logits: Tensor, tgt_out: Tensor) -> Tensor:
        log_probs = logits.log_softmax(-1)
        target = torch.full_like(log_probs, other)
        target.scatter_(-1, tgt_out[..., None], true)
        return -(target * log_probs).sum(-1)[tgt_out != PAD_ID].mean()

    return loss


def test_a_smoothed_target_that_does_not_sum_to_one_is_found() -> None:
    for true, other in (
        (0.9, 0.1 / 29),  # the true token's own share is missing
        (0.9, 0.1 / 27),  # divided by two fewer, and padding has a share too
        (1.0, 0.1 / 28),  # nothing taken from the true token
    ):
        seen = f"{true + 28 * other:.6g} in all"
        expect(small_adapter().replace(loss=loss_towards(true, other)), SMOOTHING, "broken", seen)


def test_a_loss_that_is_no_cross_entropy_has_no_target_to_sum() -> None:
    def focal(logits: Tensor, tgt_out: Tensor) -> Tensor:
        true = logits.log_softmax(-1).gather(-1, tgt_out[..., None])
        return (-((1 - true.exp()) ** 2) * true).mean()

    expect(small_adapter().replace(loss=focal), SMOOTHING, "not tried")
