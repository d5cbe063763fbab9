"""An adapter around a bare module: how it is called is found by trying (not in the paper)."""

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from attention_laws.adapter import BOS_ID, EOS_ID, PAD_ID, Adapter
from attention_laws.calling_convention import (
    BATCH,
    SRC_LEN,
    TGT_LEN,
    CallingConvention,
    calling_conventions,
    failure_reason,
)
from attention_laws.errors import UserError
from attention_laws.forward_signature import SRC
from attention_laws.mask_style import MaskStyle, mask_role, parse_mask_style
from attention_laws.model_state import set_eval_mode, state_restored
from attention_laws.vocabularies import UNSPECIFIED, EmbeddingRecorder, find_padding_ids

# How many reasons an error names if no way to call the module works.
MAX_REASONS = 4
OTHER_PADDING_IDS = (1, 2, 3)
FAST_PATH = "torch's fast path of nn.TransformerEncoderLayer is off (torch.backends.mha), then on"


def from_module(
    module: nn.Module,
    *,
    batch_first: bool | None = None,
    pad_id: int | None = UNSPECIFIED,
    tgt_pad_id: int | None = UNSPECIFIED,
    bos_id: int | None = None,
    eos_id: int | None = None,
    masks: str | None = None,
) -> Adapter:
    """Return an adapter of any module that returns logits; find out how it is called.

    Args:
        module: Takes ids of source and target, and masks unless it makes them itself.
        batch_first: Whether ids are (batch, length); None tries both, batch first first.
        pad_id: Padding of the source, and of the target unless that has its own; None: there is
            none. By default the module's attributes and its embeddings decide.
        tgt_pad_id: Padding of the target.
        bos_id: First token of each target.
        eos_id: Last token of each sentence.
        masks: How masks are written, as `MaskStyle` describes it: "may-bool-4".

    Raises:
        UserError: it cannot be called so, the sizes of its vocabularies cannot be found, or it is
            not on the CPU.
    """
    if type(module).forward is nn.Module.forward and hasattr(module, "encode"):
        module = EncodeThenDecode(module)
    device = next((weight.device for weight in module.parameters()), torch.device("cpu"))
    if device.type != "cpu":
        raise UserError(f"the module is on {device}, and laws run on the CPU: give module.cpu()")
    with state_restored(module):
        set_eval_mode(module)
        mask_style = parse_mask_style(masks) if masks else None
        working_call = find_call(module, batch_first, mask_style, pad_id, tgt_pad_id)
    call = working_call.call
    pad, tgt_pad = call.src_pad, call.tgt_pad
    bos, eos = _special_ids(bos_id, eos_id, {pad, tgt_pad})
    return Adapter(
        forward=call if pad == tgt_pad else _with_one_padding_id(call, pad, tgt_pad),
        module=module,
        src_vocab_size=working_call.src_vocab_size,
        tgt_vocab_size=working_call.tgt_vocab_size,
        pad_id=pad,
        bos_id=_swap(bos, pad, tgt_pad),
        eos_id=eos,
        assumptions=_assumptions(working_call, batch_first is not None, bos, eos),
    )


def _assumptions(
    working_call: "WorkingCall", order_given: bool, bos: int, eos: int
) -> tuple[str, ...]:
    """Return what was assumed of a module, each with the option that overrides it."""
    call = working_call.call
    order = "batch first" if call.batch_first else "length first"
    source = "given" if order_given else "tried"
    padding = f"pad is {call.src_pad}"
    if call.src_pad != call.tgt_pad:
        padding += f", of targets {call.tgt_pad}"
    assumptions = [
        f"ids are {order} ({source}; batch_first=, --length-first)",
        f"{padding}{working_call.padding_origin} (pad_id=, --pad), bos {bos} (bos_id=, --bos), "
        f"eos {eos} (eos_id=, --eos)",
        f"{working_call.src_vocab_size} source and {working_call.tgt_vocab_size} target types "
        "(as wide as embeddings and logits are)",
        *call.assumptions,
    ]
    if any(isinstance(part, nn.TransformerEncoderLayer) for part in call.module.modules()):
        assumptions.append(FAST_PATH)
    return tuple(assumptions)


