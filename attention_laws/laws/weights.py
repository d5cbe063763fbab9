"""Attention weights are weights: what the adapter's `attention` gives (§3.2.1)."""

import torch
from torch import Tensor

from attention_laws.law import Subject, law, needed
from attention_laws.report import Finding, broken, kept, warned

ROUNDING = 1e-3  # half precision included


def _maps(subject: Subject) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
    """Ask for the weights of two sentences, the second padded."""
    src, tgt_in = subject.src(2, 7), subject.tgt_in(2, 5)
    if subject.adapter.pad_id is not None:
        src[1, 5:] = subject.adapter.pad_id
    with torch.no_grad():
        return src, tgt_in, dict(needed(subject.adapter.attention)(src, tgt_in))


@law(
    says="The weights of each query sum to one over the keys.",
    means="the softmax is over the wrong axis, or the mask is applied after it",
    look="at the softmax's dim, and at what follows it",
    needs=("attention",),
)
def rows_sum_to_one(subject: Subject) -> Finding:
    """Add up each row over the keys."""
    _, _, maps = _maps(subject)
    for name, weights in maps.items():
        sums = weights.float().sum(dim=-1)
        if bool((sums - 1).abs().max() > ROUNDING) or bool((weights < 0).any()):
            columns = weights[0].float().sum(dim=-2)  # of the sentence without padding
            over_queries = bool((columns - 1).abs().max() <= ROUNDING)
            hint = "; its columns do: the softmax is over the queries" if over_queries else ""
            return broken(
                f"{name}: rows sum to {float(sums.min()):.3g} to {float(sums.max()):.3g}{hint}"
            )
    return kept(f"every row of {len(maps)} maps sums to 1, and no weight is below 0")


@law(
    says="No weight is on padding or on the future.",
    means="a mask is missing, inverted, or added where it should be filled in",
    look="at the scores just before the softmax",
    needs=("attention",),
)
def nothing_on_what_is_hidden(subject: Subject) -> Finding:
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


@law(
    says="Every place that may be seen has some weight.",
    means="a mask hides too much: a causal mask on the encoder or on cross-attention, or a "
    "diagonal that is a place off; or attention is local on purpose",
    look="at which mask goes to which attention",
    needs=("attention",),
)
def weight_on_all_that_may_be_seen(subject: Subject) -> Finding:
    """Look for places that may be seen and have no weight at all."""
    src, tgt_in, maps = _maps(subject)
    for name, weights in maps.items():
        queries, keys = weights.shape[-2:]
        if keys not in (src.shape[1], tgt_in.shape[1]):
            continue
        may = torch.ones(queries, keys, dtype=torch.bool)
        if queries == keys == tgt_in.shape[1]:
            may = may.tril()
        dark = (may & (weights[0] == 0)).nonzero().tolist()  # of the sentence without padding
        if dark:
            head, query, key = dark[0]
            return warned(f"{name}, head {head}: position {query} has no weight on {key}")
    return kept(f"each position of {len(maps)} maps has some weight on all that it may see")


LAWS = (rows_sum_to_one, nothing_on_what_is_hidden, weight_on_all_that_may_be_seen)
