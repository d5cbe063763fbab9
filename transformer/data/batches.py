"""Sentences to tensors: padding, and batches of about equal size (§5.1)."""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import torch
from torch import Tensor

from transformer.config import BOS_ID, EOS_ID, PAD_ID
from transformer.data.parallel import ParallelText
from transformer.data.tokenizers import Tokenizer
from transformer.support.errors import UserError, check_ids, check_list, check_number, shown


class Example(NamedTuple):
    """One sentence pair as ids, without beginning and end marks."""

    src: list[int]
    tgt: list[int]


@dataclass(frozen=True, eq=False)
class Batch:
    """Sentence pairs side by side, padded at the end to the longest."""

    src: Tensor  # (batch, src_len), each row ending in eos: the common practice, not the paper's
    tgt_in: Tensor  # what the decoder reads, bos first: (batch, tgt_len)
    tgt_out: Tensor  # what it shall say, one token further on, eos last: (batch, tgt_len)

    @property
    def num_tgt_tokens(self) -> int:
        """Target tokens without padding, end marks included: the terms of the loss."""
        return int((self.tgt_out != PAD_ID).sum())

    def to(self, device: torch.device | str) -> Self:
        """Give the batch on another device."""
        return type(self)(self.src.to(device), self.tgt_in.to(device), self.tgt_out.to(device))


def encode_pairs(
    src_tokenizer: Tokenizer,
    tgt_tokenizer: Tokenizer,
    text: ParallelText,
    max_tokens: int | None = None,
) -> list[Example]:
    """Turn sentence pairs into ids, without the pairs that are empty or too long.

    `max_tokens` is the most of either side, end mark not counted; None keeps all. A UserError
    where no pair is left.
    """
    sides = zip(src_tokenizer.encode_all(text.src), tgt_tokenizer.encode_all(text.tgt), strict=True)
    examples = [
        Example(src, tgt)
        for src, tgt in sides
        if src and tgt and (max_tokens is None or max(len(src), len(tgt)) <= max_tokens)
    ]
    if not examples:
        allowed = "1 or more" if max_tokens is None else f"1 to {max_tokens}"
        raise UserError(
            f"none of the {len(text)} pairs has {allowed} tokens on both sides: "
            "raise max_train_tokens or give shorter sentences"
        )
    return examples


def collate(examples: Sequence[Example]) -> Batch:
    """Put examples side by side, with beginning and end marks and padding."""
    _check_rows(examples, 2)
    return Batch(
        src=collate_sources([src for src, _ in examples]),
        tgt_in=_pad([[BOS_ID, *tgt] for _, tgt in examples]),
        tgt_out=_pad([[*tgt, EOS_ID] for _, tgt in examples]),
    )


def collate_sources(sources: Sequence[Sequence[int]]) -> Tensor:
    """Put source sentences side by side: `EOS_ID` at each end, then padding, (batch, src_len)."""
    _check_rows(sources)
    return _pad([[*src, EOS_ID] for src in sources])


def _check_rows(rows: Sequence[Sequence[object]], size: int | None = None) -> None:
    """Refuse what is no list of lists, one or more, of a size if one is given."""
    check_list("sentences", rows, "lists of ids")
    if len(rows) == 0:
        raise UserError("no sentences: give one or more")
    for row in rows:
        if not isinstance(row, list | tuple) or size not in (None, len(row)):
            raise UserError(f"a sentence is {shown(row)}: give a list of ids, or a pair of them")


def _pad(rows: Sequence[Sequence[int]]) -> Tensor:
    """Fill rows up to the longest: (len(rows), longest), int64."""
    longest = max(map(len, rows))
    try:
        padded = torch.tensor([[*row, *[PAD_ID] * (longest - len(row))] for row in rows])
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise UserError(f"{shown(rows)} are no ids: give lists of whole numbers") from error
    check_ids("ids", padded)
    return padded


