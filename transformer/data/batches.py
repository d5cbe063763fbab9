"""Sentences to tensors: encoded, padded into batches, and batches divided (§5.1)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from transformer.config import BOS_ID, EOS_ID, PAD_ID
from transformer.data.examples import Example, ExampleArrays, example_arrays
from transformer.data.fast_encoding import encode_to_arrays
from transformer.data.parallel import ParallelText
from transformer.data.token_arrays import chunk_from_lists, token_arrays_from_chunks
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
from transformer.support.errors import require
from transformer.support.signatures import check_argument_types


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
) -> ExampleArrays:
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
) -> tuple[ExampleArrays, LeftOut]:
    """Do what `encode_pairs` does, and count the pairs that are left out."""
    src = encode_to_arrays(src_tokenizer, text.src)
    tgt = encode_to_arrays(tgt_tokenizer, text.tgt)
    lengths = np.stack([src.lengths(), tgt.lengths()])
    is_empty = lengths.min(axis=0) == 0
    is_too_long = np.zeros_like(is_empty)
    if max_tokens is not None:
        is_too_long = ~is_empty & (lengths.max(axis=0) > max_tokens)
    rows = np.flatnonzero(~(is_empty | is_too_long))
    allowed = f"1 to {max_tokens}" if max_tokens else "1 or more"
    message = f"none of the {len(text)} pairs has {allowed} tokens on both sides"
    require(len(rows) > 0, f"{message}: raise max_train_tokens or give shorter sentences")
    if len(rows) < len(text):
        src, tgt = src.select_rows(rows), tgt.select_rows(rows)
    return ExampleArrays(src, tgt), LeftOut(int(is_too_long.sum()), int(is_empty.sum()))


def collate(examples: Sequence[Example]) -> Batch:
    """Put examples side by side, with bos, eos and padding."""
    arrays = example_arrays(examples)
    return collate_rows(arrays, np.arange(len(arrays)))


@check_argument_types
def collate_rows(examples: ExampleArrays, rows: NDArray[np.int64]) -> Batch:
    """Put some of the examples side by side, with bos, eos and padding.

    Args:
        rows: Numbers of the examples, from 0; (sentences,).

    Raises:
        UserError: There is no row, or one that is not in `examples`.
    """
    require(
        rows.size > 0 and int(rows.min()) >= 0 and int(rows.max()) < len(examples),
        f"rows: give one or more, each from 0 to {len(examples) - 1}",
    )
    tgt, tgt_lengths = examples.tgt.padded_rows(rows)
    tgt_in = np.full((len(rows), tgt.shape[1] + 1), BOS_ID, dtype=np.int64)
    tgt_in[:, 1:] = tgt
    src = _end_with_eos(*examples.src.padded_rows(rows))
    return Batch(src, torch.from_numpy(tgt_in), _end_with_eos(tgt, tgt_lengths))


def _end_with_eos(padded: NDArray[Any], lengths: NDArray[np.int64]) -> Tensor:
    """Put eos after each sentence; (sentences, longest + 1), int64."""
    ids = np.full((len(padded), padded.shape[1] + 1), PAD_ID, dtype=np.int64)
    ids[:, :-1] = padded
    ids[np.arange(len(padded)), lengths] = EOS_ID
    return torch.from_numpy(ids)


@check_argument_types
def collate_sources(sources: Sequence[Sequence[int]]) -> Tensor:
    """Put source sentences side by side: each ends in eos, then padding; (batch, src_len)."""
    check_has_items("sources", sources)
    arrays = token_arrays_from_chunks([chunk_from_lists(sources)])
    return _end_with_eos(*arrays.padded_rows(np.arange(len(arrays))))


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
