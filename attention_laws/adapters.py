"""An adapter around a bare module, of which all is found out (not in the paper)."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from attention_laws.adapter import Adapter
from attention_laws.errors import UserError
from attention_laws.finding import Asked, find_call
from attention_laws.hints import UNSAID
from attention_laws.ids import BOS_ID, EOS_ID
from attention_laws.masks import style
from attention_laws.untouched import evaluating, untouched

Call = Callable[[Tensor, Tensor], Tensor]


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
    device = next((each.device for each in module.parameters()), torch.device("cpu"))
    if device.type != "cpu":
        raise UserError(
            f"the module is on {device}, and the laws run on the CPU: give module.cpu()"
        )
    asked = Asked(batch_first, style(masks) if masks else None, pad_id, tgt_pad_id)
    with untouched(module):
        evaluating(module)
        found = find_call(module, asked)
    call, pad, tgt_pad = found.call, found.call.src_pad, found.call.tgt_pad
    bos, eos = _marks(bos_id, eos_id, {pad, tgt_pad})
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
            *_fast_path(module),
        ),
    )


def _fast_path(module: nn.Module) -> tuple[str, ...]:
    has = any(isinstance(each, nn.TransformerEncoderLayer) for each in module.modules())
    off = "torch's fast path of nn.TransformerEncoderLayer is off while laws are tried, then on"
    return (f"{off} (torch.backends.mha)",) if has else ()


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
    if token == pad and tgt_pad is not None:
        return tgt_pad
    return pad if token == tgt_pad and pad is not None else token


def _one_padding(call: Call, pad: int | None, tgt_pad: int | None) -> Call:
    """Let both sides have the source's padding: the target's and that id change places."""
    if pad is None or tgt_pad is None:
        raise UserError("one side alone has padding (pad_id=, tgt_pad_id=): write an Adapter")

    def forward(src: Tensor, tgt_in: Tensor) -> Tensor:
        swapped = torch.where(tgt_in == pad, tgt_pad, torch.where(tgt_in == tgt_pad, pad, tgt_in))
        logits = call(src, swapped)
        order = [_swap(each, pad, tgt_pad) for each in range(logits.shape[-1])]
        return logits[..., order]

    return forward
