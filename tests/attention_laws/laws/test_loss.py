"""Of batches and losses: sound ones keep the laws, each fault is found."""

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from attention_laws import Adapter
from attention_laws.law import laws_of
from attention_laws.laws import batches
from attention_laws.laws import loss as laws
from tests.attention_laws.one_law import expect, small
from transformer.config import BOS_ID, EOS_ID, PAD_ID
from transformer.data.batches import Example, collate
from transformer.training.loss import label_smoothing_loss

SPECIAL_TOKENS, SHIFT = "targets_have_bos_and_eos", "targets_are_shifted_by_one"
PADDING, SOURCE = "padding_is_trailing", "sources_are_complete"
Ids = Sequence[list[int]]
Made = tuple[Tensor, Tensor, Tensor]


def ours(sources: Ids, targets: Ids) -> Made:
    batch = collate([Example(*pair) for pair in zip(sources, targets, strict=True)])
    return batch.src, batch.tgt_in, batch.tgt_out


def padded(rows: Ids, pad_id: int = PAD_ID) -> Tensor:
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[pad_id] * (longest - len(row))] for row in rows])


def cut_in_two(sources: Ids, targets: Ids) -> Made:
    """As torchtext's users do: whole sentences are padded, then the last and the first cut off."""
    whole = padded([[BOS_ID, *each, EOS_ID] for each in targets])
    return padded([[BOS_ID, *each, EOS_ID] for each in sources]), whole[:, :-1], whole[:, 1:]


def test_kept_by_batches_that_are_cut_in_two() -> None:
    for law in laws_of(batches):
        expect(small().replace(make_batch=cut_in_two), law.name, "kept")


def filled(ids: Tensor) -> Tensor:
    """Fill up with a word in place of padding."""
    return ids.masked_fill(ids == PAD_ID, 9)


def shown(ids: Tensor) -> Tensor:
    """Ask for bos, too."""
    return torch.cat((torch.full((len(ids), 1), BOS_ID), ids), dim=1)


def test_a_wrong_batch_is_found() -> None:
    changes: list[tuple[Callable[[Tensor, Tensor, Tensor], Made], str, str]] = [
        (lambda src, read, said: (src, read, shown(said)), SPECIAL_TOKENS, "target ["),
        (lambda src, read, said: (src, read, said[:, 1:]), SHIFT, "(3, 7)"),
        (lambda src, read, said: (src, read, filled(said)), PADDING, "target ["),
        (lambda src, read, said: (src, filled(read), said), PADDING, "target ["),
        (lambda src, read, said: (src[:, :2], read, said), SOURCE, "source ["),
        (lambda src, read, said: (filled(src), read, said), SOURCE, "source ["),
    ]
    for change, name, seen in changes:
        made = small().replace(make_batch=lambda *ids, change=change: change(*ours(*ids)))
        expect(made, name, "broken", seen)


def test_sources_without_an_end_mark_are_warned_of() -> None:
    bare = small().replace(make_batch=lambda src, tgt: (padded(src), *ours(src, tgt)[1:]))
    expect(bare, SOURCE, "warned")


NAMES = [law.name for law in laws_of(laws)]
SOFTMAX, TARGET = "softmax_is_taken_once", "loss_favors_the_target"
SMOOTHING = "smoothed_targets_sum_to_one"
Loss = Callable[[Tensor, Tensor], Tensor]


def crossed(logits: Tensor, tgt_out: Tensor, **options: object) -> Tensor:
    """Cross-entropy over all places, as torch has it."""
    return F.cross_entropy(logits.flatten(end_dim=1), tgt_out.flatten(), **options)


def plain(logits: Tensor, tgt_out: Tensor) -> Tensor:
    return crossed(logits, tgt_out, ignore_index=PAD_ID)


def of_sum(logits: Tensor, tgt_out: Tensor) -> Tensor:
    return crossed(logits, tgt_out, ignore_index=PAD_ID, reduction="sum")


