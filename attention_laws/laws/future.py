"""No position sees the future, padding or other sentences (§3.1, §3.2.3)."""

import torch
from torch import Tensor, nn

from attention_laws.law import Subject, law, needed, rounding_aside
from attention_laws.report import Finding, broken, kept, not_tried
from attention_laws.untouched import hooked

LENGTHS = (2, 3, 7)
PADDED = (1, 3)  # places of padding that are added
BATCHES = (1, 2, 7)
MEANS = (
    "the padding mask is missing, inverted, not passed on to every layer, made from something "
    "else than the ids, or broadcast over the wrong axis"
)


@law(
    says="A later target token changes nothing at an earlier position.",
    means="the decoder's self-attention has no causal mask, or one that is inverted, shifted "
    "by a place, or broadcast over the wrong axis",
    look="where the decoder's self-attention gets its mask; does True mean may attend, or hidden?",
)
@rounding_aside
def no_future(subject: Subject) -> Finding:
    """Change each target token in turn; what stands before it must not move."""
    for length in LENGTHS:
        src, tgt_in = subject.src(1, 5), subject.tgt_in(1, length)
        logits = subject.logits(src, tgt_in)
        for place in range(1, length):
            other = subject.changed(tgt_in, place)
            moved = (subject.logits(src, other) - logits)[0].abs().amax(dim=-1)
            seen = [at for at in range(place) if moved[at] > subject.tolerance]
            if seen:
                return broken(
                    f"tgt_in {tgt_in[0].tolist()}: with {int(other[0, place])} at position "
                    f"{place} the logits at {seen} move by up to {float(moved[:place].max()):.2g}"
                )
    return kept(f"each token of {max(LENGTHS)} changed in turn: no logits before it move")


@law(
    says="Logits at a position have no gradient at later tokens' embeddings.",
    means="as `no_future`; or something is computed over all positions, such as a norm over "
    "the time axis or a mean over the sentence",
    look="as `no_future`, and at what is normalised over which axis",
    needs=("module",),
)
def no_gradient_from_the_future(subject: Subject) -> Finding:
    """Ask of the logits at a position for gradients at the embeddings of later ones."""
    src, tgt_in = subject.src(1, 5), subject.tgt_in(1, 5)
    found = _gradients(subject, src, tgt_in)
    if found is None:
        return not_tried("no nn.Embedding reads tgt_in as it is")
    if not bool(found.isfinite().all()):
        return not_tried(
            "gradients at the target's embeddings are no numbers: see `gradients_reach`"
        )
    largest = found.amax()
    above = torch.triu(found, diagonal=1)
    if above.amax() > 1e-6 * largest:
        at, place = divmod(int(above.argmax()), found.shape[1])
        share = float(above.amax() / largest)
        return broken(
            f"tgt_in {tgt_in[0].tolist()}: logits at position {at} have a gradient at position "
            f"{place}, {share:.2g} of the largest"
        )
    return kept(f"of {tgt_in.shape[1]} positions none has a gradient at a later one")


def _gradients(subject: Subject, src: Tensor, tgt_in: Tensor) -> Tensor | None:
    """Give each position's largest gradient at each id's embedding, (tgt_len, tgt_len).

    None where no embedding reads these ids.
    """
    rows: list[Tensor] = []

    def note(_: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor | None:
        given = inputs[0] if inputs else None  # a table of positions may be asked for a length
        if not isinstance(given, Tensor) or given.numel() != tgt_in.numel():
            return None
        if torch.equal(given.flatten(), tgt_in.flatten()):
            rows.append(output.detach().requires_grad_())
            return rows[-1]
        return None

    tables = [each for each in subject.module.modules() if isinstance(each, nn.Embedding)]
    with hooked(each.register_forward_hook(note) for each in tables):
        logits = subject.adapter.forward(src, tgt_in)[0]  # (tgt_len, vocab_size)
    if not rows:
        return None
    weights = torch.randn(logits.shape[1], generator=subject.generator).to(logits)
    found = []
    for scores in logits @ weights:
        given = torch.autograd.grad(scores, rows, retain_graph=True, materialize_grads=True)
        sizes = [grad.reshape(tgt_in.numel(), -1).abs().amax(dim=-1) for grad in given]
        found.append(torch.stack(sizes).sum(dim=0))
    return torch.stack(found)


@law(
    says="Padding after a source changes nothing.",
    means=MEANS,
    look="at the masks of the encoder's self-attention and of cross-attention: both need the "
    "source's",
    needs=("pad_id",),
)
@rounding_aside
def source_padding(subject: Subject) -> Finding:
    """Append padding to a source."""
    return _padded(subject, "src")


@law(
    says="Padding after a target changes nothing before it.",
    means="the decoder has no causal mask, or something is computed over all positions",
    look="at the decoder's mask",
    needs=("pad_id",),
)
@rounding_aside
def target_padding(subject: Subject) -> Finding:
    """Append padding to a target; look at the positions before it."""
    return _padded(subject, "tgt_in")


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
    needs=("pad_id",),
)
@rounding_aside
def company(subject: Subject) -> Finding:
    """Compare each sentence of a padded batch with itself alone."""
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
    needs=("pad_id", "left_padding"),
)
@rounding_aside
def left_padding(subject: Subject) -> Finding:
    """Put padding before a source."""
    src, tgt_in = subject.src(2, 4), subject.tgt_in(2, 3)
    before = torch.full((2, 3), needed(subject.adapter.pad_id))
    given = torch.cat((before, src), dim=1)
    moved = subject.differ(subject.logits(given, tgt_in), subject.logits(src, tgt_in))
    if moved:
        return broken(f"src {given[0].tolist()}: the padding before it moves logits by {moved:.2g}")
    return kept("3 places of padding before a source move nothing")


LAWS = (
    *(no_future, no_gradient_from_the_future),
    *(source_padding, target_padding, company, left_padding),
)
