"""Attention weights: as the adapter returns them, or as they are computed (§3.2.1)."""

from collections import Counter
from dataclasses import replace

import torch
from torch import Tensor

from attention_laws.attention_calls import AttentionCall, find_attention_calls
from attention_laws.errors import NotObservedError
from attention_laws.law import law
from attention_laws.report import (
    Finding,
    broken_finding,
    kept_finding,
    not_tried_finding,
    warned_finding,
)
from attention_laws.subject import Subject

LAW_MODULE_SORT_KEY = 60
# Cosines of queries and keys are multiplied by up to 100, as in Swin Transformer V2.
MAX_SCORE_FACTOR = 100
ROW_SUM_TOLERANCE = 1e-3  # half precision included
MAX_MASKED_WEIGHT = 1e-6
SRC_LEN, TGT_LEN = 7, 5
NUM_SMALL_IDS = 6  # among which special ids usually are
SELF_ATTENTION_SIDE_BY_LENGTH = {SRC_LEN: "encoder", TGT_LEN: "decoder"}


def _draw_batch_and_attention_weights(subject: Subject) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
    """Return src, tgt_in and the weights of two sentences, of which the second is padded."""
    src, tgt_in = subject.draw_padded_src(2, SRC_LEN), subject.draw_tgt_in(2, TGT_LEN)
    with torch.no_grad():
        if subject.adapter.attention is not None:
            return src, tgt_in, dict(subject.adapter.attention(src, tgt_in))
        # One sentence after the other, since they may have different shapes inside the model.
        first, second = (
            attention_calls_of_forward(subject, src[row : row + 1], tgt_in[row : row + 1])
            for row in (0, 1)
        )
    if not first or len(first) != len(second):
        raise NotObservedError("the adapter has no attention, and no softmax over keys was seen")
    counts: Counter[str] = Counter()
    weights = {}
    for one, other in zip(first, second, strict=True):
        q_len, k_len = one.weights.shape[-2:]
        kind = "cross" if q_len != k_len else SELF_ATTENTION_SIDE_BY_LENGTH[q_len]
        both = [x.weights.reshape(1, -1, q_len, k_len) for x in (one, other)]
        weights[f"{kind} {counts[kind]}"] = torch.cat(both)
        counts[kind] += 1
    return src, tgt_in, weights


def attention_calls_of_forward(
    subject: Subject, src: Tensor, tgt_in: Tensor
) -> list[AttentionCall]:
    """Return the attentions of a batch, as the model computes them."""
    return find_attention_calls(
        subject.torch_calls_of_forward(src, tgt_in), {src.shape[1], tgt_in.shape[1]}
    )


@law()
def scores_are_scaled_by_sqrt_d_k(subject: Subject) -> Finding:
    """Scores are queries times keys, divided by the square root of d_k (Eq. 1).

    Means: the root is of another width, or missing, or taken twice
    Look: at the line that divides the scores, and at what the width is there
    How: Between two sentences of equal length everything that is added to scores, such as masks,
    cancels out.
    """
    with torch.no_grad():
        src, tgt_in = subject.draw_src(2, SRC_LEN), subject.draw_tgt_in(2, TGT_LEN)
        attentions = attention_calls_of_forward(subject, src, tgt_in)
    count = 0
    for number, attention in enumerate(attentions, start=1):
        if attention.product is None or attention.scores is None or attention.d_k < 2:
            continue
        factor = _fit_score_scale_factor(attention.product, attention.scores)
        if factor is None:
            continue
        factor *= attention.factor
        count += 1
        if abs(factor * attention.d_k**0.5 - 1) > 0.01:
            # T5 divides no scores, but initializes the query projection smaller by the root.
            if abs(factor - 1) < 0.01 and attention.ratio < 1.5 * attention.d_k**-0.5:
                reason = "queries are initialized smaller by the root, as T5's are"
                return kept_finding(f"nothing divides the scores: {reason}")
            finding = _wrong_scale_finding(f"attention {number}", factor, attention.d_k)
            return replace(finding, where=attention.place)
    if not count:
        return not_tried_finding("no product of queries and keys was seen before a softmax")
    return kept_finding(f"in {count} attentions the scores are divided by the root of their width")