def cut(batch: Batch, rank: int = 0, size: int = 1, most_tokens: int | None = None) -> list[Batch]:
    """Give process `rank` of `size` its part, every `size`-th sentence, in micro-batches.

    A process without a sentence gets one of padding alone, whose loss and gradient are 0.

    Args:
        batch: The same for every process: (batch, src_len), (batch, tgt_len).
        rank, size: Number of the process, from 0, and how many there are.
        most_tokens: Of a micro-batch on either side, padding included; None: all in one.
    """
    check_number("size", size, 1, whole=True)
    check_number("rank", rank, 0, size - 1, whole=True)
    own = batch if size == 1 else _rows(batch, slice(rank, None, size))
    if len(own.src) == 0:
        one = _rows(batch, slice(0, 1))
        own = Batch(one.src, one.tgt_in, torch.full_like(one.tgt_out, PAD_ID))
    if most_tokens is None:
        return [own]
    check_number("most_tokens", most_tokens, 1, whole=True)
    at_once = max(1, most_tokens // max(own.src.size(1), own.tgt_in.size(1)))
    return [_rows(own, slice(i, i + at_once)) for i in range(0, len(own.src), at_once)]


def _rows(batch: Batch, rows: slice) -> Batch:
    """Give some sentences of a batch, as wide as it is."""
    return Batch(batch.src[rows], batch.tgt_in[rows], batch.tgt_out[rows])


def padding_share(batches: Iterable[Batch]) -> float:
    """Give the share of all positions, source and target, that is padding: 0 to 1."""
    padding = positions = 0
    for batch in batches:
        for side in (batch.src, batch.tgt_out):
            padding += int((side == PAD_ID).sum())
            positions += side.numel()
    if positions == 0:
        raise UserError("no batches: give one or more")
    return padding / positions


class TokenBudgetBatches:
    """Batches of a bounded number of tokens, of sentences of about one length (§5.1).

    Each epoch all examples are shuffled and cut into pools of about `pool_batches` batches; each
    pool is sorted by length and packed into batches; then the batches of all pools are shuffled.
    The order depends on (seed, epoch) alone, so that a run can be resumed at any batch.

    Args:
        examples: The training pairs.
        batch_tokens: Most positions of a batch on either side, padding and end marks included:
            rows x the longest row. It is a promise about memory: a UserError where one example
            alone is over it.
        batch_sentences: Most sentence pairs of a batch; None: tokens alone bound it.
        pool_batches: Batches per pool; more means less padding and less chance.
        seed: Of the order.
    """

    def __init__(
        self,
        examples: Sequence[Example],
        batch_tokens: int,
        batch_sentences: int | None = None,
        *,
        pool_batches: int = 100,
        seed: int = 1,
    ) -> None:
        _check_rows(examples, 2)
        check_number("batch_tokens", batch_tokens, 1, whole=True)
        if batch_sentences is not None:
            check_number("batch_sentences", batch_sentences, 1, whole=True)
        check_number("pool_batches", pool_batches, 1, whole=True)
        longest = max(map(_length, examples))
        if longest > batch_tokens:
            raise UserError(
                f"batch_tokens is {batch_tokens}, and the longest sentence has {longest} tokens "
                f"with its end mark: give batch_tokens of {longest} or more, or leave out long "
                "sentences by a smaller max_train_tokens"
            )
        self.examples, self.seed = examples, seed
        self.batch_tokens, self.pool_batches = batch_tokens, pool_batches
        self.batch_sentences = batch_sentences or len(examples)

    def plan(self, epoch: int) -> list[list[int]]:
        """Give an epoch's batches as positions in `examples`, each exactly once."""
        chance = random.Random(f"{self.seed} {epoch}")
        order = list(range(len(self.examples)))
        chance.shuffle(order)
        batches = [batch for pool in self._pools(order) for batch in self._pack(pool)]
        chance.shuffle(batches)
        return batches

    def epoch(self, number: int, start: int = 0) -> Iterator[Batch]:
        """Give the batches of epoch `number`, from 0, in order, without the first `start`."""
        for batch in self.plan(number)[start:]:
            yield collate([self.examples[index] for index in batch])

    def _pools(self, order: Sequence[int]) -> Iterator[list[int]]:
        """Cut the order where a pool holds `pool_batches` batches, by tokens or by sentences."""
        pool: list[int] = []
        tokens = 0
        for index in order:
            pool.append(index)
            tokens += _length(self.examples[index])
            batches = max(tokens / self.batch_tokens, len(pool) / self.batch_sentences)
            if batches >= self.pool_batches:
                yield pool
                pool, tokens = [], 0
        if pool:
            yield pool

    def _pack(self, pool: list[int]) -> Iterator[list[int]]:
        """Sort a pool by its longer side and cut it where one more row breaks the budget.

        On Multi30k at 25,000 tokens that leaves 9% of padding; sorted by target, then source, 22%.
        """
        pool.sort(key=lambda i: length_key(self.examples[i]))
        batch: list[int] = []
        for index in pool:  # each is the longest so far
            too_large = (len(batch) + 1) * _length(self.examples[index]) > self.batch_tokens
            if too_large or len(batch) == self.batch_sentences:
                yield batch
                batch = []
            batch.append(index)
        yield batch


def length_key(example: Example) -> tuple[int, int]:
    """Give what examples of like length are sorted by: the longer side, then the target."""
    return _length(example), len(example[1])


def _length(example: Example) -> int:
    """Positions that the longer side takes, end mark included."""
    return max(map(len, example)) + 1
