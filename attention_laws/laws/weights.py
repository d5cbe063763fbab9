"""Attention weights are weights: as the adapter gives them, or as they are computed (§3.2.1)."""

from collections import Counter

import torch
from torch import Tensor

from attention_laws.errors import NothingSeenError
from attention_laws.law import Subject, law
from attention_laws.report import Finding, broken, kept, not_tried, warned
from attention_laws.watch import Attention, attentions

ROUNDING = 1e-3  # half precision included
SRC_LEN, TGT_LEN = 7, 5
KINDS = {SRC_LEN: "encoder", TGT_LEN: "decoder"}


def _maps(subject: Subject) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
    """Give the weights of two sentences, the second padded, one after the other."""
    src, tgt_in = subject.sources(2, SRC_LEN), subject.tgt_in(2, TGT_LEN)
    with torch.no_grad():
        if subject.adapter.attention is not None:
            return src, tgt_in, dict(subject.adapter.attention(src, tgt_in))
        rows = [seen(subject, src[row : row + 1], tgt_in[row : row + 1]) for row in (0, 1)]
    if not rows[0] or len(rows[0]) != len(rows[1]):
        raise NothingSeenError("the adapter has no attention, and no softmax over keys was seen")
    names: Counter[str] = Counter()
    maps = {}
    for one, other in zip(*rows, strict=True):
        shape = one.weights.shape[-2:]
        kind = "cross" if shape[0] != shape[1] else KINDS[shape[0]]
        both = [each.weights.reshape(1, -1, *shape) for each in (one, other)]
        maps[f"{kind} {names[kind]}"] = torch.cat(both)
        names[kind] += 1
    return src, tgt_in, maps


def seen(subject: Subject, src: Tensor, tgt_in: Tensor) -> list[Attention]:
    """Give the attentions of a batch, as the model computes them."""
    return attentions(subject.calls(src, tgt_in), {src.shape[1], tgt_in.shape[1]})


@law()
def scores_are_scaled_by_sqrt_d_k(subject: Subject) -> Finding:
    """Scores are queries times keys, divided by the square root of d_k (Eq. 1).

    Means: the root is of another width, or missing, or taken twice
    Look: at the line that divides the scores, and at what the width is there
    How: Between two sentences of equal length what is added to scores, as masks are, falls out.
    """
    with torch.no_grad():
        found = seen(subject, subject.src(2, SRC_LEN), subject.tgt_in(2, TGT_LEN))
    factors = []
    for number, each in enumerate(found):
        if each.product is None or each.scores is None or each.d_k < 2:
            continue
        factor = _factor(each.product, each.scores)
        if factor is None:
            continue
        factor *= each.factor
        factors.append(factor * each.d_k**0.5)
        if abs(factors[-1] - 1) > 0.01:
            if abs(factor - 1) < 0.01 and each.ratio < 1.5 * each.d_k**-0.5:
                return kept("nothing divides scores: queries are drawn smaller by it, as T5's are")
            return _wrongly_divided(f"attention {number + 1}", factor, each.d_k)
    if not factors:
        return not_tried("no product of queries and keys was seen before a softmax")
    return kept(f"{len(factors)} times scores are divided by the root of their width")


def _factor(product: Tensor, scores: Tensor) -> float | None:
    """Give the number that scores are of a product; None where they are no multiple of it."""
    half = len(product) // 2
    gaps = [(each[:half] - each[half:]).double().flatten() for each in (product, scores)]
    real = gaps[1].isfinite() & (gaps[1] != 0)
    x, y = (each[real] for each in gaps)
    if len(x) < 8 or not bool(x.any()):
        return None
    factor = float(x @ y / (x @ x))
    return factor if float((y - factor * x).norm()) < 1e-2 * float(y.norm()) else None


def _wrongly_divided(name: str, factor: float, d_k: int) -> Finding:
    said = f"{name}: scores are {factor:.4g} times queries and keys of width {d_k}"
    wanted = f"where Eq. 1 has {d_k**-0.5:.4g}"
    known = {1.0: "nothing divides them", 1 / d_k: "it is divided twice", d_k**0.5: "it multiplies"}
    for each, how in known.items():
        if abs(factor / each - 1) < 0.01:
            return broken(f"{said}, {wanted}: {how}")
    width = 1 / factor**2
    if abs(width / d_k - round(width / d_k)) < 0.01 or abs(width - d_k) < 1.1:
        return broken(f"{said}, {wanted}: it is the root of {width:.0f}")
    return warned(f"{said}, {wanted}")


@law()
def attention_weights_sum_to_one(subject: Subject) -> Finding:
    """The weights of each query sum to one over the keys.

    Means: the softmax is over the wrong axis, or the mask is applied after it
    Look: at the softmax's dim, and at what follows it
    """
    _, _, maps = _maps(subject)
    for name, weights in maps.items():
        sums = weights.float().sum(dim=-1)
        if bool((sums - 1).abs().max() > ROUNDING) or bool((weights < 0).any()):
            columns = weights[0].float().sum(dim=-2)  # of the sentence without padding
            over_queries = bool((columns - 1).abs().max() <= ROUNDING)
            hint = "; its columns do: the softmax is over the queries" if over_queries else ""
            least, most = float(sums.min()), float(sums.max())
            return broken(f"{name}: rows sum to {least:.3g} to {most:.3g}{hint}")
    return kept(f"every row of {len(maps)} maps sums to 1, and no weight is below 0")


@law()
def masked_keys_get_no_weight(subject: Subject) -> Finding:
    """No weight is on padding or on the future.

    Means: a mask is missing, inverted, or added where it should be filled in
    Look: at the scores just before the softmax
    """
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


@law()
def unmasked_keys_get_weight(subject: Subject) -> Finding:
    """Every place that may be seen has some weight.

    Means: a mask hides too much: a causal mask on the encoder or on cross-attention, or a
    diagonal that is a place off; or attention is local on purpose
    Look: at which mask goes to which attention
    """
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