def smoothed(logits: Tensor, tgt_out: Tensor) -> Tensor:
    sums = label_smoothing_loss(logits, tgt_out, smoothing=0.2, pad_id=PAD_ID)
    return sums.loss / sums.tokens


def diverging(logits: Tensor, tgt_out: Tensor) -> Tensor:
    """Smoothed over all types but the true one and padding, as a divergence."""
    wanted = torch.full_like(logits, 0.2 / (logits.size(-1) - 2)).index_fill(
        -1, torch.tensor([PAD_ID]), 0.0
    )
    wanted = wanted.scatter(-1, tgt_out.unsqueeze(-1), 0.8) * (tgt_out != PAD_ID).unsqueeze(-1)
    return F.kl_div(logits.log_softmax(-1), wanted, reduction="sum") / (tgt_out != PAD_ID).sum()


def of_log_probs(log_probs: Tensor, tgt_out: Tensor) -> Tensor:
    return F.nll_loss(log_probs.flatten(end_dim=1), tgt_out.flatten(), ignore_index=PAD_ID)


SOUND: dict[str, Loss] = {
    "a mean": plain,
    "a sum": of_sum,
    "a sum for each sentence": lambda logits, out: of_sum(logits, out) / len(out),
    "smoothed over all": smoothed,
    "smoothed over all but two": diverging,
}


def test_kept_by_sound_losses() -> None:
    for loss in SOUND.values():
        for name in NAMES:
            expect(small().replace(loss=loss), name, "kept")


def giving(adapter: Adapter, what: Callable[[Tensor], Tensor]) -> Adapter:
    """The adapter whose model gives something made of its logits."""
    forward = adapter.forward
    return adapter.replace(forward=lambda src, tgt_in: what(forward(src, tgt_in)))


def test_a_model_may_give_what_its_loss_wants() -> None:
    bare = small().replace(loss=of_log_probs)
    log_probs = giving(bare, lambda logits: logits.log_softmax(-1))
    other = small().replace(loss=lambda given, out: of_log_probs(given.log(), out))
    probabilities = giving(other, lambda logits: logits.softmax(-1))
    for name in NAMES:
        expect(log_probs, name, "kept")
        expect(probabilities, name, "kept")
    expect(bare, SOFTMAX, "broken")


def test_targets_shifted_twice_and_another_unit_are_found() -> None:
    twice = small().replace(loss=lambda logits, out: plain(logits[:, :-1], out[:, 1:]))
    expect(twice, TARGET, "broken", "position 0")
    bits = small().replace(loss=lambda logits, out: plain(logits, out) / 0.6931)
    expect(bits, SMOOTHING, "warned")


def sharing(true: float, other: float) -> Loss:
    """A loss towards these two probabilities, whatever they sum to."""

    def loss(logits: Tensor, tgt_out: Tensor) -> Tensor:
        log_probs = logits.log_softmax(-1)
        wanted = torch.full_like(log_probs, other)
        wanted.scatter_(-1, tgt_out[..., None], true)
        return -(wanted * log_probs).sum(-1)[tgt_out != PAD_ID].mean()

    return loss


def test_a_smoothed_target_that_does_not_sum_to_one_is_found() -> None:
    for true, other in (
        (0.9, 0.1 / 29),  # the true token's own share is missing
        (0.9, 0.1 / 27),  # divided by two fewer, and padding has a share too
        (1.0, 0.1 / 28),  # nothing taken from the true token
    ):
        seen = f"{true + 28 * other:.6g} in all"
        expect(small().replace(loss=sharing(true, other)), SMOOTHING, "broken", seen)


def test_what_is_no_cross_entropy_has_no_mass() -> None:
    def focal(logits: Tensor, tgt_out: Tensor) -> Tensor:
        true = logits.log_softmax(-1).gather(-1, tgt_out[..., None])
        return (-((1 - true.exp()) ** 2) * true).mean()

    expect(small().replace(loss=focal), SMOOTHING, "not tried")
