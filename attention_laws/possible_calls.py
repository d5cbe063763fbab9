"""The ways to call a module that its parameters allow, the likeliest first (not in the paper)."""

from collections.abc import Iterator
from dataclasses import replace

from torch import nn

from attention_laws.calling_convention import CallingConvention
from attention_laws.forward_signature import (
    ForwardSignature,
    inspect_decoder_only_signature,
    inspect_forward_signature,
)
from attention_laws.mask_style import MASK_STYLES, MaskStyle


def yield_possible_calling_conventions(
    module: nn.Module, batch_first: bool | None, mask_style: MaskStyle | None
) -> Iterator[CallingConvention]:
    """Yield every way to call a module that its parameters allow, the likeliest first."""
    signature = inspect_forward_signature(module)
    orders = (True, False) if batch_first is None else (batch_first,)
    styles: list[MaskStyle | None] = [mask_style] if mask_style else list(MASK_STYLES)
    if signature.masks_optional and not mask_style:
        styles = [None, *styles]
    for variant in _signature_variants(signature):
        for style in styles if variant.masks else [None]:
            for order in orders:
                yield CallingConvention(module, variant, order, style)


def yield_decoder_only_conventions(
    module: nn.Module, batch_first: bool | None, mask_style: MaskStyle | None
) -> Iterator[CallingConvention]:
    """Yield every way to call a decoder-only module, the likeliest first."""
    signature = inspect_decoder_only_signature(module)
    if signature is None:
        return
    styles: list[MaskStyle | None] = [mask_style] if mask_style else list(MASK_STYLES)
    for style in styles if signature.masks else [None]:
        for order in (True, False) if batch_first is None else (batch_first,):
            convention = CallingConvention(module, signature, order, style)
            yield convention
            if signature.targets:
                yield replace(convention, with_targets=True)


def _signature_variants(signature: ForwardSignature) -> list[ForwardSignature]:
    """Return a signature, and the same with optional lengths or with the target's ids first."""
    variants = [signature]
    if signature.optional_others:
        variants.append(signature.with_optional_others())
    if signature.order_unknown and signature.tgt:
        variants.append(signature.with_target_first())
    return variants