def _fit_score_scale_factor(product: Tensor, scores: Tensor) -> float | None:
    """Return by what number scores are a multiple of a product; None if they are no multiple."""
    half = len(product) // 2
    product_gaps = (product[:half] - product[half:]).double().flatten()
    score_gaps = (scores[:half] - scores[half:]).double().flatten()
    usable = score_gaps.isfinite() & (score_gaps != 0)
    x, y = product_gaps[usable], score_gaps[usable]
    if len(x) < 8 or not bool(x.any()):
        return None
    # The factor of least squares.
    factor = float(x @ y / (x @ x))
    return factor if float((y - factor * x).norm()) < 1e-2 * float(y.norm()) else None


def _wrong_scale_finding(name: str, factor: float, d_k: int) -> Finding:
    seen = f"{name}: scores are {factor:.4g} times queries and keys of width {d_k}, "
    seen += f"and by Eq. 1 should be {d_k**-0.5:.4g} times"
    causes = {
        1.0: "nothing divides them",
        1 / d_k: "they are divided twice",
        d_k**0.5: "they are multiplied by the root",
    }
    for known_factor, cause in causes.items():
        if abs(factor / known_factor - 1) < 0.01:
            return broken_finding(f"{seen}: {cause}")
    if abs(factor) > MAX_SCORE_FACTOR:
        return broken_finding(f"{seen}: a softmax of such scores has one weight")
    width = 1 / factor**2
    is_multiple = width > d_k / 2 and abs(width / d_k - round(width / d_k)) < 0.01
    if is_multiple or abs(width - d_k) < 1.1:
        return broken_finding(f"{seen}: it is the root of {width:.0f}")
    return warned_finding(seen)


@law()
def attention_weights_sum_to_one(subject: Subject) -> Finding:
    """The weights of each query sum to one over the keys.

    Means: the softmax is over the wrong axis, or the mask is applied after it
    Look: at the softmax's dim, and at what follows it
    """
    _, _, weights_by_name = _draw_batch_and_attention_weights(subject)
    for name, weights in weights_by_name.items():
        sums = weights.float().sum(dim=-1)
        if bool((sums - 1).abs().max() > ROW_SUM_TOLERANCE) or bool((weights < 0).any()):
            column_sums = weights[0].float().sum(dim=-2)  # of the sentence without padding
            over_queries = bool((column_sums - 1).abs().max() <= ROW_SUM_TOLERANCE)
            hint = "; its columns do: the softmax is over the queries" if over_queries else ""
            least, most = float(sums.min()), float(sums.max())
            return broken_finding(f"{name}: rows sum to {least:.3g} to {most:.3g}{hint}")
    return kept_finding(
        f"every row of {len(weights_by_name)} maps sums to 1, and no weight is below 0"
    )


@law()
def masked_keys_get_no_weight(subject: Subject) -> Finding:
    """No weight is on padding or on the future.

    Means: a mask is missing, inverted, or added where it should be filled in
    Look: at the scores just before the softmax
    """
    src, tgt_in, weights_by_name = _draw_batch_and_attention_weights(subject)
    for name, weights in weights_by_name.items():
        q_len, k_len = weights.shape[-2:]
        if k_len == src.shape[1] and subject.adapter.pad_id is not None:
            is_padding = src[1] == subject.adapter.pad_id
            # What padded queries attend to is read by nobody.
            queries = weights[1][:, ~is_padding] if q_len == k_len else weights[1]
            on_padding = float(queries[..., is_padding].max())
            if on_padding > MAX_MASKED_WEIGHT:
                return broken_finding(f"{name}: a weight of {on_padding:.2g} on padding")
        if q_len == k_len == tgt_in.shape[1]:
            on_future = float(torch.triu(weights.float(), diagonal=1).max())
            if on_future > MAX_MASKED_WEIGHT:
                return broken_finding(f"{name}: a weight of {on_future:.2g} on a later position")
    count = len(weights_by_name)
    return kept_finding(f"no weight of {count} maps is on padding or on a later position")


