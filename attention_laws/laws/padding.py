"""Padding and company change nothing (§3.2.3)."""

import torch

from attention_laws.law import Subject, law, rounding_aside
from attention_laws.report import NO_PADDING, Finding, broken, kept, not_tried

PADDED = (1, 3)  # places of padding that are added
BATCHES = (1, 2, 7)
MEANS = (
    "the padding mask is missing, inverted, not passed on to every layer, made from something "
    "else than the ids, or broadcast over the wrong axis"
)


def _no_padding(subject: Subject) -> Finding | None:
    if subject.adapter.pad_id is None:
        return not_tried(NO_PADDING)
    return None


@law(
    says="Padding after a source changes nothing.",
    means=MEANS,
    look="at the masks of the encoder's self-attention and of cross-attention: both need the "
    "source's",
)
@rounding_aside
def source_padding(subject: Subject) -> Finding:
    """Append padding to a source."""
    return _no_padding(subject) or _padded(subject, "src")


@law(
    says="Padding after a target changes nothing before it.",
    means="the decoder has no causal mask, or something is computed over all positions",
    look="at the decoder's mask",
)
@rounding_aside
def target_padding(subject: Subject) -> Finding:
    """Append padding to a target; look at the positions before it."""
    return _no_padding(subject) or _padded(subject, "tgt_in")


def _padded(subject: Subject, side: str) -> Finding:
    for batch in BATCHES:
        src, tgt_in = subject.src(batch, 4), subject.tgt_in(batch, 3)
        logits = subject.logits(src, tgt_in)
        for number in PADDED:
            given = {"src": src, "tgt_in": tgt_in}
            given[side] = subject.padded(given[side], number)
            found = subject.logits(given["src"], given["tgt_in"])[:, : tgt_in.shape[1]]
            moved = subject.differ(found, logits)
            if moved:
                return broken(
                    f"{side} {given[side][0].tolist()}: {number} of padding moves the logits of a "
                    f"batch of {batch} by {moved:.2g}"
                )
    return kept(f"up to {max(PADDED)} places of padding move nothing in batches of {BATCHES}")


@law(
    says="A sentence has the same logits alone and in a batch.",
    means="the padding mask takes one sentence's lengths for all, or an axis of the batch is "
    "mixed with another: positions over the batch, a view in place of a transpose",
    look="at each view, reshape and sum over axis 0",
)
@rounding_aside
def company(subject: Subject) -> Finding:
    """Compare each sentence of a padded batch with itself alone."""
    if subject.adapter.pad_id is None:
        return not_tried("the model has no padding (pad_id=None), so its batches are of one length")
    for batch in BATCHES[1:]:
        sources = [subject.src(1, 3 + i) for i in range(batch)]
        targets = [subject.tgt_in(1, 2 + (5 * i) % 7) for i in range(batch)]
        longest = max(each.shape[1] for each in sources), max(each.shape[1] for each in targets)
        src = torch.cat([subject.padded(each, longest[0] - each.shape[1]) for each in sources])
        tgt_in = torch.cat([subject.padded(each, longest[1] - each.shape[1]) for each in targets])
        together = subject.logits(src, tgt_in)
        for row, (source, target) in enumerate(zip(sources, targets, strict=True)):
            alone = subject.logits(source, target)
            moved = subject.differ(together[row : row + 1, : target.shape[1]], alone)
            if moved:
                return broken(
                    f"src {source[0].tolist()}, tgt_in {target[0].tolist()}: {moved:.2g} apart "
                    f"alone and as sentence {row + 1} of {batch}"
                )
    return kept(f"sentences of batches of {BATCHES[1:]} have the logits they have alone")


@law(
    says="Padding before a source changes nothing, where the model is fed so.",
    means="positions count the padding, or the mask supposes that it stands at the end",
    look="at how positions are counted",
)
@rounding_aside
def left_padding(subject: Subject) -> Finding:
    """Put padding before a source."""
    if subject.adapter.pad_id is None or not subject.adapter.left_padding:
        return not_tried("the adapter does not say that padding may stand before a source")
    src, tgt_in = subject.src(2, 4), subject.tgt_in(2, 3)
    before = torch.full((2, 3), subject.adapter.pad_id)
    given = torch.cat((before, src), dim=1)
    moved = subject.differ(subject.logits(given, tgt_in), subject.logits(src, tgt_in))
    if moved:
        return broken(f"src {given[0].tolist()}: the padding before it moves logits by {moved:.2g}")
    return kept("3 places of padding before a source move nothing")


LAWS = (source_padding, target_padding, company, left_padding)
