"""What the parameters of somebody's `forward` are for, by their names (not in the paper)."""

import inspect
import re
from dataclasses import dataclass, replace

from torch import nn

from attention_laws.mask_style import MaskRole, mask_roles_from_names

SRC_NAME_PATTERN = re.compile(r"src|source|enc|input|question|^x$")
TGT_NAME_PATTERN = re.compile(r"tgt|trg|targ|dec|prev|out|answer|^y$")
# Of a decoder-only model.
DECODER_ONLY_TARGETS_PATTERN = re.compile(r"^(y|targets?|labels?|tgt)$")
POSITIONS_PATTERN = re.compile(r"^pos(ition)?(_?ids|s)?$")
PADDING_MASK_PATTERN = re.compile(r"^attention_mask$")
# Masks of keys; those that leave out whole heads are something else.
MASK_PARAMETER_NAME_PATTERN = re.compile(r"^(?!(.*_)?head).*mask")


@dataclass(frozen=True)
class ForwardSignature:
    """Parameters of a module's `forward`, by what they are for."""

    # Names of the ids; empty if they are passed by position.
    src: str = ""
    tgt: str = ""
    masks: tuple[tuple[str, MaskRole], ...] = ()  # masks by name, and the role of each
    others: tuple[str, ...] = ()  # lengths, positions and the like that must be given
    optional_others: tuple[str, ...] = ()  # lengths that may be left out
    masks_optional: bool = True  # whether every mask may be left out
    pair: bool = False  # whether source and target are one argument
    # Of a decoder-only model, which reads `tgt` alone: the name of what it calls its targets, and
    # of the positions and masks that rows padded on the left need.
    decoder_only: bool = False
    targets: str = ""
    positions: str = ""
    padding_mask: str = ""
    # Whether the names say nothing, so that the target's ids may come first.
    order_unknown: bool = False

    def with_optional_others(self) -> "ForwardSignature":
        """Return the signature whose optional lengths are given as well."""
        return replace(self, others=self.others + self.optional_others, optional_others=())

    def with_target_first(self) -> "ForwardSignature":
        """Return the signature whose first ids are the target's."""
        return replace(self, src=self.tgt, tgt=self.src)


def inspect_forward_signature(module: nn.Module) -> ForwardSignature:
    """Return what a module's `forward` takes."""
    try:
        parameters = inspect.signature(module.forward).parameters.values()
    except (TypeError, ValueError):
        return ForwardSignature()
    named = [x for x in parameters if x.kind not in (x.VAR_POSITIONAL, x.VAR_KEYWORD)]
    named = [x for x in named if not _is_flag_or_number(x)]
    takes_any_number = any(x.kind == x.VAR_POSITIONAL for x in parameters)
    # forward(*args), as papers' code has it: both masks follow the ids.
    if takes_any_number and len(named) < 2:
        return ForwardSignature(masks=(("", MaskRole("src", False)), ("", MaskRole("tgt", False))))
    masks = _select_mask_parameters(named)
    unmasked = [x for x in named if "mask" not in x.name.lower()]
    others = [x.name for x in unmasked if _is_length_position_or_teacher_forcing(x)]
    id_names = _id_parameter_names([x for x in unmasked if x.name not in others])
    if len(id_names) == 1 and not masks:
        return ForwardSignature(src=id_names[0], pair=True)
    src, tgt = _find_source_and_target_names(id_names)
    mask_names = [x.name for x in masks]
    return ForwardSignature(
        src=src,
        tgt=tgt,
        masks=tuple(zip(mask_names, mask_roles_from_names(mask_names), strict=True)),
        others=tuple(others),
        optional_others=tuple(x.name for x in unmasked if _is_optional_length(x)),
        order_unknown=not any(map(_names_a_side, id_names)),
        masks_optional=all(x.default is not x.empty for x in masks),
    )


