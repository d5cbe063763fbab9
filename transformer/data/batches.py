"""Sentences to tensors: encoded, padded into batches, and batches divided (§5.1)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import torch
from torch import Tensor

from transformer.config import BOS_ID, EOS_ID, PAD_ID
from transformer.data.parallel import ParallelText
from transformer.data.tokenizers import TextEncoder
from transformer.support.checks import (
    MAX_COUNT,
    check_has_items,
    check_id_tensor,
    check_number,
    check_same_batch_size,
    check_sizes,
)
from transformer.support.devices import require_usable_device
from transformer.support.errors import UserError, require, short_repr
from transformer.support.signatures import check_argument_types


class Example(NamedTuple):
    """One sentence pair as ids, without bos and eos."""

    src: list[int]
    tgt: list[int]


class LeftOut(NamedTuple):
    """How many sentence pairs a model does not read, by reason."""

    too_long: int = 0  # either side has more tokens than are allowed
    empty: int = 0  # either side has no token

    @check_argument_types
    def in_words(self, max_tokens: int) -> str:
        """Return "3 longer than 9 tokens, 1 empty": "" if none is left out."""
        reasons = [f"{self.too_long:,} longer than {max_tokens} tokens"] if self.too_long else []
        reasons += [f"{self.empty:,} empty"] if self.empty else []
        return ", ".join(reasons)


@dataclass(frozen=True, eq=False)
class Batch:
    """Sentence pairs side by side, padded at the end to the longest."""

    src: Tensor  # (batch, src_len), each row ends in eos: common practice, not the paper's
    tgt_in: Tensor  # (batch, tgt_len), what the decoder reads: bos first
    tgt_out: Tensor  # (batch, tgt_len), what it is to predict: one token further on, eos last

    def __post_init__(self) -> None:
        for name, ids in (("src", self.src), ("tgt_in", self.tgt_in), ("tgt_out", self.tgt_out)):
            check_id_tensor(name, ids)
        check_same_batch_size("src", self.src, "tgt_in", self.tgt_in)
        require(
            self.tgt_in.shape == self.tgt_out.shape,
            f"tgt_in has the shape {tuple(self.tgt_in.shape)} and tgt_out "
            f"{tuple(self.tgt_out.shape)}: give equal ones",
        )

    @property
    def num_tgt_tokens(self) -> int:
        """Number of target tokens without padding, eos included: the terms of the loss."""
        return int((self.tgt_out != PAD_ID).sum())

    @check_argument_types
    def to(self, device: torch.device | str) -> Self:
        """Return the batch on another device."""
        try:
            src, tgt_in, tgt_out = (ids.to(device) for ids in (self.src, self.tgt_in, self.tgt_out))
        except (RuntimeError, AssertionError, TypeError):
            require_usable_device(device)  # Its error names the device.
            raise
        return type(self)(src, tgt_in, tgt_out)

    @check_argument_types
    def select_rows(self, rows: slice) -> Self:
        """Return some of its sentences, padded as they are."""
        return type(self)(self.src[rows], self.tgt_in[rows], self.tgt_out[rows])


@check_argument_types
def encode_pairs(
    src_tokenizer: TextEncoder,
    tgt_tokenizer: TextEncoder,
    text: ParallelText,
    max_tokens: int | None = None,
) -> list[Example]:
    """Turn sentence pairs into ids, without the pairs that are empty or too long.

    `max_tokens` bounds either side, without its eos; None: any number.
    """
    return encode_and_count_pairs(src_tokenizer, tgt_tokenizer, text, max_tokens)[0]


@check_argument_types
def encode_and_count_pairs(
    src_tokenizer: TextEncoder,
    tgt_tokenizer: TextEncoder,
    text: ParallelText,
    max_tokens: int | None = None,
) -> tuple[list[Example], LeftOut]:
    """Do what `encode_pairs` does, and count the pairs that are left out."""
    all_src = src_tokenizer.encode_all(text.src)
    all_tgt = tgt_tokenizer.encode_all(text.tgt)
    examples = []
    too_long = empty = 0
    for src, tgt in zip(all_src, all_tgt, strict=True):
        if not (src and tgt):
            empty += 1
        elif max_tokens is not None and max(len(src), len(tgt)) > max_tokens:
            too_long += 1
        else:
            examples.append(Example(src, tgt))
    allowed = f"1 to {max_tokens}" if max_tokens else "1 or more"
    message = f"none of the {len(text)} pairs has {allowed} tokens on both sides"
    require(bool(examples), f"{message}: raise max_train_tokens or give shorter sentences")
    return examples, LeftOut(too_long, empty)


@check_argument_types
def collate(examples: Sequence[Example]) -> Batch:
    """Put examples side by side, with bos, eos and padding."""
    check_has_items("examples", examples)
    sources = [src for src, _ in examples]
    targets = [tgt for _, tgt in examples]
    return Batch(
        src=collate_sources(sources),
        tgt_in=_pad(targets, start=[BOS_ID]),
        tgt_out=_pad(targets, end=[EOS_ID]),
    )


@check_argument_types
def collate_sources(sources: Sequence[Sequence[int]]) -> Tensor:
    """Put source sentences side by side: each ends in eos, then padding; (batch, src_len)."""
    return _pad(sources, end=[EOS_ID])


def _pad(
    sentences: Sequence[Sequence[int]], start: Sequence[int] = (), end: Sequence[int] = ()
) -> Tensor:
    """Put ids before and after each sentence, and pad them: (len(sentences), longest), int64."""
    try:
        rows = [[*start, *sentence, *end] for sentence in sentences]
        longest = max(len(row) for row in rows)
        padded = torch.tensor([row + [PAD_ID] * (longest - len(row)) for row in rows])
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        message = f"sentences are {short_repr(sentences)}: give one or more lists of token ids"
        raise UserError(message) from error
    check_id_tensor("sentences", padded)
    return padded


@check_argument_types
def shard(batch: Batch, rank: int, world_size: int) -> Batch:
    """Return the part of a batch that process `rank` trains on: every `world_size`-th sentence.

    A process without a sentence gets one whose target is all padding: its loss and gradient are 0.
    """
    check_sizes(MAX_COUNT, world_size=world_size)
    check_number("rank", rank, 0, world_size - 1, integer=True)
    own = batch.select_rows(slice(rank, None, world_size))
    if len(own.src) == 0:
        first = batch.select_rows(slice(0, 1))
        return Batch(first.src, first.tgt_in, torch.full_like(first.tgt_out, PAD_ID))
    return own


@check_argument_types
def micro_batches(batch: Batch, max_tokens: int | None = None) -> list[Batch]:
    """Divide a batch into micro-batches of at most `max_tokens` on either side, padding included.

    A sentence that is longer is a micro-batch by itself. None: the whole batch at once.
    """
    if max_tokens is None:
        return [batch]
    check_number("max_tokens", max_tokens, 1, integer=True)
    width = max(batch.src.size(1), batch.tgt_in.size(1))
    sentences = max(1, max_tokens // width)
    starts = range(0, len(batch.src), sentences)
    return [batch.select_rows(slice(start, start + sentences)) for start in starts]


@check_argument_types
def padding_share(batches: Iterable[Batch]) -> float:
    """Return the share of all positions, source and target, that is padding: 0 to 1."""
    padding = positions = 0
    for batch in batches:
        for side in (batch.src, batch.tgt_out):
            padding += int((side == PAD_ID).sum())
            positions += side.numel()
    require(positions > 0, "no batches: give one or more")
    return padding / positions
