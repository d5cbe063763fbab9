"""Find a module's vocabulary sizes and padding ids by running it once (not in the paper)."""

import re
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

# An id of which the user said nothing, and which is looked for.
UNSPECIFIED_PADDING_ID = -1
PADDING_ATTRIBUTE_PATTERN = re.compile(
    r"pad(ding)?(_?(idx|id|index|token|token_id|token_idx|value|i))?"
)
SIDE_NAME_PATTERNS = (re.compile(r"src|source|enc|input"), re.compile(r"tgt|trg|targ|dec|output"))


class EmbeddingRecorder(TorchDispatchMode):
    """Record which embedding table is read at an id: its size, and its `padding_idx` or -1."""

    def __init__(self) -> None:
        super().__init__()
        self.vocab_sizes: dict[int, int] = {}
        self.padding: dict[int, int] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.__name__.partition(".")[0]
        if name == "embedding":
            self._record_embedding_lookup(args[0], args[1], args[2] if len(args) > 2 else -1)
        elif name == "index" and len(args[1]) == 1:
            self._record_embedding_lookup(args[0], args[1][0], -1)
        elif name == "index_select" and args[1] == 0:
            self._record_embedding_lookup(args[0], args[2], -1)
        return func(*args, **(kwargs or {}))

    def _record_embedding_lookup(self, table: Tensor, ids: Any, padding: int) -> None:
        if not isinstance(ids, Tensor) or ids.is_floating_point() or ids.dtype == torch.bool:
            return
        if table.dim() != 2 or not table.is_floating_point() or not ids.numel():
            return
        ids = torch.atleast_1d(ids)
        first = int(ids.flatten()[0])
        # Padding may follow, in a model of a fixed length.
        if len(ids.unique()) <= 2 and bool((ids[..., 0] == first).all()):
            self.vocab_sizes.setdefault(first, len(table))
            self.padding.setdefault(first, padding)


def find_padding_ids(
    module: nn.Module, recorder: EmbeddingRecorder, ids: tuple[int, int]
) -> tuple[list[int | None], str]:
    """Return the padding ids of source and target, and their origin in words for a reader.

    They come from attributes such as `src_pad_idx`, or from the embeddings that were seen to read
    `ids`; a side is UNSPECIFIED_PADDING_ID if nothing names its padding.
    """
    padding_ids, origins = [UNSPECIFIED_PADDING_ID, UNSPECIFIED_PADDING_ID], ["", ""]
    for side, token in enumerate(ids):
        if (padding := recorder.padding.get(token, -1)) >= 0:
            padding_ids[side], origins[side] = padding, "its embeddings' padding_idx"
    owners = [module, *(getattr(module, name, None) for name in ("config", "cfg", "args"))]
    attributes = [item for owner in owners for item in getattr(owner, "__dict__", {}).items()]
    for name, value in attributes:
        lowered = name.lower()
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            continue
        sides = [side for side in (0, 1) if SIDE_NAME_PATTERNS[side].search(lowered)] or [0, 1]
        without_side = SIDE_NAME_PATTERNS[1].sub("", SIDE_NAME_PATTERNS[0].sub("", lowered))
        if PADDING_ATTRIBUTE_PATTERN.fullmatch(without_side.strip("_")):
            for side in sides:
                padding_ids[side], origins[side] = value, f"its {name}"
    if UNSPECIFIED_PADDING_ID in padding_ids:
        padding_ids = [max(padding_ids)] * 2
    origin = " and ".join(dict.fromkeys(text for text in origins if text))
    if not origin:
        return [*padding_ids], ""
    verb = "say" if " and " in origin else "says"
    return [*padding_ids], f", as {origin} {verb}"
