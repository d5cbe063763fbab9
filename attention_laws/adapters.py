"""An adapter around a bare module: how it is called is found out by trying (not in the paper)."""

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from attention_laws.adapter import BOS_ID, EOS_ID, PAD_ID, Adapter
from attention_laws.calling import BATCH, SRC, SRC_LEN, TGT_LEN, Call, reason, ways
from attention_laws.errors import UserError
from attention_laws.hints import UNSAID, Seen, paddings
from attention_laws.masks import Style, role, style
from attention_laws.untouched import evaluating, untouched

SHOWN = 4  # reasons that are told where no way is found
OTHER_PADS = (1, 2, 3)
FAST_PATH = "torch's fast path of nn.TransformerEncoderLayer is off (torch.backends.mha), then on"


def from_module(
    module: nn.Module,
    *,
    batch_first: bool | None = None,
    pad_id: int | None = UNSAID,
    tgt_pad_id: int | None = UNSAID,
    bos_id: int | None = None,
    eos_id: int | None = None,
    masks: str | None = None,
) -> Adapter:
    """Adapt any module that gives logits of source and target; find out how it is called.

    Args:
        module: Takes ids, and masks where it makes none itself.
        batch_first: Whether ids are (batch, length); None tries both, batch first first.
        pad_id: Padding of the source, and of the target unless that has its own; None: there is
            none. Where it is not given, the module's attributes and its embeddings are asked.
        tgt_pad_id: Padding of the target.
        bos_id: Begins each target.
        eos_id: Ends each sentence.
        masks: How masks are written, as `masks.Style` says it: "may-bool-4".

    Raises:
        UserError: it cannot be called so, its vocabularies' sizes are not to be seen, or it is not
            on the CPU.
    """
    if type(module).forward is nn.Module.forward and hasattr(module, "encode"):
        module = Joined(module)
    device = next((each.device for each in module.parameters()), torch.device("cpu"))
    if device.type != "cpu":
        raise UserError(f"the module is on {device}, and laws run on the CPU: give module.cpu()")
    with untouched(module):
        evaluating(module)
        written = style(masks) if masks else None
        found = find_call(module, batch_first, written, pad_id, tgt_pad_id)
    call, pad, tgt_pad = found.call, found.call.src_pad, found.call.tgt_pad
    bos, eos = _marks(bos_id, eos_id, {pad, tgt_pad})
    fast = any(isinstance(each, nn.TransformerEncoderLayer) for each in module.modules())
    given = "given" if batch_first is not None else "tried"
    order = "batch first" if call.batch_first else "length first"
    paddings = f"pad is {pad}" if pad == tgt_pad else f"pad is {pad}, of targets {tgt_pad}"
    return Adapter(
        forward=call if pad == tgt_pad else _one_padding(call, pad, tgt_pad),
        module=module,
        src_vocab_size=found.src_vocab_size,
        tgt_vocab_size=found.tgt_vocab_size,
        pad_id=pad,
        bos_id=_swap(bos, pad, tgt_pad),
        eos_id=eos,
        assumptions=(
            f"ids are {order} ({given}; batch_first=, --length-first)",
            f"{paddings}{found.told} (pad_id=, --pad), bos {bos} (bos_id=, --bos), "
            f"eos {eos} (eos_id=, --eos)",
            f"{found.src_vocab_size} source and {found.tgt_vocab_size} target types "
            "(as wide as embeddings and logits are)",
            *call.assumptions,
            *([FAST_PATH] if fast else []),
        ),
    )


def _marks(bos: int | None, eos: int | None, taken: set[int | None]) -> tuple[int, int]:
    """Give bos and eos as they were said, or the usual ones, unless padding has them."""
    free = [each for each in (BOS_ID, EOS_ID, 1, 4, 5, 6) if each not in taken]
    if bos is None:
        bos = next(each for each in free if each != eos)
    if eos is None:
        eos = next(each for each in free if each not in (bos, BOS_ID))
    return bos, eos


def _swap(token: int, pad: int | None, tgt_pad: int | None) -> int:
    """Give a target's id where its padding and the source's id of padding change places."""
    other = {pad: tgt_pad, tgt_pad: pad}.get(token)
    return token if other is None else other


def _one_padding(
    call: Call, pad: int | None, tgt_pad: int | None
) -> Callable[[Tensor, Tensor], Tensor]:
    """Let both sides have the source's padding: the target's and that id change places."""
    if pad is None or tgt_pad is None:
        raise UserError("one side alone has padding (pad_id=, tgt_pad_id=): write an Adapter")

    def forward(src: Tensor, tgt_in: Tensor) -> Tensor:
        swapped = torch.where(tgt_in == pad, tgt_pad, torch.where(tgt_in == tgt_pad, pad, tgt_in))
        logits = call(src, swapped)
        order = [_swap(each, pad, tgt_pad) for each in range(logits.shape[-1])]
        return logits[..., order]

    return forward


@dataclass(frozen=True)
class Found:
    """How a module is called."""

    call: Call  # gives logits, batch first
    src_vocab_size: int  # source ids are below it
    tgt_vocab_size: int  # target ids are below it
    told: str  # who told which id is padding, for a reader


