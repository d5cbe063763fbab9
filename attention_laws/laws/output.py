"""What a model gives: logits, numbers in 16 bits too, drawn in training alone (§3.4, §5.4)."""

import torch
from torch import Tensor, nn

from attention_laws.law import Subject, law, needed
from attention_laws.report import Finding, broken, kept, not_tried, warned
from attention_laws.untouched import hooked
from attention_laws.watch import FUSED, watching

SIZES = ((1, 3, 2), (2, 5, 4), (3, 2, 7))  # batch, src_len, tgt_len
DRAWS = 8  # passes in training mode before dropout is said to do nothing


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


@law(
    says="In evaluation mode the same input gives the same logits.",
    means="dropout is on in evaluation: a functional call without training=self.training, a "
    "layer that no eval() reaches, or eval() was forgotten",
    look="at each F.dropout, and at layers kept in a plain list",
    compares=False,
)
def repeats(subject: Subject) -> Finding:
    """Run twice with other random numbers."""
    src, tgt_in = subject.src(1, 3), subject.tgt_in(1, 2)
    torch.manual_seed(1)
    with torch.no_grad():
        first = subject.adapter.forward(src, tgt_in)
        torch.manual_seed(2)
        second = subject.adapter.forward(src, tgt_in)
    moved = float((first - second).abs().nan_to_num(0).max())
    if moved > 0:
        return broken(f"src {src.tolist()}, tgt_in {tgt_in.tolist()}, run twice: {moved:.2g} apart")
    return kept("twice the same input gave equal logits")


@law(
    says="In training mode dropout changes the logits from pass to pass.",
    means="a dropout layer is made and never called, or train() does not reach it",
    look="at forward: is the layer's result used?",
    needs=("module",),
)
def dropout_in_training(subject: Subject) -> Finding:
    """Run in training mode with other random numbers."""
    module = subject.module
    layers = {n: m for n, m in module.named_modules() if isinstance(m, nn.Dropout) and m.p > 0}
    rates = [each.p for each in layers.values()]
    src, tgt_in = subject.src(2, 7), subject.tgt_in(2, 5)
    module.train()
    torch.manual_seed(0)
    called: set[nn.Module] = set()
    handles = [m.register_forward_pre_hook(lambda m, _: called.add(m)) for m in layers.values()]
    with hooked(handles), watching() as calls:
        first = subject.adapter.forward(src, tgt_in).detach()
    fused = any(each.name == FUSED for each in calls)  # which is given the rate alone
    idle = [n for n, each in layers.items() if each not in called and not (fused and "att" in n)]
    if idle:
        return broken(f"{idle[0]}, an nn.Dropout of {layers[idle[0]].p}, is made and never called")
    for draw in range(1, DRAWS):
        torch.manual_seed(draw)
        if not torch.equal(first, subject.adapter.forward(src, tgt_in)):
            return kept("in training mode the logits vary")
    if not any(rates):
        return not_tried("it has no nn.Dropout with a probability above 0")
    return broken(f"with dropout of up to {max(rates)} the logits of {DRAWS} passes are equal")


def _sentences(subject: Subject) -> tuple[Tensor, Tensor]:
    """Draw two pairs, the second source short and padded."""
    src, tgt_in = subject.src(2, 7), subject.tgt_in(2, 5)
    if subject.adapter.pad_id is not None:
        src[1, 2:] = subject.adapter.pad_id
    return src, tgt_in


def _in(subject: Subject, dtype: torch.dtype, src: Tensor, tgt_in: Tensor) -> Tensor:
    """Give the logits where autocast computes what it can in `dtype`."""
    with torch.autocast("cpu", dtype=dtype):
        return subject.logits(src, tgt_in).float()


@law(
    says="In bfloat16 the logits are finite.",
    means="two additive masks of the smallest float add up to minus infinity, or a norm "
    "divides by something that 8 bits of precision round to 0",
    look="at how masks are joined, and at each epsilon",
)
def bfloat16(subject: Subject) -> Finding:
    """Run two sentences in bfloat16."""
    src, tgt_in = _sentences(subject)
    logits = subject.logits(src, tgt_in).float()
    found = _in(subject, torch.bfloat16, src, tgt_in)
    if not bool(found.isfinite().all()):
        row = int((~found.isfinite()).any(dim=-1).any(dim=-1).int().argmax())
        return broken(
            f"src {src[row].tolist()}, tgt_in {tgt_in[row].tolist()}: logits in bfloat16 are not "
            f"finite, those in {logits.dtype} are"
        )
    moved = float((found - logits).abs().max())
    return kept(f"logits in bfloat16 are finite, up to {moved:.2g} from those in 32 bits")


@law(
    says="In float16 the logits are finite.",
    means="a mask of -1e9 does not fit into float16; bfloat16 has room for it, older GPUs, "
    "such as Colab's T4, are slow at that",
    look="at masked_fill: -inf, or torch.finfo(scores.dtype).min, fits always",
)
def float16(subject: Subject) -> Finding:
    """Run two sentences in float16."""
    src, tgt_in = _sentences(subject)
    try:
        found = _in(subject, torch.float16, src, tgt_in)
    except RuntimeError as error:
        if "without overflow" not in str(error):
            raise
        return warned(
            "under autocast to float16 the model raises: a number in it, such as -1e9 in a mask, "
            "is beyond 65504, the largest of float16"
        )
    if not bool(found.isfinite().all()):
        return warned(f"src {src.tolist()}: logits in float16 are not finite")
    return kept("logits in float16 are finite")


@law(
    says="A source of padding alone does not spoil the batch it is in.",
    means="the softmax over a row of minus infinities is NaN, as it is in many sound models: "
    "do such sources get into a batch?",
    look="at what fills the scores of hidden places, and at what reads the corpus",
    needs=("pad_id",),
)
def empty_source(subject: Subject) -> Finding:
    """Put a source of padding alone beside another."""
    src, tgt_in = subject.src(2, 4), subject.tgt_in(2, 3)
    wanted = subject.logits(src, tgt_in)
    src[1] = needed(subject.adapter.pad_id)
    try:
        found = subject.logits(src, tgt_in)
    except (RuntimeError, ValueError) as error:
        return not_tried(f"the model refuses a source of padding alone: {str(error)[:100]}")
    moved = subject.differ(found[0], wanted[0])
    if moved:
        return broken(
            f"src {src[0].tolist()}: its logits move by {moved:.2g} with {src[1].tolist()}, all "
            "of it padding, in the other row"
        )
    if not bool(found[1].isfinite().all()):
        return warned(
            f"src {src[1].tolist()}, all of it padding, gives logits that are not finite: one such "
            "row in a batch makes every gradient NaN"
        )
    return kept("a source of padding alone gives finite logits, and leaves other rows alone")


LAWS = (shape, finite, some_below_zero, repeats, dropout_in_training)
NUMBER_LAWS = (empty_source, bfloat16, float16)
