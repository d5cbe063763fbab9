"""Decoding with a cache, token by token, equals one forward pass (not in the paper)."""

from typing import Any

import torch
from torch import Tensor

from attention_laws.errors import WrongLogitsShapeError
from attention_laws.law import assert_not_none, law
from attention_laws.report import Finding, broken_finding, kept_finding, not_tried_finding
from attention_laws.subject import Subject, retry_check_in_float64

LAW_MODULE_SORT_KEY = 120
BATCH_SIZES = (1, 2, 7)
NUM_DECODING_STEPS = 5
SENTENCES, BEAMS = 2, 3  # of the batch whose rows are reordered
ROW_ORDER_WITHIN_SENTENCES = [1, 0, 0, 5, 5, 3]
ROW_ORDER_ACROSS_SENTENCES = [5, 0, 3, 3, 1, 0]


def _decode_with_cache(subject: Subject, tokens: Tensor, cache: Any) -> tuple[Tensor, Any]:
    """Read (batch, length) token by token; return logits (batch, length, vocab) and the cache."""
    steps = []
    for position in range(tokens.shape[1]):
        step = assert_not_none(subject.adapter.cached).step
        logits, cache = step(tokens[:, position : position + 1], cache)
        if logits.dim() != 2 or len(logits) != len(tokens):
            shapes = f"{tuple(logits.shape)} for {len(tokens)} rows"
            kind = WrongLogitsShapeError if logits.dim() == 2 else ValueError
            raise kind(f"`cached.step` returned logits {shapes}, and not (batch, vocab)")
        steps.append(logits.to(torch.promote_types(logits.dtype, torch.float32)))
    return torch.stack(steps, dim=1), cache


@law("encode", "decode")
@retry_check_in_float64
@torch.no_grad()
def encode_then_decode_matches_forward(subject: Subject) -> Finding:
    """Encode and decode, one after the other, return what forward returns.

    Means: translation takes another path than training: a mask, no final norm, other positions
    Look: at what forward does that encode and decode do not
    """
    encode, decode = (
        assert_not_none(subject.adapter.encode),
        assert_not_none(subject.adapter.decode),
    )
    for batch in BATCH_SIZES:
        src, tgt_in = (
            subject.draw_padded_src(batch, 7),
            subject.draw_tgt_in(batch, NUM_DECODING_STEPS),
        )
        logits = decode(tgt_in, encode(src), src)
        moved = subject.difference_or_zero_if_tolerated(logits, subject.logits(src, tgt_in))
        if moved:
            seen = f"in a batch of {batch} decode(encode(src)) is {moved:.2g} away from forward"
            return broken_finding(seen, src=src[-1], tgt_in=tgt_in[-1])
    return kept_finding(f"decode(encode(src)) is forward in batches of {BATCH_SIZES}")


@law("cached")
@retry_check_in_float64
@torch.no_grad()
def cached_decoding_matches_forward(subject: Subject) -> Finding:
    """Decoding token by token with a cache gives the logits of one pass, at every step.

    Means: positions begin at 0 in every step, keys and values are appended along the wrong axis,
    a mask has the length of the newest token alone, or padding of the source is attended to again
    Look: at the position that the newest token gets, then at the mask's k_len
    """
    for batch in BATCH_SIZES:
        src, tgt_in = (
            subject.draw_padded_src(batch, 7),
            subject.draw_tgt_in(batch, NUM_DECODING_STEPS),
        )
        expected = subject.logits(src, tgt_in)
        cache = assert_not_none(subject.adapter.cached).start(src)
        try:
            logits, _ = _decode_with_cache(subject, tgt_in, cache)
        except WrongLogitsShapeError as error:
            return broken_finding(str(error), src=src[-1], tgt_in=tgt_in[-1])
        for step in range(NUM_DECODING_STEPS):
            moved = subject.difference_or_zero_if_tolerated(logits[:, step], expected[:, step])
            if moved:
                row = int((logits - expected)[:, step].abs().amax(dim=-1).argmax())
                where = f"in row {row + 1} of a batch of {batch} step {step + 1} with the cache"
                seen = f"{where} gives logits {moved:.2g} away from forward's"
                return broken_finding(seen, src=src[row], tgt_in=tgt_in[row, : step + 1])
    return kept_finding(
        f"{NUM_DECODING_STEPS} steps of batches of {BATCH_SIZES} have the logits of one pass"
    )


