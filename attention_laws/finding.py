"""The way to call a module is looked for: every one that its parameters allow is tried.

Not in the paper.
"""

from dataclasses import dataclass, replace

import torch
from torch import nn

from attention_laws import hints
from attention_laws.calling import BATCH, SRC_LEN, TGT_LEN, Call, faults, reason, ways
from attention_laws.errors import UserError
from attention_laws.hints import UNSAID
from attention_laws.masks import Style

SHOWN = 4  # reasons that are told where no way is found
OTHER_PADS = (1, 2, 3)


@dataclass(frozen=True)
class Asked:
    """How a module is called, as far as somebody has said it; see `adapters.from_module`."""

    batch_first: bool | None
    style: Style | None
    pad: int | None
    tgt_pad: int | None


@dataclass(frozen=True)
class Found:
    """How a module is called.

    Attributes:
        call: Gives logits, batch first.
        src_vocab_size: Source ids are below it.
        tgt_vocab_size: Target ids are below it.
        told: Who told which id is padding, for a reader.
    """

    call: Call
    src_vocab_size: int
    tgt_vocab_size: int
    told: str


def find_call(module: nn.Module, asked: Asked) -> Found:
    """Try the ways to call a module, and take the first with which nothing is wrong, or the best.

    Raises:
        UserError: none gives logits, or no table is read at the source's ids.
    """
    words = [each for each in (4, 5, 6, 7, 3) if each not in (asked.pad, asked.tgt_pad)][:4]
    seen = hints.Seen()
    reasons: dict[str, str] = {}
    best: tuple[int, Call, str] | None = None
    for way in ways(module, asked.batch_first, asked.style):
        try:
            called = _first(way, words, seen)
            call, told = _padded(called, asked, seen, words)
            count = faults(call, words, call.src_pad, call.tgt_pad)
        except Exception as error:  # whatever somebody's model raises
            reasons.setdefault(reason(error), way.words)
            continue
        if best is None or count < best[0]:
            best = count, call, told
        if count == 0:
            break
    if best is None:
        tried = "; ".join(f"{words}: {why}" for why, words in list(reasons.items())[:SHOWN])
        raise UserError(
            f"the module gives no logits (batch, tgt_len, vocab_size) of (src, tgt_in). Tried: "
            f"{tried}: write an Adapter around it"
        )
    count, call, told = best
    if count and asked.pad == UNSAID and not told:
        call, told = _other_padding(call, words, count)
    if not seen.sizes:
        raise UserError(
            "no nn.Embedding of the module reads the source's ids: write an Adapter that says "
            "how many source types there are"
        )
    with torch.no_grad():
        width = call(*_ids(words)).shape[-1]
    source = seen.sizes.get(words[0], min(seen.sizes.values()))
    return Found(call, source, min(width, seen.sizes.get(words[1], width)), told)


def _ids(words: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
    """Give ids of distinct shapes, of one word on each side."""
    return torch.full((BATCH, SRC_LEN), words[0]), torch.full((BATCH, TGT_LEN), words[1])


@torch.no_grad()
def _first(way: Call, words: list[int], seen: hints.Seen) -> Call:
    """Call a module for the first time, and see which table reads which ids."""
    with hints.watching(seen):
        call = way.found(*_ids(words))
    return call.with_head(*_ids(words), seen.sizes.get(words[1], 0))


def _padded(call: Call, asked: Asked, seen: hints.Seen, words: list[int]) -> tuple[Call, str]:
    """Let a call know the padding that was said, or that the module tells of."""
    said, told = hints.paddings(call.module, seen, (words[0], words[1]))
    src_pad, tgt_pad = (hints.usual(each) for each in said)
    if asked.pad != UNSAID:
        src_pad, tgt_pad, told = asked.pad, asked.pad, ""
    if asked.tgt_pad != UNSAID:
        tgt_pad = asked.tgt_pad
    return replace(call, src_pad=src_pad, tgt_pad=tgt_pad), told


def _other_padding(call: Call, words: list[int], count: int) -> tuple[Call, str]:
    """Look for an id that changes nothing behind a source, where the usual one changes it."""
    for pad in OTHER_PADS:
        other = replace(call, src_pad=pad, tgt_pad=pad)
        used = [each for each in words if each != pad]
        if len(used) > 3 and faults(other, used, pad, pad) < count:
            return other, ", which alone changes nothing after a source"
    return call, ""