def _special_ids(bos: int | None, eos: int | None, taken: set[int | None]) -> tuple[int, int]:
    """Return bos and eos as the user gave them, or the usual ones unless padding has them."""
    free = [token for token in (BOS_ID, EOS_ID, 1, 4, 5, 6) if token not in taken]
    if bos is None:
        bos = next(token for token in free if token != eos)
    if eos is None:
        eos = next(token for token in free if token not in (bos, BOS_ID))
    return bos, eos


def _swap(token: int, pad: int | None, tgt_pad: int | None) -> int:
    """Return a target's id after its padding and the source's padding id changed places."""
    swapped = {pad: tgt_pad, tgt_pad: pad}.get(token)
    return token if swapped is None else swapped


def _with_one_padding_id(
    call: CallingConvention, pad: int | None, tgt_pad: int | None
) -> Callable[[Tensor, Tensor], Tensor]:
    """Return a forward in which both sides have the source's padding id.

    In targets that id and the target's own padding change places.
    """
    if pad is None or tgt_pad is None:
        raise UserError("only one side has padding (pad_id=, tgt_pad_id=): write an Adapter")

    def forward(src: Tensor, tgt_in: Tensor) -> Tensor:
        swapped = torch.where(tgt_in == pad, tgt_pad, torch.where(tgt_in == tgt_pad, pad, tgt_in))
        logits = call(src, swapped)
        order = [_swap(token, pad, tgt_pad) for token in range(logits.shape[-1])]
        return logits[..., order]

    return forward


@dataclass(frozen=True)
class WorkingCall:
    """A way to call a module that returns logits, and what was seen on the way."""

    call: CallingConvention  # returns logits, batch first
    src_vocab_size: int  # number of source ids
    tgt_vocab_size: int  # number of target ids
    padding_origin: str  # in words for a reader: how the padding was found


def find_call(
    module: nn.Module,
    batch_first: bool | None,
    mask_style: MaskStyle | None,
    pad: int | None,
    tgt_pad: int | None,
) -> WorkingCall:
    """Try the ways to call a module; return the first without a defect, or the best.

    Raises:
        UserError: none returns logits, or no embedding table is read at the source's ids.
    """
    tokens = [token for token in (4, 5, 6, 7, 3) if token not in (pad, tgt_pad)][:4]
    recorder = EmbeddingRecorder()
    reasons: dict[str, str] = {}
    best: tuple[int, CallingConvention, str] | None = None
    for convention in calling_conventions(module, batch_first, mask_style):
        try:
            first_call = _first_call(convention, tokens, recorder)
            call, origin = _with_padding(first_call, pad, tgt_pad, recorder, tokens)
            count, call = _fewest_defects(call, tokens)
        except Exception as error:  # Somebody's model may raise anything.
            reasons.setdefault(failure_reason(error), convention.description)
            continue
        if best is None or count < best[0]:
            best = count, call, origin
        if count == 0:
            break
    if best is None:
        tried = "; ".join(f"{way}: {why}" for why, way in list(reasons.items())[:MAX_REASONS])
        problem = "the module returns no logits (batch, tgt_len, vocab_size) for (src, tgt_in)"
        raise UserError(f"{problem}. Tried: {tried}: write an Adapter around it")
    count, call, origin = best
    if count and pad == UNSPECIFIED and not origin:
        call, origin = _with_other_padding(call, tokens, count)
    if not recorder.vocab_sizes:
        problem = "no nn.Embedding of the module reads the source's ids"
        raise UserError(f"{problem}: write an Adapter that says how many source types there are")
    with torch.no_grad():
        width = call(*_constant_ids(tokens)).shape[-1]
    vocab_sizes = recorder.vocab_sizes
    src_vocab_size = vocab_sizes.get(tokens[0], min(vocab_sizes.values()))
    return WorkingCall(call, src_vocab_size, min(width, vocab_sizes.get(tokens[1], width)), origin)


def _constant_ids(tokens: list[int]) -> tuple[Tensor, Tensor]:
    """Return ids of distinct shapes, one token repeated on each side."""
    return torch.full((BATCH, SRC_LEN), tokens[0]), torch.full((BATCH, TGT_LEN), tokens[1])


@torch.no_grad()
def _first_call(
    convention: CallingConvention, tokens: list[int], recorder: EmbeddingRecorder
) -> CallingConvention:
    """Call a module for the first time, and record which embedding table reads which ids."""
    with recorder:
        call = convention.with_logits_found(*_constant_ids(tokens))
    return call.with_head(*_constant_ids(tokens), recorder.vocab_sizes.get(tokens[1], 0))


