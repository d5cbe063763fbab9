"""Norms have the epsilon that an adapter tells (not in the paper)."""

import torch
from torch import Tensor, nn

from attention_laws.law import assert_not_none, law
from attention_laws.laws.norms import norm_output, record_norm_inputs
from attention_laws.laws.word_scale import SRC_LEN, TGT_LEN, first_sizes_read_by_maps
from attention_laws.module_at_fault import describe_module
from attention_laws.report import Finding, broken_finding, kept_finding, not_tried_finding
from attention_laws.subject import MODEL_ERROR_TYPES, Subject

LAW_MODULE_SORT_KEY = 77
LARGE_WORDS = 10.0  # root mean square
MAX_EPSILON_MISFIT = 0.06  # of a share of the full size
MAX_RELATIVE_CHANGE = 0.02  # between sizes of words at both of which a norm levels them


@law("module", "norm_epsilon", compares=False)
def norm_epsilon_is_as_told(subject: Subject) -> Finding:
    """Norms add the epsilon that was told to the variance, or to its root.

    Means: the norm has the default of another library, or a number written out
    Look: at the epsilon in the norm that is named
    How: What has the variance of the epsilon is brought to the root of a half. Of norms that are
    no modules the first is tried, by the size of words.
    """
    told = float(assert_not_none(subject.adapter.norm_epsilon))
    count = 0
    inputs = {n: x for n, (x, of_heads) in record_norm_inputs(subject).items() if not of_heads}
    for name, x in inputs.items():
        norm = subject.module.get_submodule(name)
        centred = x - x.mean(dim=-1, keepdim=True)
        unit = centred / centred.square().mean(dim=-1, keepdim=True).sqrt().clamp(min=1e-12)
        try:
            full, in_root, added = (
                _size_of_norm_output(norm, size * unit) for size in (1.0, told**0.5, told)
            )
        except MODEL_ERROR_TYPES:  # By itself it may be called otherwise than in the model.
            continue
        # A norm whose scale begins as zero returns nothing.
        if full == 0:
            continue
        count += 1
        if not _explains_shares(in_root / full, added / full):
            where = describe_module(subject.module, name)
            return broken_finding(f"{where}: its epsilon is not {told:g}, which is told")
    if count:
        return kept_finding(f"{count} norms have an epsilon of {told:g}")
    if inputs:
        return not_tried_finding("each norm raises by itself, or returns nothing but zeros")
    return _judge_by_size_of_words(subject, told)


def _judge_by_size_of_words(subject: Subject, told: float) -> Finding:
    """Return whether the first maps read small words as an epsilon makes them."""
    src, tgt_in = subject.draw_src(1, SRC_LEN), subject.draw_tgt_in(1, TGT_LEN)
    large, *others = (
        first_sizes_read_by_maps(subject, src, tgt_in, size)
        for size in (LARGE_WORDS, 1.0, told**0.5, told, 0.0)
    )
    unit, in_root, added, zero = others
    # Where maps read something although words are zero, positions are added to words.
    levelled = [
        length
        for length, full in large.items()
        if full
        and all(length in sizes for sizes in others)
        and abs(unit[length] / full - 1) <= MAX_RELATIVE_CHANGE
        and not zero[length] > MAX_RELATIVE_CHANGE * full
    ]
    for length in levelled:
        shares = in_root[length] / large[length], added[length] / large[length]
        if not _explains_shares(*shares):
            side = "source" if length == SRC_LEN else "target"
            seen = f"words of the {side} whose variance is {told:g} are read at {shares[0]:.2g}"
            return broken_finding(f"{seen} of their full size, which no epsilon of {told:g} does")
    if not levelled:
        return not_tried_finding("no norm is a module, and none stands between words and a map")
    return kept_finding(f"the first norms of {len(levelled)} sides have an epsilon of {told:g}")


def _size_of_norm_output(norm: nn.Module, x: Tensor) -> float:
    """Return the size of a norm's output, without its shift."""
    return float((norm_output(norm, x) - norm_output(norm, torch.zeros_like(x))).norm())


def _explains_shares(in_root: float, added: float) -> bool:
    """Return whether an epsilon in the root, or one that is added to it, explains both shares.

    `in_root` is the share of its full size at which a norm leaves an input whose variance is the
    epsilon, `added` that of one whose root mean square it is.
    """
    return abs(in_root - 0.5**0.5) <= MAX_EPSILON_MISFIT or abs(added - 0.5) <= MAX_EPSILON_MISFIT
