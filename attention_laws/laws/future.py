"""No position sees the future, padding or other sentences (§3.1, §3.2.3)."""

import contextlib

import torch

from attention_laws.law import CANNOT, Subject, law, rounding_aside
from attention_laws.report import Finding, Verdict, broken, kept
from attention_laws.untouched import evaluating

LENGTHS = (2, 3, 7)
PADDED = (1, 3)  # places of padding that are added
BATCHES = (1, 2, 7)
DRAWS = 8


@law()
@rounding_aside
def decoder_is_causal(subject: Subject) -> Finding:
    """A later target token changes nothing at an earlier position.

    Means: the decoder's self-attention has no causal mask, or one that is inverted, shifted by
    a place, or broadcast over the wrong axis; in training alone: dropout before the softmax
    Look: where the decoder's self-attention gets its mask; is True may attend, or hidden?
    """
    found = _unmoved_before(subject, LENGTHS)
    if found.verdict == Verdict.KEPT and subject.adapter.module is not None:
        with contextlib.suppress(*CANNOT):
            for each in subject.module.modules():
                each.training = True
            ids = subject.src(1, 5), subject.tgt_in(1, LENGTHS[-1])
            again = _unmoved_before(subject, LENGTHS[-1:])
            same = [subject.logits(*ids).nan_to_num() for _ in range(DRAWS)]
            # Dropout that is sound moves the logits of one draw against another's.
            if again.verdict == Verdict.BROKEN and all(torch.equal(same[0], one) for one in same):
                found = broken(f"in training mode, {again.seen}")
        evaluating(subject.module)
    return found


def _unmoved_before(subject: Subject, lengths: tuple[int, ...]) -> Finding:
    for length in lengths:
        src, tgt_in = subject.src(1, 5), subject.tgt_in(1, length)
        logits = subject.logits(src, tgt_in)
        for place in range(1, length):
            other = subject.changed(tgt_in, place)
            moved = (subject.logits(src, other) - logits)[0].abs().amax(dim=-1)
            if seen := [at for at in range(place) if not moved[at] <= subject.tolerance]:
                by = f"move by up to {float(moved[:place].max()):.2g}"
                token = int(other[0, place])
                said = f"with {token} at position {place} the logits at {seen} {by}"
                return broken(said, tgt_in=tgt_in[0])
    return kept(f"each token of {max(lengths)} changed in turn: no logits before it move")


@law("pad_id")
@rounding_aside
def source_padding_is_ignored(subject: Subject) -> Finding:
    """Padding after a source changes nothing.

    Means: the padding mask is missing, inverted, not passed on to every layer, made from
    something else than the ids, or broadcast over the wrong axis
    Look: at the masks of the encoder's self-attention and of cross-attention: both need one
    """
    return _padded(subject, "src")


@law("pad_id")
@rounding_aside
def target_padding_is_ignored(subject: Subject) -> Finding:
    """Padding after a target changes nothing before it.

    Means: the decoder has no causal mask, or something is computed over all positions
    Look: at the decoder's mask
    """
    return _padded(subject, "tgt_in")


def _padded(subject: Subject, side: str) -> Finding:
    for batch in BATCHES:
        src, tgt_in = subject.src(batch, 4), subject.tgt_in(batch, 3)
        logits = subject.logits(src, tgt_in)
        for number in PADDED:
            given = {"src": src, "tgt_in": tgt_in}
            given[side] = subject.padded(given[side], number)
            found = subject.logits(given["src"], given["tgt_in"])[:, : tgt_in.shape[1]]
            if moved := subject.differ(found, logits):
                said = f"{number} of padding moves the logits of a batch of {batch} by {moved:.2g}"
                return broken(said, **{side: given[side][0]})
    return kept(f"up to {max(PADDED)} places of padding move nothing in batches of {BATCHES}")


@law("pad_id")
@rounding_aside
def batch_rows_are_independent(subject: Subject) -> Finding:
    """A sentence has the same logits alone and in a batch.

    Means: the padding mask takes one sentence's lengths for all, or an axis of the batch is
    mixed with another: positions over the batch, a view in place of a transpose
    Look: at each view, reshape and sum over axis 0
    """
    for batch in BATCHES[1:]:
        sources = [subject.src(1, 3 + i) for i in range(batch)]
        targets = [subject.tgt_in(1, 2 + (5 * i) % 7) for i in range(batch)]
        longest = max(each.shape[1] for each in sources), max(each.shape[1] for each in targets)
        src = torch.cat([subject.padded(each, longest[0] - each.shape[1]) for each in sources])
        tgt_in = torch.cat([subject.padded(each, longest[1] - each.shape[1]) for each in targets])
        together = subject.logits(src, tgt_in)
        for row, (source, target) in enumerate(zip(sources, targets, strict=True)):
            alone = subject.logits(source, target)
            if moved := subject.differ(together[row : row + 1, : target.shape[1]], alone):
                said = f"{moved:.2g} apart alone and as sentence {row + 1} of {batch}"
                return broken(said, src=source[0], tgt_in=target[0])
    return kept(f"sentences of batches of {BATCHES[1:]} have the logits they have alone")
