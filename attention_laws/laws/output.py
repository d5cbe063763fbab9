"""What a model gives is logits: of the right shape, numbers, of either sign (§3.4)."""

from attention_laws.law import Subject, law
from attention_laws.report import Finding, broken, kept, not_tried

SIZES = ((1, 3, 2), (2, 5, 4), (3, 2, 7))  # batch, src_len, tgt_len


@law(
    says="Logits are (batch, tgt_len, vocabulary), whatever the lengths are.",
    means="an axis is lost or swapped, or a length is that of the other side",
    look="at the last view, reshape or transpose",
    compares=False,
)
def shape(subject: Subject) -> Finding:
    """Run batches of several sizes."""
    width = subject.adapter.tgt_vocab_size
    for batch, src_len, tgt_len in SIZES:
        src, tgt_in = subject.src(batch, src_len), subject.tgt_in(batch, tgt_len)
        given = f"src {tuple(src.shape)}, tgt_in {tuple(tgt_in.shape)}"
        try:
            found = tuple(subject.logits(src, tgt_in).shape)
        except (RuntimeError, IndexError, ValueError) as error:
            if (batch, src_len, tgt_len) == SIZES[0]:
                raise
            return broken(f"{given}: it raises {' '.join(str(error).split())[:100]}")
        if len(found) != 3 or found[:2] != tuple(tgt_in.shape) or found[2] < width:
            return broken(f"{given}: logits are {found}, not {(batch, tgt_len, width)}")
    return kept(f"logits of {len(SIZES)} batches are (batch, tgt_len, {width})")


@law(
    says="Logits are finite numbers.",
    means="a softmax over a row of minus infinities, a root or logarithm of 0, a division by 0",
    look="at the first layer whose output is not finite",
    compares=False,
)
def finite(subject: Subject) -> Finding:
    """Run sentences of several lengths, one padded."""
    for batch, src_len, tgt_len in SIZES:
        src, tgt_in = subject.src(batch, src_len), subject.tgt_in(batch, tgt_len)
        if subject.adapter.pad_id is not None:
            src = subject.padded(src, 1)
        logits = subject.logits(src, tgt_in)
        odd = ~logits.isfinite()
        if bool(odd.any()):
            row = int(odd.flatten(1).any(dim=1).int().argmax())
            what = "NaN" if bool(logits.isnan().any()) else "infinite"
            return broken(
                f"src {src[row].tolist()}, tgt_in {tgt_in[row].tolist()}: {int(odd.sum())} of "
                f"{odd.numel()} logits are {what}"
            )
    return kept("all logits are finite")


@law(
    says="Some logits are below 0.",
    means="a ReLU or a softmax stands between the last layer and the loss",
    look="at what follows the output layer",
)
def some_below_zero(subject: Subject) -> Finding:
    """Look at the logits of a batch."""
    logits = subject.logits(subject.src(4, 5), subject.tgt_in(4, 4))
    if bool((logits < 0).any()):
        return kept(f"{float((logits < 0).float().mean()):.0%} of the logits are below 0")
    if bool((logits.sum(dim=-1) - 1).abs().max() < 1e-3):
        if subject.adapter.loss is not None:
            return not_tried("it gives probabilities: see `loss_takes_what_it_is_given`")
        return broken("each place sums to 1: these are probabilities, and a loss takes logits")
    zeros = float((logits == 0).float().mean())
    return broken(
        f"the least of {logits.numel()} logits is {float(logits.min()):.2g}, {zeros:.0%} are 0"
    )


LAWS = (shape, finite, some_below_zero)
