"""What a decoder-only module offers beside logits: a cache, padding first (not in the paper)."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from attention_laws.adapter import CachedDecoder
from attention_laws.calling_convention import CallingConvention
from attention_laws.errors import NotObservedError, UserError, WrongLogitsShapeError, describe_error
from attention_laws.forward_signature import takes_parameters
from attention_laws.mask_style import MaskRole, MaskStyle

BIDIRECTIONAL_ASSUMPTION = (
    "each position reads all that follow it: it looks like an encoder alone, as BERT is, of which "
    "these laws say nothing; of a decoder the causal mask is missing"
)
MASKED_LANGUAGE_MODEL_PATTERN = re.compile(r"bert|masked_?(lm|language)|mlm$", re.IGNORECASE)


def raise_if_masked_language_model(call: CallingConvention) -> None:
    """Raise if a module that reads in both directions is called a BERT, or a masked LM.

    Raises:
        UserError: it is no decoder.
    """
    name = type(call.module).__name__
    if MASKED_LANGUAGE_MODEL_PATTERN.search(name) and reads_both_directions(call):
        raise UserError(
            f"{name} looks like an encoder alone with a language model's head: each position "
            "reads all that follow it, and the laws are of decoders and encoder-decoders. If it "
            "is a decoder, its causal mask is missing: write an Adapter with decoder_only=True"
        )


@torch.no_grad()
def reads_both_directions(call: CallingConvention) -> bool:
    """Return whether a decoder-only module's first position reads each that follows."""
    pad = call.tgt_pad
    tokens = [token for token in range(1, 6) if token != pad][:4]
    ids = torch.tensor([tokens])
    first = call(ids, ids)[:, 0]
    for position in range(1, len(tokens)):
        changed = ids.clone()
        changed[0, position] = tokens[0]
        moved = (call(changed, changed)[:, 0] - first).abs().max()
        if not bool(moved > 1e-4 * first.abs().max()):
            return False
    return True


def make_cached_decoder(call: CallingConvention) -> CachedDecoder | None:
    """Return decoding token by token, as a decoder-only module's own `forward` does it.

    It is by `past_key_values`, or by reading all tokens again where `forward` returns the last
    position alone unless it is given targets; None if there is neither.
    """
    if not call.signature.decoder_only:
        return None
    if takes_parameters(call.module, "past_key_values", "use_cache"):
        return CachedDecoder(
            start=lambda src: (None, 0),
            step=lambda tokens, cache: _step_with_past_key_values(call, tokens, cache),
            reorder=lambda cache, rows: (_reorder_past_key_values(cache[0], rows), cache[1]),
            is_assumed=True,
        )
    if call.with_targets:
        return CachedDecoder(
            start=lambda src: None,
            step=lambda tokens, cache: _step_without_cache(call, tokens, cache),
            reorder=lambda cache, rows: cache[rows],
            is_assumed=True,
        )
    return None


def _step_with_past_key_values(
    call: CallingConvention, tokens: Tensor, cache: tuple[Any, int]
) -> tuple[Tensor, tuple[Any, int]]:
    """Read the newest tokens; `cache` is the module's own, and the number of tokens in it.

    Positions are given only if the module cannot do without them.
    """
    past, length = cache
    options: dict[str, Any] = {"past_key_values": past, "use_cache": True}
    with_positions = {**options, call.signature.positions: torch.full_like(tokens, length)}
    try:
        output = call.module(tokens, **options)
    except Exception:  # Somebody's model may raise anything.
        if not call.signature.positions:
            raise
        output = call.module(tokens, **with_positions)
    if not (hasattr(output, "logits") and hasattr(output, "past_key_values")):
        raise NotObservedError(
            "with use_cache it returns no .logits and .past_key_values: give an Adapter `cached`"
        )
    return output.logits[:, -1], (output.past_key_values, length + tokens.shape[1])


def _reorder_past_key_values(cache: Any, rows: Tensor) -> Any:
    if hasattr(cache, "reorder_cache"):
        cache.reorder_cache(rows)
        return cache
    return tuple(tuple(tensor[rows] for tensor in layer) for layer in cache)


def _step_without_cache(
    call: CallingConvention, tokens: Tensor, cache: Tensor | None
) -> tuple[Tensor, Tensor]:
    ids = tokens if cache is None else torch.cat((cache, tokens), dim=1)
    output = call.follow_path(replace(call, with_targets=False).call_for_raw_output(ids, ids))
    logits = output if call.batch_first else output.transpose(0, 1)
    if logits.shape[1] not in (1, ids.shape[1]):
        raise WrongLogitsShapeError(
            f"without {call.signature.targets} it returns logits of {logits.shape[1]} of "
            f"{ids.shape[1]} positions: neither of the last alone nor of all"
        )
    return logits[:, -1], ids


def make_left_padded_call(call: CallingConvention) -> Callable[[Tensor], Tensor] | None:
    """Return the call of a decoder-only module on rows that begin with padding.

    It is given an `attention_mask`, 1 where a token is, and positions counted without padding; None
    if it does not take both. Of masks of other names it is not known which value hides.
    """
    signature = call.signature
    if not (signature.decoder_only and signature.padding_mask and signature.positions):
        return None
    masked = replace(
        call,
        mask_style=MaskStyle("may", "int", 1),
        signature=replace(
            signature,
            masks=((signature.padding_mask, MaskRole("tgt", True)),),
            others=(*signature.others, signature.positions),
        ),
    )

    def left_padded(ids: Tensor) -> Tensor:
        try:
            return masked(ids, ids)
        except Exception as error:  # Somebody's model may raise anything.
            problem = f"{signature.padding_mask} (batch, length) and {signature.positions}"
            raise NotObservedError(
                f"with {problem} it raised {describe_error(error)}: give an Adapter `left_padded`"
            ) from error

    return left_padded
