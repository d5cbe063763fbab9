"""An adapter around a bare module: how it is called is found by trying (not in the paper)."""

import inspect
import re
from collections.abc import Iterator
from typing import Any

from torch import Tensor, nn

from attention_laws.adapter import BOS_ID, EOS_ID, Adapter
from attention_laws.decoder_only import (
    BIDIRECTIONAL_ASSUMPTION,
    make_cached_decoder,
    make_left_padded_call,
    raise_if_masked_language_model,
    reads_both_directions,
)
from attention_laws.errors import UserError
from attention_laws.find_call import WorkingCall, find_working_call
from attention_laws.forward_signature import SRC_NAME_PATTERN
from attention_laws.mask_style import mask_role_from_name, parse_mask_style
from attention_laws.model_state import force_eval_mode, model_state_restored_afterwards
from attention_laws.vocabularies import UNSPECIFIED_PADDING_ID

FAST_PATH_ASSUMPTION = (
    "torch's fast path of nn.TransformerEncoderLayer is off (torch.backends.mha), then on"
)


def adapter_from_module(
    module: nn.Module,
    *,
    batch_first: bool | None = None,
    pad_id: int | None = UNSPECIFIED_PADDING_ID,
    tgt_pad_id: int | None = UNSPECIFIED_PADDING_ID,
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
        UserError: it cannot be called so, the sizes of its vocabularies cannot be found, it is not
            on the CPU, has weights of 16 bits or fewer, or is called a BERT and reads in both
            directions.
    """
    if type(module).forward is nn.Module.forward and hasattr(module, "encode"):
        module = EncodeThenDecode(module)
    _raise_unless_on_cpu_in_32_bits(module)
    with model_state_restored_afterwards(module):
        force_eval_mode(module)
        mask_style = parse_mask_style(masks) if masks else None
        working_call = find_working_call(module, batch_first, mask_style, pad_id, tgt_pad_id)
        if working_call.call.signature.decoder_only:
            raise_if_masked_language_model(working_call.call)
        return _adapter_of_working_call(working_call, batch_first is not None, bos_id, eos_id)


def _raise_unless_on_cpu_in_32_bits(module: nn.Module) -> None:
    """Raise unless each parameter is on the CPU and, if it is a real number, has 32 bits or more.

    Raises:
        UserError: one is elsewhere, or in 16 bits, whose rounding looks like a fault to laws.
    """
    for weight in module.parameters():
        if weight.device.type != "cpu":
            place = f"the module is on {weight.device}"
            raise UserError(f"{place}, and laws run on the CPU: give module.cpu()")
        if weight.is_floating_point() and weight.dtype.itemsize < 4:
            rounded = f"the module has weights in {weight.dtype}, whose rounding looks like a fault"
            raise UserError(f"{rounded}: give module.float()")


def _adapter_of_working_call(
    working_call: WorkingCall, order_given: bool, bos_id: int | None, eos_id: int | None
) -> Adapter:
    """Return the adapter of a module that is called as was found.

    Raises:
        UserError: one side alone has padding.
    """
    call = working_call.call
    pad, tgt_pad = call.src_pad, call.tgt_pad
    bos, eos = _choose_bos_and_eos_ids(bos_id, eos_id, {pad, tgt_pad})
    if pad != tgt_pad and None in (pad, tgt_pad):
        raise UserError("only one side has padding (pad_id=, tgt_pad_id=): write an Adapter")
    return Adapter(
        forward=call,
        module=call.module,
        src_vocab_size=working_call.src_vocab_size,
        tgt_vocab_size=working_call.tgt_vocab_size,
        pad_id=pad,
        tgt_pad_id=None if pad == tgt_pad else tgt_pad,
        bos_id=bos,
        eos_id=eos,
        assumptions=_describe_assumptions(working_call, order_given, bos, eos),
        decoder_only=call.signature.decoder_only,
        cached=make_cached_decoder(call),
        left_padded=make_left_padded_call(call),
    )


def _describe_assumptions(
    working_call: WorkingCall, order_given: bool, bos: int, eos: int
) -> tuple[str, ...]:
    """Return what was assumed of a module, each with the option that overrides it."""
    call = working_call.call
    order = "batch first" if call.batch_first else "length first"
    source = "given" if order_given else "tried"
    padding = f"pad is {call.src_pad}"
    if call.src_pad != call.tgt_pad:
        padding += f", of targets {call.tgt_pad}"
    types = f"{working_call.src_vocab_size} source and {working_call.tgt_vocab_size} target types"
    if call.signature.decoder_only:
        types = f"{working_call.tgt_vocab_size} types"
    assumptions = [
        f"ids are {order} ({source}; batch_first=, --length-first)",
        f"{padding}{working_call.padding_origin} (pad_id=, --pad), bos {bos} (bos_id=, --bos), "
        f"eos {eos} (eos_id=, --eos)",
        f"{types} (as wide as embeddings and logits are)",
        *call.assumptions,
    ]
    if call.signature.decoder_only and reads_both_directions(call):
        assumptions.append(BIDIRECTIONAL_ASSUMPTION)
    if any(isinstance(part, nn.TransformerEncoderLayer) for part in call.module.modules()):
        assumptions.append(FAST_PATH_ASSUMPTION)
    return tuple(assumptions)


def _choose_bos_and_eos_ids(
    bos: int | None, eos: int | None, taken: set[int | None]
) -> tuple[int, int]:
    """Return bos and eos as the user gave them, or the usual ones unless padding has them."""
    free = [token for token in (BOS_ID, EOS_ID, 1, 4, 5, 6) if token not in taken]
    if bos is None:
        bos = next(token for token in free if token != eos)
    if eos is None:
        eos = next(token for token in free if token not in (bos, BOS_ID))
    return bos, eos


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
                    yield tgt_mask if mask_role_from_name(lowered).side == "tgt" else src_mask
                elif memory is not None and re.search("mem|enc|context", lowered):
                    yield memory
                else:
                    yield src if memory is None or SRC_NAME_PATTERN.match(lowered) else tgt

        memory = module.encode(*arguments(module.encode))
        return module.decode(*arguments(module.decode, memory))
