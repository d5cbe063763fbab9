"""A cache changes nothing but the time: a token at a time is a pass at once (not in the paper)."""

from typing import Any

import torch
from torch import Tensor

from attention_laws.law import Subject, law, needed, rounding_aside
from attention_laws.report import Finding, broken, kept, not_tried

BATCHES = (1, 2, 7)
STEPS = 5
SENTENCES, BEAMS = 2, 3  # of the batch that is put in another order
SAME_SENTENCE = [1, 0, 0, 5, 5, 3]  # rows after it, each of its own sentence
ANY_SENTENCE = [5, 0, 3, 3, 1, 0]


def _read(subject: Subject, tokens: Tensor, cache: Any) -> tuple[Tensor, Any]:
    """Read (batch, length) token by token; give logits (batch, length, vocab), and the cache."""
    found = []
    for place in range(tokens.shape[1]):
        logits, cache = needed(subject.adapter.cached).step(tokens[:, place : place + 1], cache)
        if logits.dim() != 2 or len(logits) != len(tokens):
            given = f"{tuple(logits.shape)} for {len(tokens)} rows"
            raise ValueError(f"`cached.step` gave logits {given}: it is to give (batch, vocab)")
        found.append(logits.to(torch.promote_types(logits.dtype, torch.float32)))
    return torch.stack(found, dim=1), cache


@law("encode", "decode")
@rounding_aside
@torch.no_grad()
def encode_then_decode_matches_forward(subject: Subject) -> Finding:
    """Encode and decode, one after the other, give what forward gives.

    Means: translation takes another road than training: a mask, no final norm, other positions
    Look: at what forward does that encode and decode do not
    """
    encode, decode = needed(subject.adapter.encode), needed(subject.adapter.decode)
    for batch in BATCHES:
        src, tgt_in = subject.sources(batch, 7), subject.tgt_in(batch, STEPS)
        found = decode(tgt_in, encode(src), src)
        if moved := subject.differ(found, subject.logits(src, tgt_in)):
            said = f"in a batch of {batch} decode(encode(src)) is {moved:.2g} away from forward"
            return broken(said, src=src[-1], tgt_in=tgt_in[-1])
    return kept(f"decode(encode(src)) is forward in batches of {BATCHES}")


@law("cached")
@rounding_aside
@torch.no_grad()
def cached_decoding_matches_forward(subject: Subject) -> Finding:
    """Decoding a token at a time with a cache gives the logits of one pass, at every step.

    Means: positions begin at 0 in every step, keys and values are appended over the wrong axis,
    a mask has the length of the newest token alone, or padding of the source is seen again
    Look: at the position that is given to the newest token, then at the mask's k_len
    """
    for batch in BATCHES:
        src, tgt_in = subject.sources(batch, 7), subject.tgt_in(batch, STEPS)
        wanted = subject.logits(src, tgt_in)
        found, _ = _read(subject, tgt_in, needed(subject.adapter.cached).start(src))
        for step in range(STEPS):
            if moved := subject.differ(found[:, step], wanted[:, step]):
                row = int((found - wanted)[:, step].abs().amax(dim=-1).argmax())
                where = f"in row {row + 1} of a batch of {batch} step {step + 1} with the cache"
                said = f"{where} gives logits {moved:.2g} away from forward's"
                return broken(said, src=src[row], tgt_in=tgt_in[row, : step + 1])
    return kept(f"{STEPS} steps of batches of {BATCHES} have the logits of one pass")


@law("cached")
@rounding_aside
@torch.no_grad()
def cache_reorders_with_beams(subject: Subject) -> Finding:
    """A cache whose rows are exchanged or repeated goes on as those rows would.

    Means: values are not reordered, one layer is left out, or the memory and its mask stay in place
    Look: at everything that has a batch axis and outlives a step
    """
    cached = needed(subject.adapter.cached)
    if cached.reorder is None:
        return not_tried("the adapter's `cached` has no `reorder`")
    src = subject.sources(SENTENCES, 7).repeat_interleave(BEAMS, dim=0)
    begun, after = subject.tgt_in(len(src), 3), subject.tgt_in(len(src), 3)[:, 1:]
    for order, whose in ((SAME_SENTENCE, "of the same sentence"), (ANY_SENTENCE, "of any")):
        rows = torch.tensor(order)
        _, cache = _read(subject, begun, cached.start(src))
        found, _ = _read(subject, after, cached.reorder(cache, rows))
        tgt_in = torch.cat((begun[rows], after), dim=1)
        wanted = subject.logits(src[rows], tgt_in)[:, begun.shape[1] :]
        if moved := subject.differ(found, wanted):
            row = int((found - wanted).abs().amax(dim=(1, 2)).argmax())
            where = f"after 3 steps rows {order} ({whose}) go on: row {row}, once {order[row]}"
            said = f"{where} has logits {moved:.2g} away from forward's"
            return broken(said, src=src[order[row]], tgt_in=tgt_in[row])
    return kept(f"rows exchanged and repeated after 3 steps, {SAME_SENTENCE} and {ANY_SENTENCE}")


@law("cached")
@rounding_aside
@torch.no_grad()
def cache_starts_empty(subject: Subject) -> Finding:
    """A sentence decoded after another has the logits it has by itself.

    Means: the cache is kept on the layers and not emptied, or cross-attention keeps its keys
    Look: at where the cache is made: once for the model, or once for each sentence?
    """
    cached = needed(subject.adapter.cached)
    sources = [subject.src(1, 7), subject.src(1, 7)]
    targets = [subject.tgt_in(1, 4), subject.tgt_in(1, 4)]
    first, _ = _read(subject, targets[0], cached.start(sources[0]))
    for which in (1, 0):
        src, tgt_in = sources[which], targets[which]
        shown = {"src": src[0], "tgt_in": tgt_in[0], "after": sources[1 - which][0]}
        wanted = subject.logits(src, tgt_in) if which else first
        try:
            found, _ = _read(subject, tgt_in, cached.start(src))
        except (RuntimeError, IndexError) as error:
            return broken(f"it raises {str(error)[:100]}", **shown)
        if moved := subject.differ(found, wanted):
            return broken(f"logits {moved:.2g} away from those it has by itself", **shown)
    return kept("a sentence after another has the logits it has alone")