def _with_padding(
    call: CallingConvention,
    pad: int | None,
    tgt_pad: int | None,
    recorder: EmbeddingRecorder,
    tokens: list[int],
) -> tuple[CallingConvention, str]:
    """Return a call with the padding that the user gave or that the module names."""
    pads, origin = find_padding_ids(call.module, recorder, (tokens[0], tokens[1]))
    if pad != UNSPECIFIED:
        pads, origin = [pad, pad], ""
    src_pad, own_tgt_pad = (PAD_ID if token == UNSPECIFIED else token for token in pads)
    if tgt_pad == UNSPECIFIED:
        tgt_pad = own_tgt_pad
    return replace(call, src_pad=src_pad, tgt_pad=tgt_pad), origin


def _fewest_defects(call: CallingConvention, tokens: list[int]) -> tuple[int, CallingConvention]:
    """Return the number of defects of a call, or of the same with a shifted target if fewer."""
    count = count_defects(call, tokens, call.src_pad, call.tgt_pad)
    if count:
        shifted = replace(call, shifts_target=True)
        shifted_count = count_defects(shifted, tokens, call.src_pad, call.tgt_pad)
        if shifted_count < count:
            return shifted_count, shifted
    return count, call


def _with_other_padding(
    call: CallingConvention, tokens: list[int], count: int
) -> tuple[CallingConvention, str]:
    """Look for an id that changes nothing after a source, if the usual padding changes it."""
    for pad in OTHER_PADDING_IDS:
        other = replace(call, src_pad=pad, tgt_pad=pad)
        usable = [token for token in tokens if token != pad]
        if len(usable) > 3 and count_defects(other, usable, pad, pad) < count:
            return other, ", which alone changes nothing after a source"
    return call, ""


@torch.no_grad()
def count_defects(
    call: Callable[[Tensor, Tensor], Tensor],
    tokens: Sequence[int],
    pad: int | None,
    tgt_pad: int | None,
) -> int:
    """Count what is wrong with a call: it sees the future or padding, or misses a token.

    `tokens` are four ordinary ids of both sides.
    """
    src = torch.tensor([[tokens[0], tokens[1], tokens[2], tokens[1]]])
    tgt = torch.tensor([[*tokens[:3]]])
    other_src, other_tgt = src.clone(), tgt.clone()
    other_src[0, -2], other_tgt[0, 1] = tokens[3], tokens[3]
    logits = call(src, tgt)
    scale = 1e-4 * float(logits.abs().max())

    def moved(src: Tensor, tgt: Tensor, positions: slice) -> bool:
        return bool((call(src, tgt) - logits)[:, positions].abs().max() > scale)

    defects = [
        not bool(logits.isfinite().all()),
        moved(src, other_tgt, slice(0, 1)),
        not moved(src, other_tgt, slice(1, 2)),
        not moved(other_src, tgt, slice(None)),
    ]
    if pad is not None:
        padded_src = nn.functional.pad(src, (0, 2), value=pad)
        defects.append(moved(padded_src, tgt, slice(None)))
    if tgt_pad is not None:
        padded_tgt = nn.functional.pad(tgt, (0, 2), value=tgt_pad)
        padded = call(src, padded_tgt)[:, :3]
        defects.append(bool((padded - logits).abs().max() > scale))
    return defects.count(True)


class EncodeThenDecode(nn.Module):
    """A module without `forward`, whose `encode` and `decode` are called one after the other."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, src: Tensor, tgt: Tensor, src_mask: Tensor, tgt_mask: Tensor) -> Any:
        """Encode and decode; both get what the names of their parameters ask for."""
        module: Any = self.module

        def arguments(function: Any, memory: Any = None) -> Iterator[Any]:
            for name in inspect.signature(function).parameters:
                lowered = name.lower()
                if "mask" in lowered:
                    yield tgt_mask if mask_role(lowered).side == "tgt" else src_mask
                elif memory is not None and re.search("mem|enc|context", lowered):
                    yield memory
                else:
                    yield src if memory is None or SRC.match(lowered) else tgt

        memory = module.encode(*arguments(module.encode))
        return module.decode(*arguments(module.decode, memory))
