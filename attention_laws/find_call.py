"""Find a way to call a module by trying all that its parameters allow (not in the paper)."""

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from attention_laws.adapter import PAD_ID
from attention_laws.calling_convention import (
    BATCH,
    SRC_LEN,
    TGT_LEN,
    CallingConvention,
    NoLogitsError,
    describe_call_failure,
)
from attention_laws.errors import UserError, one_line_error_message
from attention_laws.mask_style import MaskStyle
from attention_laws.older_code import UINT8_MASK_ERROR
from attention_laws.possible_calls import (
    yield_decoder_only_conventions,
    yield_possible_calling_conventions,
)
from attention_laws.vocabularies import UNSPECIFIED_PADDING_ID, EmbeddingRecorder, find_padding_ids

# How many reasons an error names if no way to call the module works.
MAX_REASONS_IN_ERROR = 4
PADDING_IDS_TO_TRY = (1, 2, 3)
# What exchanged axes of a decoder-only model count for: more than all that a missing mask does.
EXCHANGED_AXES_DEFECTS = 4
# Lengths to which sentences may have to be padded: laws draw up to a dozen tokens.
MIN_FIXED_LENGTH, MAX_FIXED_LENGTH = 12, 4096
MAX_FIXED_LENGTHS_TRIED = 16


@dataclass(frozen=True)
class WorkingCall:
    """A way to call a module that returns logits, and what was seen on the way."""

    call: CallingConvention  # returns logits, batch first
    src_vocab_size: int  # number of source ids
    tgt_vocab_size: int  # number of target ids
    padding_origin: str  # in words for a reader: how the padding was found


def find_working_call(
    module: nn.Module,
    batch_first: bool | None,
    mask_style: MaskStyle | None,
    pad: int | None,
    tgt_pad: int | None,
) -> WorkingCall:
    """Try the ways to call a module; return the first without a defect, or the best.

    Raises:
        UserError: none returns logits, or no embedding table is read at the source's ids.
    """
    tokens = [token for token in (4, 5, 6, 7, 3) if token not in (pad, tgt_pad)][:4]
    search = _CallSearch(tokens, pad, tgt_pad)
    count, call, origin = search.find_best(module, batch_first, mask_style)
    if count and pad == UNSPECIFIED_PADDING_ID and not origin:
        call, origin = _try_other_padding_ids(call, tokens, count)
    vocab_sizes = search.recorder.vocab_sizes
    if not vocab_sizes:
        problem = "no nn.Embedding of the module reads the source's ids"
        raise UserError(f"{problem}: write an Adapter that says how many source types there are")
    with torch.no_grad():
        width = call(*_constant_src_and_tgt_ids(tokens)).shape[-1]
    src_vocab_size = vocab_sizes.get(tokens[0], min(vocab_sizes.values()))
    tgt_vocab_size = min(width, vocab_sizes.get(tokens[1], width))
    if call.signature.decoder_only:
        src_vocab_size = tgt_vocab_size
    return WorkingCall(call, src_vocab_size, tgt_vocab_size, origin)


class _CallSearch:
    """The ways to call a module that were tried: the best, and why others failed."""

    def __init__(self, tokens: list[int], pad: int | None, tgt_pad: int | None) -> None:
        self.tokens, self.pad, self.tgt_pad = tokens, pad, tgt_pad
        self.recorder = EmbeddingRecorder()  # of the best way
        # Reasons for which ways failed, and the first way of each.
        self.reasons: dict[str, str] = {}
        # The way with the fewest defects, after their number; how its padding was found.
        self.best: tuple[int, CallingConvention, str] | None = None
        self.numbers_in_errors: list[int] = []  # which may be lengths

    def find_best(
        self, module: nn.Module, batch_first: bool | None, mask_style: MaskStyle | None
    ) -> tuple[int, CallingConvention, str]:
        """Try the ways of an encoder-decoder, then of a decoder alone, then of fixed lengths.

        Raises:
            UserError: none returns logits.
        """
        conventions = list(yield_possible_calling_conventions(module, batch_first, mask_style))
        self.try_until_sound(conventions)
        if self.best is None and any(UINT8_MASK_ERROR in reason for reason in self.reasons):
            conventions = [replace(convention, uint8_masks=True) for convention in conventions]
            self.try_until_sound(conventions)
        if self.best is None:
            self.try_until_sound(yield_decoder_only_conventions(module, batch_first, mask_style))
        if self.best is None:
            self.try_fixed_lengths(conventions)
        if self.best is None:
            first_reasons = list(self.reasons.items())[:MAX_REASONS_IN_ERROR]
            tried = "; ".join(f"{way}: {why}" for why, way in first_reasons)
            problem = "the module returns no logits (batch, tgt_len, vocab_size) for (src, tgt_in)"
            raise UserError(f"{problem}. Tried: {tried}: write an Adapter around it")
        return self.best

    def try_until_sound(self, conventions: Iterable[CallingConvention]) -> None:
        """Try ways to call a module up to the first without a defect."""
        for convention in conventions:
            try:
                recorder = EmbeddingRecorder()
                call, count, origin = self._try_convention(convention, recorder)
            except Exception as error:  # Somebody's model may raise anything.
                self.reasons.setdefault(describe_call_failure(error), convention.description)
                self._add_numbers(error)
                continue
            if self.best is None or count < self.best[0]:
                self.best, self.recorder = (count, call, origin), recorder
            if count == 0:
                break

    def try_fixed_lengths(self, conventions: list[CallingConvention]) -> None:
        """Try ways to call a module with sentences padded to lengths that its errors name."""
        tried: set[tuple[int, int]] = set()
        while self.best is None and len(tried) < MAX_FIXED_LENGTHS_TRIED:
            pairs = itertools.product(self.numbers_in_errors, self.numbers_in_errors)
            lengths = next((pair for pair in pairs if pair not in tried), None)
            if lengths is None:
                return
            tried.add(lengths)
            self.try_until_sound(replace(way, fixed_lengths=lengths) for way in conventions)

    def _try_convention(
        self, convention: CallingConvention, recorder: EmbeddingRecorder
    ) -> tuple[CallingConvention, int, str]:
        """Return how logits are located, the number of defects, and the padding's origin."""
        first_call = _locate_logits_by_first_call(convention, self.tokens, recorder)
        call, origin = _set_padding_ids(first_call, self.pad, self.tgt_pad, recorder, self.tokens)
        count, call = _choose_target_shift_by_defects(call, self.tokens)
        return call, count, origin

    def _add_numbers(self, error: Exception) -> None:
        """Remember the numbers in an error's message that may be a length."""
        if isinstance(error, NoLogitsError):
            return
        for text in re.findall(r"\d+", one_line_error_message(error)):
            if MIN_FIXED_LENGTH <= int(text) <= MAX_FIXED_LENGTH:
                self.numbers_in_errors = list(dict.fromkeys((*self.numbers_in_errors, int(text))))


