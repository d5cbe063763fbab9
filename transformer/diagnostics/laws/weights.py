"""Attention weights are weights: what the adapter's `attention` gives (§3.2.1)."""

import torch
from torch import Tensor

from transformer.diagnostics.law import Law, Subject
from transformer.diagnostics.report import Finding, broken, kept

ROUNDING = 1e-3  # half precision included


def _maps(subject: Subject) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
    """Ask for the weights of two sentences, the second padded."""
    assert subject.adapter.attention is not None
    src, tgt_in = subject.src(2, 7), subject.tgt_in(2, 5)
    if subject.adapter.pad_id is not None:
        src[1, 5:] = subject.adapter.pad_id
    with torch.no_grad():
        return src, tgt_in, dict(subject.adapter.attention(src, tgt_in))


def _sum_to_one(subject: Subject) -> Finding:
    """Add up each row over the keys."""
    _, _, maps = _maps(subject)
    for name, weights in maps.items():
        sums = weights.float().sum(dim=-1)
        if bool((sums - 1).abs().max() > ROUNDING) or bool((weights < 0).any()):
            columns = weights.float().sum(dim=-2)
            over_queries = bool((columns - 1).abs().max() <= ROUNDING)
            hint = "; its columns do: the softmax is over the queries" if over_queries else ""
            return broken(
                f"{name}: rows sum to {float(sums.min()):.3g} to {float(sums.max()):.3g}{hint}"
            )
    return kept(f"every row of {len(maps)} maps sums to 1, and no weight is below 0")


def _hidden(subject: Subject) -> Finding:
    """Look for weight on padding, and on the future."""
    src, tgt_in, maps = _maps(subject)
    for name, weights in maps.items():
        queries, keys = weights.shape[-2:]
        if keys == src.shape[1] and subject.adapter.pad_id is not None:
            on_padding = float(weights[1, :, :, src[1] == subject.adapter.pad_id].max())
            if on_padding > 1e-6:
                return broken(f"{name}: a weight of {on_padding:.2g} on padding")
        if queries == keys == tgt_in.shape[1]:
            ahead = float(torch.triu(weights.float(), diagonal=1).max())
            if ahead > 1e-6:
                return broken(f"{name}: a weight of {ahead:.2g} on a later position")
    return kept(f"no weight of {len(maps)} maps is on padding or on a later position")


LAWS = (
    Law(
        name="rows_sum_to_one",
        says="The weights of each query sum to one over the keys.",
        means="the softmax is over the wrong axis, or the mask is applied after it",
        look="at the softmax's dim, and at what follows it",
        check=_sum_to_one,
        needs=("attention",),
    ),
    Law(
        name="nothing_on_what_is_hidden",
        says="No weight is on padding or on the future.",
        means="a mask is missing, inverted, or added where it should be filled in",
        look="at the scores just before the softmax",
        check=_hidden,
        needs=("attention",),
    ),
)
