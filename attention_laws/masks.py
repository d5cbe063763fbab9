"""Masks as somebody's forward may want them; ours is True = may attend (not in the paper)."""

import re
from typing import NamedTuple

import torch
from torch import Tensor

from attention_laws.errors import UserError


class Style(NamedTuple):
    """How masks are written; as text "may-bool-4"."""

    one: str  # what 1 or True says: "may" (attend) or "hidden"; "add": it is added to scores
    kind: str  # of the numbers: bool, int, byte or float
    # 4: (batch, 1, q_len, k_len); 3: without the 1; 2: (batch, length), and of the target
    # (tgt_len, tgt_len); 1: (batch, length) of both
    axes: int

    def __str__(self) -> str:
        """Write it as the flag takes it."""
        return "-".join(map(str, self))

    @property
    def words(self) -> str:
        """Say it for a reader."""
        means = {"may": "1 = may attend", "hidden": "1 = hidden", "add": "-inf = hidden, added"}
        shape = f"(batch, {'1, ' if self.axes == 4 else ''}1 or tgt_len, length)"
        flat = {2: "(batch, src_len) and (tgt_len, tgt_len)", 1: "(batch, length)"}
        return f"{self.kind}, {means[self.one]}, {flat.get(self.axes, shape)}"


_COMMON = (Style("may", "bool", 4), Style("may", "bool", 3), Style("hidden", "bool", 2))
_KINDS = [(one, kind) for kind in ("bool", "int", "byte", "float") for one in ("may", "hidden")]
_ALL = [Style(*each, axes) for each in (*_KINDS, ("add", "float")) for axes in (4, 3, 2, 1)]
STYLES = tuple(dict.fromkeys((*_COMMON, *_ALL)))


def style(text: str) -> Style:
    """Read a style as the flag gives it.

    Raises:
        UserError: there is none such.
    """
    named = {str(each): each for each in STYLES}
    if text not in named:
        common = ", ".join(map(str, _COMMON))
        raise UserError(f"there is no way {text!r} to write masks: give one as {common}")
    return named[text]


class Role(NamedTuple):
    """What a mask is of: a side ("src", "tgt" or "cross"), and whether of padding alone."""

    side: str
    padding: bool


CROSS = re.compile(r"memory|cross|enc_dec|dec_enc|src_t")
TGT = re.compile(r"tgt|trg|target|dec|look|causal|future|subsequent|nopeak|out")
SAID = re.compile(rf"src|source|enc|inp|pad|{TGT.pattern}|{CROSS.pattern}")


def role(name: str) -> Role:
    """Tell a mask by its parameter's name."""
    low = name.lower()
    side = "cross" if CROSS.search(low) else "tgt" if TGT.search(low) else "src"
    return Role(side, "pad" in low)


def roles(names: list[str]) -> list[Role]:
    """Tell masks by their names, or by their order where these say nothing, as e_mask, d_mask."""
    found = [role(each) for each in names]
    if len(names) > 1 and not any(SAID.search(each.lower()) for each in names):
        found[1:] = [Role("tgt", False), *[Role("cross", False)] * (len(found) - 2)]
    if any("look" in each.lower() for each in names):  # TensorFlow's tutorial: dec_padding_mask
        return [each._replace(side="cross") if each == ("tgt", True) else each for each in found]
    return found


def made(
    style: Style, role: Role, src_real: Tensor, tgt_real: Tensor, beside_padding: bool
) -> Tensor:
    """Make one mask of where source and target are no padding, (batch, length).

    Where padding has masks of its own, as with `torch.nn.Transformer`, the others say nothing of
    it if they are of two axes.
    """
    real = tgt_real if role.side == "tgt" else src_real
    may = real if style.axes <= 2 else real[:, None, :]
    if role.side == "tgt" and style.axes > 1 and not role.padding:
        causal = torch.ones(real.shape[1], real.shape[1], dtype=torch.bool).tril()
        may = causal if style.axes == 2 else may & causal
    elif beside_padding and style.axes == 2 and not role.padding:
        queries = tgt_real if role.side == "cross" else real
        may = torch.ones(queries.shape[1], real.shape[1], dtype=torch.bool)
    may = may[:, None] if style.axes == 4 else may
    if style.one == "add" and role.padding and style.axes == 2:  # as torch.nn.Transformer takes it
        return ~may
    if style.one == "add":
        return torch.zeros(may.shape).masked_fill(~may, -torch.inf)
    kinds = {"bool": torch.bool, "int": torch.long, "byte": torch.uint8, "float": torch.float32}
    return (may if style.one == "may" else ~may).to(kinds[style.kind])
