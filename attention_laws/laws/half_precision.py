"""Numbers with little room: 16 bits, and rows in which everything is masked."""

import torch
from torch import Tensor

from attention_laws.law import assert_not_none, law
from attention_laws.report import (
    Finding,
    broken_finding,
    kept_finding,
    not_tried_finding,
    noted_finding,
    warned_finding,
)
from attention_laws.subject import Subject

LAW_MODULE_SORT_KEY = 90


@law("pad_id", reads_source=True)
def all_padding_source_is_harmless(subject: Subject) -> Finding:
    """A source of padding alone does not spoil the batch it is in.

    Means: the softmax over minus infinities alone is NaN: do such sources get into a batch?
    Look: at what fills the scores of masked positions, and at what reads the corpus
    """
    src, tgt_in = subject.draw_src(2, 4), subject.draw_tgt_in(2, 3)
    expected = subject.logits(src, tgt_in)
    src[1] = assert_not_none(subject.adapter.pad_id)
    try:
        logits = subject.logits(src, tgt_in)
    except (RuntimeError, ValueError) as error:
        return not_tried_finding(f"the model refuses a source of padding alone: {str(error)[:100]}")
    moved = subject.difference_or_zero_if_tolerated(logits[0], expected[0])
    if moved:
        seen = f"beside {src[1].tolist()}, all of it padding, its logits move by {moved:.2g}"
        return broken_finding(seen, src=src[0])
    if not bool(logits[1].isfinite().all()):
        seen = f"src {src[1].tolist()}, all of it padding, gives logits that are not finite"
        return warned_finding(f"{seen}: one such row in a batch makes every gradient NaN")
    return kept_finding(
        "a source of padding alone gives finite logits, and leaves other rows alone"
    )


def _draw_batch_and_autocast_logits(
    subject: Subject, dtype: torch.dtype
) -> tuple[Tensor, Tensor, Tensor]:
    """Draw two pairs; return them and their logits under autocast to `dtype`."""
    src, tgt_in = subject.draw_padded_src(2, 7), subject.draw_tgt_in(2, 5)
    with torch.autocast("cpu", dtype=dtype):
        return src, tgt_in, subject.logits(src, tgt_in).float()


@law()
def logits_are_finite_in_bfloat16(subject: Subject) -> Finding:
    """In bfloat16 the logits are finite.

    Means: two additive masks of the smallest float add up to minus infinity, or a norm divides
    by something that 8 bits of precision round to 0
    Look: at how masks are joined, and at each epsilon
    """
    src, tgt_in, in_bfloat16 = _draw_batch_and_autocast_logits(subject, torch.bfloat16)
    logits = subject.logits(src, tgt_in)
    is_finite = in_bfloat16.isfinite()
    if not bool(is_finite.all()):
        row = int((~is_finite).any(dim=-1).any(dim=-1).int().argmax())
        seen = f"logits in bfloat16 are not finite, those in {logits.dtype} are"
        return broken_finding(seen, src=src[row], tgt_in=tgt_in[row])
    moved = float((in_bfloat16 - logits).abs().max())
    return kept_finding(f"logits in bfloat16 are finite, up to {moved:.2g} from those in float32")


@law()
def logits_are_finite_in_float16(subject: Subject) -> Finding:
    """In float16 the logits are finite.

    Means: a mask of -1e9 does not fit into float16; older GPUs, as Colab's T4, are slow at bfloat16
    Look: at masked_fill: -inf, or torch.finfo(scores.dtype).min, always fits
    """
    try:
        src, tgt_in, logits = _draw_batch_and_autocast_logits(subject, torch.float16)
    except RuntimeError as error:
        if "without overflow" not in str(error):
            raise
        cause = "a number in it, such as -1e9 in a mask, is beyond 65504, the largest of float16"
        return noted_finding(f"under autocast to float16 the model raises: {cause}")
    if not bool(logits.isfinite().all()):
        return noted_finding("logits in float16 are not finite", src=src, tgt_in=tgt_in)
    return kept_finding("logits in float16 are finite")