def find_call(
    module: nn.Module,
    batch_first: bool | None,
    style: Style | None,
    pad: int | None,
    tgt_pad: int | None,
) -> Found:
    """Try the ways to call a module, and take the first with which nothing is wrong, or the best.

    Raises:
        UserError: none gives logits, or no table is read at the source's ids.
    """
    words = [each for each in (4, 5, 6, 7, 3) if each not in (pad, tgt_pad)][:4]
    seen = Seen()
    reasons: dict[str, str] = {}
    best: tuple[int, Call, str] | None = None
    for way in ways(module, batch_first, style):
        try:
            called = _first(way, words, seen)
            call, told = _padded(called, pad, tgt_pad, seen, words)
            count = faults(call, words, call.src_pad, call.tgt_pad)
            other = replace(call, shifts=True)
            if count and (less := faults(other, words, call.src_pad, call.tgt_pad)) < count:
                call, count = other, less
        except Exception as error:  # whatever somebody's model raises
            reasons.setdefault(reason(error), way.words)
            continue
        if best is None or count < best[0]:
            best = count, call, told
        if count == 0:
            break
    if best is None:
        tried = "; ".join(f"{words}: {why}" for why, words in list(reasons.items())[:SHOWN])
        what = "the module gives no logits (batch, tgt_len, vocab_size) of (src, tgt_in)"
        raise UserError(f"{what}. Tried: {tried}: write an Adapter around it")
    count, call, told = best
    if count and pad == UNSAID and not told:
        call, told = _other_padding(call, words, count)
    if not seen.sizes:
        what = "no nn.Embedding of the module reads the source's ids"
        raise UserError(f"{what}: write an Adapter that says how many source types there are")
    with torch.no_grad():
        width = call(*_ids(words)).shape[-1]
    source = seen.sizes.get(words[0], min(seen.sizes.values()))
    return Found(call, source, min(width, seen.sizes.get(words[1], width)), told)


def _ids(words: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
    """Give ids of distinct shapes, of one word on each side."""
    return torch.full((BATCH, SRC_LEN), words[0]), torch.full((BATCH, TGT_LEN), words[1])


@torch.no_grad()
def _first(way: Call, words: list[int], seen: Seen) -> Call:
    """Call a module for the first time, and see which table reads which ids."""
    with seen:
        call = way.found(*_ids(words))
    return call.with_head(*_ids(words), seen.sizes.get(words[1], 0))


def _padded(
    call: Call, pad: int | None, tgt_pad: int | None, seen: Seen, words: list[int]
) -> tuple[Call, str]:
    """Let a call know the padding that was said, or that the module tells of."""
    said, told = paddings(call.module, seen, (words[0], words[1]))
    if pad != UNSAID:
        said, told = [pad, pad], ""
    pads = [PAD_ID if each == UNSAID else each for each in said]
    return replace(call, src_pad=pads[0], tgt_pad=pads[1] if tgt_pad == UNSAID else tgt_pad), told


def _other_padding(call: Call, words: list[int], count: int) -> tuple[Call, str]:
    """Look for an id that changes nothing behind a source, where the usual one changes it."""
    for pad in OTHER_PADS:
        other = replace(call, src_pad=pad, tgt_pad=pad)
        used = [each for each in words if each != pad]
        if len(used) > 3 and faults(other, used, pad, pad) < count:
            return other, ", which alone changes nothing after a source"
    return call, ""


@torch.no_grad()
def faults(
    call: Callable[[Tensor, Tensor], Tensor],
    ids: Sequence[int],
    pad: int | None,
    tgt_pad: int | None,
) -> int:
    """Count what is wrong with a call: it sees the future or padding, or does not see a token.

    `ids` are four words of both sides.
    """
    src, tgt = torch.tensor([[ids[0], ids[1], ids[2], ids[1]]]), torch.tensor([[*ids[:3]]])
    other_src, other_tgt = src.clone(), tgt.clone()
    other_src[0, -2], other_tgt[0, 1] = ids[3], ids[3]
    logits = call(src, tgt)
    scale = 1e-4 * float(logits.abs().max())

    def moved(src: Tensor, tgt: Tensor, places: slice) -> bool:
        return bool((call(src, tgt) - logits)[:, places].abs().max() > scale)

    count = int(not bool(logits.isfinite().all()))
    count += moved(src, other_tgt, slice(0, 1)) + (not moved(src, other_tgt, slice(1, 2)))
    count += not moved(other_src, tgt, slice(None))
    if pad is not None:
        count += moved(torch.nn.functional.pad(src, (0, 2), value=pad), tgt, slice(None))
    if tgt_pad is not None:
        padded = call(src, torch.nn.functional.pad(tgt, (0, 2), value=tgt_pad))[:, :3]
        count += bool((padded - logits).abs().max() > scale)
    return count


class Joined(nn.Module):
    """A module without `forward`, whose `encode` and `decode` are called one after the other."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, src: Tensor, tgt: Tensor, src_mask: Tensor, tgt_mask: Tensor) -> Any:
        """Encode and decode; both are given what their parameters' names ask for."""
        module: Any = self.module

        def given(function: Any, memory: Any = None) -> Iterator[Any]:
            for name in inspect.signature(function).parameters:
                low = name.lower()
                if "mask" in low:
                    yield tgt_mask if role(low).side == "tgt" else src_mask
                elif memory is not None and re.search("mem|enc|context", low):
                    yield memory
                else:
                    yield src if memory is None or SRC.match(low) else tgt

        memory = module.encode(*given(module.encode))
        return module.decode(*given(module.decode, memory))