def inspect_decoder_only_signature(module: nn.Module) -> ForwardSignature | None:
    """Return what the `forward` of a decoder-only model takes; None if it needs more than ids."""
    try:
        parameters = inspect.signature(module.forward).parameters.values()
    except (TypeError, ValueError):
        return None
    named = [x for x in parameters if x.kind not in (x.VAR_POSITIONAL, x.VAR_KEYWORD)]
    named = [x for x in named if not _is_flag_or_number(x)]
    masks = _select_mask_parameters(named)
    required = [x for x in named if x.default is x.empty and x not in masks]
    others = [x for x in required if _is_length_position_or_teacher_forcing(x)]
    ids = [x for x in required if x not in others] or named[:1]
    if len(ids) != 1:
        return None
    needed_masks = [x.name for x in masks if x.default is x.empty]
    return ForwardSignature(
        tgt=ids[0].name,
        masks=tuple((name, MaskRole("tgt", False)) for name in needed_masks),
        others=tuple(x.name for x in others),
        masks_optional=not needed_masks,
        decoder_only=True,
        targets=_first_name_matching(DECODER_ONLY_TARGETS_PATTERN, named),
        positions=_first_name_matching(POSITIONS_PATTERN, named),
        padding_mask=_first_name_matching(PADDING_MASK_PATTERN, masks),
    )


def takes_parameters(module: nn.Module, *names: str) -> bool:
    """Return whether a module's `forward` has parameters of these names."""
    try:
        return set(names) <= set(inspect.signature(module.forward).parameters)
    except (TypeError, ValueError):
        return False


def _first_name_matching(pattern: re.Pattern[str], parameters: list[inspect.Parameter]) -> str:
    return next((x.name for x in parameters if pattern.search(x.name.lower())), "")


def _is_flag_or_number(parameter: inspect.Parameter) -> bool:
    """Return whether a parameter's default is a flag, a number or a text: it is never given.

    A rate of teacher forcing is given, since outputs are drawn below a rate of 1.
    """
    is_plain = isinstance(parameter.default, bool | int | float | str)
    return is_plain and "teacher" not in parameter.name.lower()


def _id_parameter_names(parameters: list[inspect.Parameter]) -> list[str]:
    """Return the names of parameters for ids: those without a default if there are two."""
    required = [x.name for x in parameters if x.default is x.empty]
    if len(required) > 1:
        return required
    return [x.name for x in parameters if not _is_optional_length(x)]


def _names_a_side(name: str) -> bool:
    """Return whether a name says that a parameter is the source's or the target's."""
    patterns = (SRC_NAME_PATTERN, TGT_NAME_PATTERN)
    return any(pattern.search(name.lower()) for pattern in patterns)


def _is_optional_length(parameter: inspect.Parameter) -> bool:
    """Return whether a parameter is a length that may be left out."""
    return parameter.default is None and "len" in parameter.name.lower()


def _select_mask_parameters(parameters: list[inspect.Parameter]) -> list[inspect.Parameter]:
    """Return the masks among parameters, without an optional one of scores beside others."""
    masks = [x for x in parameters if MASK_PARAMETER_NAME_PATTERN.search(x.name.lower())]
    if len(masks) > 1:
        masks = [x for x in masks if x.name != "attn_mask" or x.default is x.empty]
    return masks


def _is_length_position_or_teacher_forcing(parameter: inspect.Parameter) -> bool:
    """Return whether a parameter is a length, a position or a rate of teacher forcing to fill in.

    Lengths and positions are filled in only if they have no default.
    """
    pattern = "teacher|len|pos" if parameter.default is parameter.empty else "teacher"
    return re.search(pattern, parameter.name.lower()) is not None


def _find_source_and_target_names(names: list[str]) -> tuple[str, str]:
    """Return which names are the source's and the target's ids; empty if there is none."""
    targets = [
        name
        for name in names
        if TGT_NAME_PATTERN.search(name.lower()) and not SRC_NAME_PATTERN.match(name.lower())
    ]
    tgt = targets[0] if targets else (names[1] if len(names) > 1 else "")
    rest = [name for name in names if name != tgt]
    src = next(
        (name for name in rest if SRC_NAME_PATTERN.search(name.lower())), rest[0] if rest else ""
    )
    return src, tgt
