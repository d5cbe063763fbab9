"""No position sees the future (§3.1, §3.2.3)."""

import torch
from torch import Tensor, nn

from attention_laws.law import Subject, law, rounding_aside
from attention_laws.report import Finding, broken, kept, not_tried
from attention_laws.untouched import hooked

LENGTHS = (2, 3, 7)


@law(
    says="A later target token changes nothing at an earlier position.",
    means="the decoder's self-attention has no causal mask, or one that is inverted, shifted "
    "by a place, or broadcast over the wrong axis",
    look="where the decoder's self-attention gets its mask; does True mean may attend, or hidden?",
)
@rounding_aside
def no_future(subject: Subject) -> Finding:
    """Change each target token in turn; what stands before it must not move."""
    vocab_size = subject.adapter.tgt_vocab_size
    for length in LENGTHS:
        src, tgt_in = subject.src(1, 5), subject.tgt_in(1, length)
        logits = subject.logits(src, tgt_in)
        for place in range(1, length):
            other = tgt_in.clone()
            other[0, place] = subject.other_id(int(tgt_in[0, place]), vocab_size)
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
    found = gradients(subject, src, tgt_in, tgt_in)
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


def gradients(subject: Subject, src: Tensor, tgt_in: Tensor, ids: Tensor) -> Tensor | None:
    """Measure how the logits at each position hang on what each id was embedded as.

    Args:
        subject: The model.
        src: Source ids, (1, src_len).
        tgt_in: Target ids, (1, tgt_len).
        ids: Either of them.

    Returns:
        Largest gradient, (tgt_len, length of ids); None where no embedding reads these ids.
    """
    rows: list[Tensor] = []

    def note(_: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor | None:
        given = inputs[0] if inputs else None  # a table of positions may be asked for a length
        if not isinstance(given, Tensor) or given.numel() != ids.numel():
            return None
        if torch.equal(given.flatten(), ids.flatten()):
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
        sizes = [grad.reshape(ids.numel(), -1).abs().amax(dim=-1) for grad in given]
        found.append(torch.stack(sizes).sum(dim=0))
    return torch.stack(found)


LAWS = (no_future, no_gradient_from_the_future)
