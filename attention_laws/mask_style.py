"""Masks as somebody's forward may expect them; ours is True = may attend (not in the paper)."""

import re
from typing import NamedTuple

import torch
from torch import Tensor

from attention_laws.errors import UserError


class MaskStyle(NamedTuple):
    """How masks are written; as text "may-bool-4"."""

    # What 1 or True means: "may" (attend) or "hidden"; "add": the mask is added to the scores.
    meaning: str
    dtype: str  # bool, int, byte or float
    # 4: (batch, 1, q_len, k_len); 3: without the 1; 2: (batch, length) for the source and
    # (tgt_len, tgt_len) for the target; 1: (batch, length) for both.
    axes: int

    def __str__(self) -> str:
        """Return the style as the flag takes it."""
        return "-".join(map(str, self))

    @property
    def description(self) -> str:
        """The style in words, for a reader."""
        meanings = {"may": "1 = may attend", "hidden": "1 = hidden", "add": "-inf = hidden, added"}
        shapes = {
            4: "(batch, 1, 1 or tgt_len, length)",
            3: "(batch, 1 or tgt_len, length)",
            2: "(batch, src_len) and (tgt_len, tgt_len)",
            1: "(batch, length)",
        }
        return f"{self.dtype}, {meanings[self.meaning]}, {shapes[self.axes]}"


_COMMON_MASK_STYLES = (
    MaskStyle("may", "bool", 4),
    MaskStyle("may", "bool", 3),
    MaskStyle("hidden", "bool", 2),
)
_MEANINGS_AND_DTYPES = [
    *(
        (meaning, dtype)
        for dtype in ("bool", "int", "byte", "float")
        for meaning in ("may", "hidden")
    ),
    ("add", "float"),
]
_ALL_MASK_STYLES = [
    MaskStyle(meaning, dtype, axes)
    for meaning, dtype in _MEANINGS_AND_DTYPES
    for axes in (4, 3, 2, 1)
]
# The common styles first, since they are tried in this order.
MASK_STYLES = tuple(dict.fromkeys((*_COMMON_MASK_STYLES, *_ALL_MASK_STYLES)))


def parse_mask_style(text: str) -> MaskStyle:
    """Return the style that a flag names.

    Raises:
        UserError: there is no such style.
    """
    styles = {str(style): style for style in MASK_STYLES}
    if text not in styles:
        common = ", ".join(map(str, _COMMON_MASK_STYLES))
        raise UserError(f"there is no way {text!r} to write masks: give one as {common}")
    return styles[text]


class MaskRole(NamedTuple):
    """What a mask hides: keys of "src", "tgt" or "cross", and whether padding alone."""

    side: str
    padding: bool


CROSS_MASK_NAME_PATTERN = re.compile(r"memory|cross|enc_dec|dec_enc|src_t")
TGT_MASK_NAME_PATTERN = re.compile(r"tgt|trg|target|dec|look|causal|future|subsequent|nopeak|out")
KNOWN_MASK_NAME_PATTERN = re.compile(
    rf"src|source|enc|inp|pad|{TGT_MASK_NAME_PATTERN.pattern}|{CROSS_MASK_NAME_PATTERN.pattern}"
)


def mask_role_from_name(name: str) -> MaskRole:
    """Return the role of a mask by its parameter's name."""
    lowered = name.lower()
    side = (
        "cross"
        if CROSS_MASK_NAME_PATTERN.search(lowered)
        else "tgt"
        if TGT_MASK_NAME_PATTERN.search(lowered)
        else "src"
    )
    return MaskRole(side, "pad" in lowered)


def mask_roles_from_names(names: list[str]) -> list[MaskRole]:
    """Return the roles of masks by their names, or by their order if the names say nothing."""
    roles = [mask_role_from_name(name) for name in names]
    # Names such as e_mask and d_mask: the order decides.
    if len(names) > 1 and not any(KNOWN_MASK_NAME_PATTERN.search(name.lower()) for name in names):
        roles[1:] = [MaskRole("tgt", False), *[MaskRole("cross", False)] * (len(roles) - 2)]
    # TensorFlow's tutorial has a look_ahead_mask, and a dec_padding_mask for cross-attention.
    if any("look" in name.lower() for name in names):
        target_padding = MaskRole("tgt", True)
        return [role._replace(side="cross") if role == target_padding else role for role in roles]
    return roles


def make_mask(
    style: MaskStyle, role: MaskRole, src_real: Tensor, tgt_real: Tensor, beside_padding: bool
) -> Tensor:
    """Return one mask, given where source and target are no padding, (batch, length).

    If padding has masks of its own, as with `torch.nn.Transformer`, the other masks of two axes
    leave it out.
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
    # Beside an additive mask torch.nn.Transformer takes a boolean one for padding.
    if style.meaning == "add" and role.padding and style.axes == 2:
        return ~may
    if style.meaning == "add":
        return torch.zeros(may.shape).masked_fill(~may, -torch.inf)
    dtypes = {"bool": torch.bool, "int": torch.long, "byte": torch.uint8, "float": torch.float32}
    return (may if style.meaning == "may" else ~may).to(dtypes[style.dtype])