@law("pad_id")
def words_are_not_masked(subject: Subject) -> Finding:
    """No word is hidden from attention: padding alone is, of each side its own.

    Means: a mask is made with another id than padding's: with the other side's, or a number
    written out; or the mask of one side is made from the ids of the other
    Look: at what the ids are compared with where masks are made
    How: Each small id stands in a sentence in turn; another word at its place has some weight.
    """
    src, tgt_in, position = subject.draw_src(1, SRC_LEN), subject.draw_tgt_in(1, TGT_LEN), 2
    with torch.no_grad():
        expected = attention_calls_of_forward(subject, src, tgt_in)
        if not expected:
            return not_tried_finding("no softmax over keys was seen")
        count = 0
        for side, ids in (("src", src), ("tgt_in", tgt_in)):
            for word in _small_word_ids(subject, side):
                changed = ids.clone()
                changed[0, position] = word
                inputs = (changed, tgt_in) if side == "src" else (src, changed)
                attentions = attention_calls_of_forward(subject, *inputs)
                count += 1
                for before, after in zip(expected, attentions, strict=False):
                    if _loses_all_weight(before, after, ids.shape[1], position):
                        seen = f"{word} at position {position} gets no weight, another word some"
                        return broken_finding(seen, **{side: changed[0]})
    return kept_finding(f"each of {count} small ids that are words gets some weight")


def _small_word_ids(subject: Subject, side: str) -> list[int]:
    """Return the smallest ids that are words of a side, the other side's padding among them."""
    adapter = subject.adapter
    if side == "src":
        vocab_size, pad_id = adapter.src_vocab_size, adapter.pad_id
    else:
        vocab_size, pad_id = adapter.tgt_vocab_size, subject.tgt_pad_id
    special_ids = (pad_id, adapter.bos_id, adapter.eos_id)
    return [i for i in range(min(vocab_size, NUM_SMALL_IDS)) if i not in special_ids]


def _loses_all_weight(
    before: AttentionCall, after: AttentionCall, k_len: int, position: int
) -> bool:
    """Return whether a key of a side had some weight of the last query before, and none after."""
    if before.weights.shape != after.weights.shape or before.weights.shape[-1] != k_len:
        return False
    had_weight, has_weight = (bool(x.weights[..., -1, position].any()) for x in (before, after))
    return had_weight and not has_weight


@law()
def unmasked_keys_get_weight(subject: Subject) -> Finding:
    """Every position that may be attended to has some weight.

    Means: a mask hides too much: a causal mask on the encoder or on cross-attention, or a
    diagonal that is a position off; or attention is local on purpose
    Look: at which mask goes to which attention
    """
    src, tgt_in, weights_by_name = _draw_batch_and_attention_weights(subject)
    for name, weights in weights_by_name.items():
        q_len, k_len = weights.shape[-2:]
        if k_len not in (src.shape[1], tgt_in.shape[1]):
            continue
        may_attend = torch.ones(q_len, k_len, dtype=torch.bool)
        if q_len == k_len == tgt_in.shape[1]:
            may_attend = may_attend.tril()
        # Of the sentence without padding.
        without_weight = (may_attend & (weights[0] == 0)).nonzero().tolist()
        if without_weight:
            head, query, key = without_weight[0]
            return warned_finding(f"{name}, head {head}: position {query} has no weight on {key}")
    count = len(weights_by_name)
    return kept_finding(
        f"each position of {count} maps has some weight on all that it may attend to"
    )
