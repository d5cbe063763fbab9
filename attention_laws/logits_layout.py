"""Where logits are in what a module returns, and how their axes are ordered (not in the paper)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from torch import Tensor


@dataclass(frozen=True)
class LogitsLayout:
    """One order of the axes of logits."""

    axes: str  # for a reader
    # Returns (batch, length, vocab) of logits, a batch size and a length.
    to_batch_first: Callable[[Tensor, int, int], Tensor]


LOGITS_LAYOUTS = {
    "batch": LogitsLayout("(batch, tgt_len, vocab)", lambda logits, batch, length: logits),
    "length": LogitsLayout(
        "(tgt_len, batch, vocab)", lambda logits, batch, length: logits.transpose(0, 1)
    ),
    "classes": LogitsLayout(
        "(batch, vocab, tgt_len)", lambda logits, batch, length: logits.transpose(1, 2)
    ),
    "flat": LogitsLayout(
        "(batch * tgt_len, vocab)", lambda logits, batch, length: logits.view(batch, length, -1)
    ),
    "flat_length": LogitsLayout(
        "(tgt_len * batch, vocab)",
        lambda logits, batch, length: logits.view(length, batch, -1).transpose(0, 1),
    ),
}


def logits_layout_name(tensor: Tensor, batch: int, length: int, batch_first: bool) -> str:
    """Return the layout of logits, as a key of `LOGITS_LAYOUTS`; empty if the tensor is none."""
    if tensor.dim() == 2 and tensor.shape[0] == batch * length:
        return "flat" if batch_first else "flat_length"
    if tensor.dim() != 3:
        return ""
    for name in ("batch", "length", "classes"):
        if LOGITS_LAYOUTS[name].to_batch_first(tensor, batch, length).shape[:2] == (batch, length):
            return name
    return ""


def yield_paths_and_float_tensors(output: Any) -> Iterator[tuple[tuple[Any, ...], Tensor]]:
    """Yield every floating-point tensor in an output, and the keys to it; "logits" first."""
    if isinstance(output, Tensor):
        if output.is_floating_point():
            yield (), output
        return
    items: list[tuple[Any, Any]] = []
    if hasattr(output, "logits"):
        items.append(("logits", output.logits))
    if isinstance(output, dict):
        items += sorted(output.items(), key=lambda item: item[0] != "logits")
    elif isinstance(output, tuple | list):
        items += enumerate(output)
    for key, value in items:
        for path, tensor in yield_paths_and_float_tensors(value):
            yield (key, *path), tensor
