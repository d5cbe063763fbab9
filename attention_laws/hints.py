"""What a module tells of its vocabularies and padding when it is run once (not in the paper)."""

import re
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

UNSAID = -1  # of an id: nothing is said of it, and it is looked for
PAD_NAME = re.compile(r"pad(ding)?(_?(idx|id|index|token|token_id|token_idx|value|i))?")
SIDES = (re.compile(r"src|source|enc|input"), re.compile(r"tgt|trg|targ|dec|output"))


class Seen(TorchDispatchMode):
    """Notes within which table is read at an id: its size, and its `padding_idx` or -1."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: dict[int, int] = {}
        self.padding: dict[int, int] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.__name__.partition(".")[0]
        if name == "embedding":
            self._note(args[0], args[1], args[2] if len(args) > 2 else -1)
        elif name == "index" and len(args[1]) == 1:
            self._note(args[0], args[1][0], -1)
        elif name == "index_select" and args[1] == 0:
            self._note(args[0], args[2], -1)
        return func(*args, **(kwargs or {}))

    def _note(self, table: Tensor, ids: Any, padding: int) -> None:
        if not isinstance(ids, Tensor) or ids.is_floating_point() or ids.dtype == torch.bool:
            return
        if table.dim() != 2 or not table.is_floating_point() or not ids.numel():
            return
        first = int(ids.flatten()[0])
        if bool((ids == first).all()):
            self.sizes.setdefault(first, len(table))
            self.padding.setdefault(first, padding)


def paddings(module: nn.Module, seen: Seen, ids: tuple[int, int]) -> tuple[list[int | None], str]:
    """Give both sides' padding, UNSAID where nothing tells, and who told it, for a reader.

    Attributes such as `src_pad_idx` tell it, or the embeddings that were seen to read `ids`.
    """
    found, told = [UNSAID, UNSAID], ["", ""]
    for side, token in enumerate(ids):
        if (padding := seen.padding.get(token, -1)) >= 0:
            found[side], told[side] = padding, "its embeddings' padding_idx"
    holders = [module, *(getattr(module, name, None) for name in ("config", "cfg", "args"))]
    held = [each for holder in holders for each in getattr(holder, "__dict__", {}).items()]
    for name, value in held:
        low = name.lower()
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            continue
        sides = [side for side in (0, 1) if SIDES[side].search(low)] or [0, 1]
        bare = SIDES[1].sub("", SIDES[0].sub("", low))
        if PAD_NAME.fullmatch(bare.strip("_")):
            for side in sides:
                found[side], told[side] = value, f"its {name}"
    if UNSAID in found:
        found = [max(found)] * 2
    who = " and ".join(dict.fromkeys(each for each in told if each))
    return [*found], f", as {who} {'say' if ' and ' in who else 'says'}" if who else ""
