"""Masks as somebody's forward may want them; ours is True = may attend (not in the paper)."""

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
        shapes = {
            4: "(batch, 1, 1 or tgt_len, length)",
            3: "(batch, 1 or tgt_len, length)",
            2: "(batch, src_len) and (tgt_len, tgt_len)",
            1: "(batch, length)",
        }
        means = {"may": "1 = may attend", "hidden": "1 = hidden", "add": "-inf = hidden, added"}
        return f"{self.kind}, {means[self.one]}, {shapes[self.axes]}"


_COMMON = (Style("may", "bool", 4), Style("may", "bool", 3), Style("hidden", "bool", 2))
_KINDS = [(one, kind) for kind in ("bool", "int", "byte", "float") for one in ("may", "hidden")]
STYLES = tuple(
    dict.fromkeys(
        (
            *_COMMON,
            *(Style(*each, axes) for each in [*_KINDS, ("add", "float")] for axes in (4, 3, 2, 1)),
        )
    )
)


def style(text: str) -> Style:
    """Read a style as the flag gives it.

    Raises:
        UserError: there is none such.
    """
    for each in STYLES:
        if str(each) == text:
            return each
    raise UserError(
        f"there is no way {text!r} to write masks: give one as {', '.join(map(str, _COMMON))}"
    )


class Role(NamedTuple):
    """What a mask is of: a side ("src", "tgt" or "cross"), and whether of padding alone."""

    side: str
    padding: bool


def role(name: str) -> Role:
    """Tell a mask by its parameter's name."""
    low = name.lower()
    padding = "pad" in low
    if any(each in low for each in ("memory", "cross", "enc_dec", "dec_enc", "src_t")):
        return Role("cross", padding)
    if any(each in low for each in ("tgt", "trg", "target", "dec", "look", "causal", "future")):
        return Role("tgt", padding)
    if any(each in low for each in ("subsequent", "nopeak", "out")):
        return Role("tgt", padding)
    return Role("src", padding)


def made(
    style: Style, role: Role, src_real: Tensor, tgt_real: Tensor, beside_padding: bool
) -> Tensor:
    """Make one mask of where source and target are no padding, (batch, length).

    Where padding has masks of its own, as with `torch.nn.Transformer`, the others are of two axes,
    and say nothing of padding.
    """
    causal = torch.ones(tgt_real.shape[1], tgt_real.shape[1], dtype=torch.bool).tril()
    real = tgt_real if role.side == "tgt" else src_real
    if role.padding or (style.axes <= 2 and role.side != "tgt" and not beside_padding):
        may = real
    elif beside_padding or style.axes == 2:
        queries = tgt_real if role.side == "cross" else real
        may = causal if role.side == "tgt" else torch.ones(queries.shape[1], real.shape[1]).bool()
    elif style.axes == 1:
        may = real
    else:
        may = real[:, None, :] & causal if role.side == "tgt" else real[:, None, :]
        may = may[:, None] if style.axes == 4 else may
    if style.one == "add":
        return torch.zeros(may.shape).masked_fill(~may, -torch.inf)
    kinds = {"bool": torch.bool, "int": torch.long, "byte": torch.uint8, "float": torch.float32}
    return (may if style.one == "may" else ~may).to(kinds[style.kind])
