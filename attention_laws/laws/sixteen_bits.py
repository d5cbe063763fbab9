"""Numbers where there is little room for them: 16 bits, and rows in which all is hidden."""

import torch
from torch import Tensor

from attention_laws.law import Subject, law, needed
from attention_laws.report import Finding, broken, kept, not_tried, warned


@law("pad_id")
def all_padding_source_is_harmless(subject: Subject) -> Finding:
    """A source of padding alone does not spoil the batch it is in.

    Means: the softmax over minus infinities alone is NaN: do such sources get into a batch?
    Look: at what fills the scores of hidden places, and at what reads the corpus
    """
    src, tgt_in = subject.src(2, 4), subject.tgt_in(2, 3)
    wanted = subject.logits(src, tgt_in)
    src[1] = needed(subject.adapter.pad_id)
    try:
        found = subject.logits(src, tgt_in)
    except (RuntimeError, ValueError) as error:
        return not_tried(f"the model refuses a source of padding alone: {str(error)[:100]}")
    if moved := subject.differ(found[0], wanted[0]):
        said = f"beside {src[1].tolist()}, all of it padding, its logits move by {moved:.2g}"
        return broken(said, src=src[0])
    if not bool(found[1].isfinite().all()):
        said = "all of it padding, gives logits that are not finite: one such row in a batch makes"
        return warned(f"src {src[1].tolist()}, {said} every gradient NaN")
    return kept("a source of padding alone gives finite logits, and leaves other rows alone")


def _in(subject: Subject, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    """Draw two pairs, and give their logits where autocast computes what it can in `dtype`."""
    src, tgt_in = subject.sources(2, 7), subject.tgt_in(2, 5)
    with torch.autocast("cpu", dtype=dtype):
        return src, tgt_in, subject.logits(src, tgt_in).float()


@law()
def logits_are_finite_in_bfloat16(subject: Subject) -> Finding:
    """In bfloat16 the logits are finite.

    Means: two additive masks of the smallest float add up to minus infinity, or a norm divides
    by something that 8 bits of precision round to 0
    Look: at how masks are joined, and at each epsilon
    """
    src, tgt_in, found = _in(subject, torch.bfloat16)
    logits = subject.logits(src, tgt_in)
    if not bool(found.isfinite().all()):
        row = int((~found.isfinite()).any(dim=-1).any(dim=-1).int().argmax())
        said = f"logits in bfloat16 are not finite, those in {logits.dtype} are"
        return broken(said, src=src[row], tgt_in=tgt_in[row])
    moved = float((found - logits).abs().max())
    return kept(f"logits in bfloat16 are finite, up to {moved:.2g} from those in 32 bits")


@law()
def logits_are_finite_in_float16(subject: Subject) -> Finding:
    """In float16 the logits are finite.

    Means: a mask of -1e9 does not fit into float16; older GPUs, as Colab's T4, are slow at bfloat16
    Look: at masked_fill: -inf, or torch.finfo(scores.dtype).min, fits always
    """
    try:
        src, _, found = _in(subject, torch.float16)
    except RuntimeError as error:
        if "without overflow" not in str(error):
            raise
        where = "a number in it, such as -1e9 in a mask, is beyond 65504, the largest of float16"
        return warned(f"under autocast to float16 the model raises: {where}")
    if not bool(found.isfinite().all()):
        return warned(f"src {src.tolist()}: logits in float16 are not finite")
    return kept("logits in float16 are finite")
