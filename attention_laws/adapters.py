"""Adapters around models that are often met; each is an example of how to write one's own.

Not in the paper.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from attention_laws.adapter import Adapter
from attention_laws.errors import UserError
from attention_laws.ids import BOS_ID, EOS_ID, PAD_ID
from attention_laws.untouched import hooked, untouched

Forward = Callable[[Tensor, Tensor], Tensor]


def from_module(
    module: nn.Module,
    *,
    batch_first: bool | None = None,
    pad_id: int | None = PAD_ID,
    bos_id: int = BOS_ID,
    eos_id: int = EOS_ID,
) -> Adapter:
    """Adapt any module that gives logits of (src, tgt_in); find out its sizes.

    Args:
        module: Makes its masks from the ids itself.
        batch_first: Whether ids are (batch, length); None tries both, batch first first.
        pad_id: Padding, of both sides.
        bos_id: Begins each target.
        eos_id: Ends each sentence.

    Raises:
        UserError: it has no embedding that reads the source's ids, it cannot be called so, or it
            is not on the CPU.
    """
    orders = (True, False) if batch_first is None else (batch_first,)
    src_id, tgt_id = [each for each in range(3, 8) if each not in (pad_id, bos_id, eos_id)][:2]
    device = next((each.device for each in module.parameters()), torch.device("cpu"))
    if device.type != "cpu":
        raise UserError(
            f"the module is on {device}, and the laws run on the CPU: give module.cpu()"
        )
    with untouched(module):
        module.eval()
        probe = _probe(module, orders, src_id, tgt_id)
    given = "given" if batch_first is not None else "tried"
    order = "batch first" if probe.batch_first else "length first"
    forward = module if probe.batch_first else _length_first(module)
    return Adapter(
        forward=forward,
        module=module,
        src_vocab_size=probe.src_vocab_size,
        tgt_vocab_size=probe.tgt_vocab_size,
        pad_id=pad_id,
        bos_id=bos_id,
        eos_id=eos_id,
        assumptions=(
            f"ids are {order} ({given}; batch_first=, --length-first)",
            f"pad is {pad_id} (pad_id=, --pad), bos {bos_id} (bos_id=, --bos), "
            f"eos {eos_id} (eos_id=, --eos)",
            f"{probe.src_vocab_size} source and {probe.tgt_vocab_size} target types "
            "(as wide as embeddings and logits are)",
        ),
    )


class _Probe(NamedTuple):
    """What a first call has told of a module."""

    batch_first: bool
    src_vocab_size: int
    tgt_vocab_size: int


def _probe(module: nn.Module, orders: tuple[bool, ...], src_id: int, tgt_id: int) -> _Probe:
    """Call a module with ids of distinct shapes, and see which embedding reads which."""
    src = torch.full((2, 5), src_id)
    tgt_in = torch.full((2, 3), tgt_id)
    reasons = []
    for batch_first in orders:
        ids = (src, tgt_in) if batch_first else (src.T, tgt_in.T)
        try:
            logits, tables = _called(module, *ids)
        except Exception as error:  # whatever somebody's model raises
            reasons.append(f"{type(error).__name__}: {' '.join(str(error).split())[:120]}")
            continue
        if not isinstance(logits, Tensor):
            reasons.append(f"it gives {type(logits).__name__}, no tensor")
            continue
        if logits.shape[:2] != ids[1].shape or logits.dim() != 3:
            reasons.append(f"its output has the shape {tuple(logits.shape)}")
            continue
        if src_id not in tables:
            raise UserError(
                "no nn.Embedding of the module reads the source's ids: write an Adapter that says "
                "how many source types there are"
            )
        target = min(logits.shape[2], tables.get(tgt_id, logits.shape[2]))
        return _Probe(batch_first, tables[src_id], target)
    raise UserError(
        f"the module gives no logits (batch, tgt_len, vocab_size) of (src, tgt_in): "
        f"{'; '.join(reasons)}: write an Adapter around it"
    )


@torch.no_grad()
def _called(module: nn.Module, src: Tensor, tgt_in: Tensor) -> tuple[Tensor, dict[int, int]]:
    """Give the logits, and the size of the table that read each id."""
    tables: dict[int, int] = {}

    def note(table: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        ids = inputs[0] if inputs else None  # a table of positions may be asked for a length
        assert isinstance(table, nn.Embedding)
        if isinstance(ids, Tensor) and ids.numel() and bool((ids == ids.flatten()[0]).all()):
            tables.setdefault(int(ids.flatten()[0]), table.num_embeddings)

    embeddings = [each for each in module.modules() if isinstance(each, nn.Embedding)]
    with hooked(each.register_forward_pre_hook(note) for each in embeddings):
        return module(src, tgt_in), tables


def _length_first(module: Forward) -> Forward:
    """Turn ids and logits around for a module that wants (length, batch)."""
    return lambda src, tgt_in: module(src.T, tgt_in.T).transpose(0, 1)


def from_torch(model: Any, *, pad_id: int = PAD_ID) -> Adapter:
    """Adapt a model around `torch.nn.Transformer`, whose masks say True = hidden.

    Args:
        model: A module with a `transformer`, batch first; `src_embedding` and `tgt_embedding`,
            which give (batch, length, d_model) of ids, positions included; an `output`, nn.Linear.
        pad_id: Padding.
    """

    def forward(src: Tensor, tgt_in: Tensor) -> Tensor:
        future = nn.Transformer.generate_square_subsequent_mask(tgt_in.shape[1]).isinf()
        hidden = model.transformer(
            model.src_embedding(src),
            model.tgt_embedding(tgt_in),
            tgt_mask=future,
            src_key_padding_mask=src == pad_id,
            memory_key_padding_mask=src == pad_id,
            tgt_key_padding_mask=tgt_in == pad_id,
            tgt_is_causal=False,
        )
        return model.output(hidden)

    tables = [
        next(each for each in side.modules() if isinstance(each, nn.Embedding))
        for side in (model.src_embedding, model.tgt_embedding)
    ]
    return Adapter(
        forward=forward,
        module=model,
        pad_id=pad_id,
        src_vocab_size=tables[0].num_embeddings,
        tgt_vocab_size=model.output.out_features,
        d_model=model.transformer.d_model,
    )