def _constant_src_and_tgt_ids(tokens: list[int]) -> tuple[Tensor, Tensor]:
    """Return ids of distinct shapes, one token repeated on each side."""
    return torch.full((BATCH, SRC_LEN), tokens[0]), torch.full((BATCH, TGT_LEN), tokens[1])


@torch.no_grad()
def _locate_logits_by_first_call(
    convention: CallingConvention, tokens: list[int], recorder: EmbeddingRecorder
) -> CallingConvention:
    """Call a module for the first time, and record which embedding table reads which ids."""
    call = convention.with_logits_located(*_constant_src_and_tgt_ids(tokens), recorder)
    return call.with_output_head_if_needed(
        *_constant_src_and_tgt_ids(tokens), recorder.vocab_sizes.get(tokens[1], 0)
    )


def _set_padding_ids(
    call: CallingConvention,
    pad: int | None,
    tgt_pad: int | None,
    recorder: EmbeddingRecorder,
    tokens: list[int],
) -> tuple[CallingConvention, str]:
    """Return a call with the padding that the user gave or that the module names."""
    pads, origin = find_padding_ids(call.module, recorder, (tokens[0], tokens[1]))
    if pad != UNSPECIFIED_PADDING_ID:
        pads, origin = [pad, pad], ""
    src_pad, own_tgt_pad = (PAD_ID if token == UNSPECIFIED_PADDING_ID else token for token in pads)
    if tgt_pad == UNSPECIFIED_PADDING_ID:
        tgt_pad = own_tgt_pad
    return replace(call, src_pad=src_pad, tgt_pad=tgt_pad), origin


def _choose_target_shift_by_defects(
    call: CallingConvention, tokens: list[int]
) -> tuple[int, CallingConvention]:
    """Return the number of defects of a call, or of the same with a shifted target if fewer."""
    count = count_call_defects(call, tokens, call.src_pad, call.tgt_pad)
    if count:
        shifted = replace(call, shifts_target=True)
        shifted_count = count_call_defects(shifted, tokens, call.src_pad, call.tgt_pad)
        if shifted_count < count:
            return shifted_count, shifted
    return count, call


def _try_other_padding_ids(
    call: CallingConvention, tokens: list[int], count: int
) -> tuple[CallingConvention, str]:
    """Look for an id that changes nothing after a source, if the usual padding changes it."""
    for pad in PADDING_IDS_TO_TRY:
        other = replace(call, src_pad=pad, tgt_pad=pad)
        usable = [token for token in tokens if token != pad]
        if len(usable) > 3 and count_call_defects(other, usable, pad, pad) < count:
            return other, ", which alone changes nothing after a source"
    return call, ""


@torch.no_grad()
def count_call_defects(
    call: CallingConvention,
    tokens: Sequence[int],
    pad: int | None,
    tgt_pad: int | None,
) -> int:
    """Count what is wrong with a call: it sees the future or padding, or misses a token.

    `tokens` are four ordinary ids of both sides.
    """
    src = torch.tensor([[tokens[0], tokens[1], tokens[2], tokens[1]]])
    tgt = torch.tensor([[*tokens[:3]]])
    other_src, other_tgt = src.clone(), tgt.clone()
    other_src[0, -2], other_tgt[0, 1] = tokens[3], tokens[3]
    logits = call(src, tgt)
    scale = 1e-4 * float(logits.abs().max())

    def moved(src: Tensor, tgt: Tensor, positions: slice) -> bool:
        return bool((call(src, tgt) - logits)[:, positions].abs().max() > scale)

    defects = [
        not bool(logits.isfinite().all()),
        moved(src, other_tgt, slice(0, 1)),
        not moved(src, other_tgt, slice(1, 2)),
    ]
    if call.signature.decoder_only:
        # The axes are exchanged if no token is read after another, whatever else is wrong.
        defects += [not moved(src, other_tgt, slice(2, 3))] * EXCHANGED_AXES_DEFECTS
    else:
        defects.append(not moved(other_src, tgt, slice(None)))
    if pad is not None:
        padded_src = nn.functional.pad(src, (0, 2), value=pad)
        defects.append(moved(padded_src, tgt, slice(None)))
    if tgt_pad is not None:
        padded_tgt = nn.functional.pad(tgt, (0, 2), value=tgt_pad)
        padded = call(src, padded_tgt)[:, :3]
        defects.append(bool((padded - logits).abs().max() > scale))
    return defects.count(True)
