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
from transformer.support.checks import check_id_tensor, check_list, check_number
from transformer.support.errors import UserError, require, short_repr


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

    def rows(self, rows: slice) -> Self:
        """Give some of its sentences, as wide as it is."""
        return type(self)(self.src[rows], self.tgt_in[rows], self.tgt_out[rows])


def encode_pairs(
    src_tokenizer: Tokenizer,
    tgt_tokenizer: Tokenizer,
    text: ParallelText,
    max_tokens: int | None = None,
) -> list[Example]:
    """Turn sentence pairs into ids, without the pairs that are empty or too long.

    `max_tokens` is the most of either side, without its end mark; None: any number.
    """
    sides = zip(src_tokenizer.encode_all(text.src), tgt_tokenizer.encode_all(text.tgt), strict=True)
    examples = [
        Example(src, tgt)
        for src, tgt in sides
        if src and tgt and (max_tokens is None or max(len(src), len(tgt)) <= max_tokens)
    ]
    allowed = f"1 to {max_tokens}" if max_tokens else "1 or more"
    message = f"none of the {len(text)} pairs has {allowed} tokens on both sides"
    require(bool(examples), f"{message}: raise max_train_tokens or give shorter sentences")
    return examples


def collate(examples: Sequence[Example]) -> Batch:
    """Put examples side by side, with beginning and end marks and padding."""
    _check_pairs(examples)
    src, tgt = zip(*examples, strict=True)
    return Batch(collate_sources(src), _pad(tgt, bos=True), _pad(tgt, eos=True))


def collate_sources(sources: Sequence[Sequence[int]]) -> Tensor:
    """Put source sentences side by side: `EOS_ID` at each end, then padding, (batch, src_len)."""
    return _pad(sources, eos=True)


def _check_pairs(examples: Sequence[Example]) -> None:
    check_list("examples", examples, "pairs of lists of ids")
    pairs = [pair if isinstance(pair, list | tuple) else () for pair in examples]
    sides = [isinstance(side, list | tuple) for pair in pairs for side in pair]
    if not pairs or any(len(pair) != 2 for pair in pairs) or not all(sides):
        raise UserError(f"examples are {short_repr(examples)}: give pairs of lists of ids")


def _pad(sentences: Sequence[Sequence[int]], bos: bool = False, eos: bool = False) -> Tensor:
    """Mark sentences and fill them up to the longest: (len(sentences), longest), int64."""
    try:
        rows = [[BOS_ID] * bos + [*sentence] + [EOS_ID] * eos for sentence in sentences]
        longest = max(map(len, rows))
        padded = torch.tensor([row + [PAD_ID] * (longest - len(row)) for row in rows])
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        message = f"sentences are {short_repr(sentences)}: give one or more lists of token ids"
        raise UserError(message) from error
    check_id_tensor("sentences", padded)
    return padded


def shard(batch: Batch, rank: int, world_size: int) -> Batch:
    """Return the part of a batch that process `rank` trains on: every `world_size`-th sentence.

    A process without a sentence gets one whose target is all padding: its loss and gradient are 0.
    """
    check_number("world_size", world_size, 1, integer=True)
    check_number("rank", rank, 0, world_size - 1, integer=True)
    own = batch.rows(slice(rank, None, world_size))
    if len(own.src) == 0:
        first = batch.rows(slice(0, 1))
        return Batch(first.src, first.tgt_in, torch.full_like(first.tgt_out, PAD_ID))
    return own


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
    return [batch.rows(slice(start, start + sentences)) for start in starts]


def padding_share(batches: Iterable[Batch]) -> float:
    """Give the share of all positions, source and target, that is padding: 0 to 1."""
    padding = positions = 0
    for batch in batches:
        for side in (batch.src, batch.tgt_out):
            padding += int((side == PAD_ID).sum())
            positions += side.numel()
    require(positions > 0, "no batches: give one or more")
    return padding / positions


class TokenBudgetBatches:
    """Batches of a bounded number of tokens, of sentences of about one length (§5.1).

    Each epoch all examples are shuffled and cut into pools of about `pool_batches` batches; each
    pool is sorted by length and packed into batches; then the batches of all pools are shuffled.
    The order depends on (seed, epoch) alone, so that a run can be resumed at any batch.

    Args:
        examples: The training pairs; a UserError where one alone is over `batch_tokens`.
        batch_tokens: Most positions of a batch on either side, padding and end marks included.
        batch_sentences: Most sentence pairs of a batch; None: tokens alone bound it.
        pool_batches: More means less padding and less chance.
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
        _check_pairs(examples)
        self.examples, self.seed = examples, seed
        self.batch_tokens, self.pool_batches = batch_tokens, pool_batches
        self.batch_sentences = len(examples) if batch_sentences is None else batch_sentences
        for name in ("batch_tokens", "batch_sentences", "pool_batches"):
            check_number(name, getattr(self, name), 1, integer=True)
        self._keys = [length_key(example) for example in examples]
        longest, _ = max(self._keys)
        require(
            longest <= batch_tokens,
            f"batch_tokens is {batch_tokens}, and the longest sentence has {longest} tokens with "
            f"its end mark: give {longest} or more, or a smaller max_train_tokens",
        )

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
            tokens += self._keys[index][0]
            batches = max(tokens / self.batch_tokens, len(pool) / self.batch_sentences)
            if batches >= self.pool_batches:
                yield pool
                pool, tokens = [], 0
        if pool:
            yield pool

    def _pack(self, pool: list[int]) -> Iterator[list[int]]:
        """Sort a pool by its longer side and cut it where one more row breaks the budget."""
        batch: list[int] = []
        for index in sorted(pool, key=self._keys.__getitem__):
            too_large = (len(batch) + 1) * self._keys[index][0] > self.batch_tokens
            if too_large or len(batch) == self.batch_sentences:
                yield batch
                batch = []
            batch.append(index)
        yield batch


def length_key(example: Example) -> tuple[int, int]:
    """Give what to sort by: positions of the longer side with its eos, then the target's tokens."""
    return max(map(len, example)) + 1, len(example[1])