@law("cached")
@retry_check_in_float64
@torch.no_grad()
def cache_reorders_with_beams(subject: Subject) -> Finding:
    """A cache whose rows are exchanged or repeated goes on as those rows would.

    Means: values are not reordered, one layer is left out, or the memory and its mask stay in place
    Look: at everything that has a batch axis and outlives a step
    """
    cached = assert_not_none(subject.adapter.cached)
    if cached.reorder is None:
        return not_tried_finding("the adapter's `cached` has no `reorder`")
    src = subject.draw_padded_src(SENTENCES, 7).repeat_interleave(BEAMS, dim=0)
    prefixes = subject.draw_tgt_in(len(src), 3)
    continuations = subject.draw_tgt_in(len(src), 3)[:, 1:]
    for order, kind in (
        (ROW_ORDER_WITHIN_SENTENCES, "of the same sentence"),
        (ROW_ORDER_ACROSS_SENTENCES, "of any"),
    ):
        rows = torch.tensor(order)
        _, cache = _decode_with_cache(subject, prefixes, cached.start(src))
        logits, _ = _decode_with_cache(subject, continuations, cached.reorder(cache, rows))
        tgt_in = torch.cat((prefixes[rows], continuations), dim=1)
        expected = subject.logits(src[rows], tgt_in)[:, prefixes.shape[1] :]
        moved = subject.difference_or_zero_if_tolerated(logits, expected)
        if moved:
            row = int((logits - expected).abs().amax(dim=(1, 2)).argmax())
            where = f"after 3 steps rows {order} ({kind}) go on: row {row}, before row {order[row]}"
            seen = f"{where}, has logits {moved:.2g} away from forward's"
            return broken_finding(seen, src=src[order[row]], tgt_in=tgt_in[row])
    orders = f"{ROW_ORDER_WITHIN_SENTENCES} and {ROW_ORDER_ACROSS_SENTENCES}"
    return kept_finding(f"rows exchanged and repeated after 3 steps, {orders}")


@law("cached")
@retry_check_in_float64
@torch.no_grad()
def cache_starts_empty(subject: Subject) -> Finding:
    """A sentence decoded after another has the logits it has by itself.

    Means: the cache is kept on the layers and not emptied, or cross-attention keeps its keys
    Look: at where the cache is made: once for the model, or once for each sentence?
    """
    cached = assert_not_none(subject.adapter.cached)
    sources = [subject.draw_src(1, 7), subject.draw_src(1, 7)]
    targets = [subject.draw_tgt_in(1, 4), subject.draw_tgt_in(1, 4)]
    first_logits, _ = _decode_with_cache(subject, targets[0], cached.start(sources[0]))
    # The second sentence after the first, then the first again.
    second_expected = subject.logits(sources[1], targets[1])
    for i, expected in ((1, second_expected), (0, first_logits)):
        src, tgt_in = sources[i], targets[i]
        example = {"src": src[0], "tgt_in": tgt_in[0], "after": sources[1 - i][0]}
        try:
            logits, _ = _decode_with_cache(subject, tgt_in, cached.start(src))
        except (RuntimeError, IndexError) as error:
            return broken_finding(f"it raises {str(error)[:100]}", **example)
        moved = subject.difference_or_zero_if_tolerated(logits, expected)
        if moved:
            return broken_finding(f"logits {moved:.2g} away from those it has by itself", **example)
    return kept_finding("a sentence after another has the logits it has alone")
