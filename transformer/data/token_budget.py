"""Which sentences share a batch: those of about one length, up to a number of tokens (§5.1)."""

import random
from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from transformer.data.batches import Batch, collate_rows
from transformer.data.examples import Example, example_arrays
from transformer.data.fast_shuffle import shuffled_numbers
from transformer.support.checks import check_number
from transformer.support.errors import require
from transformer.support.signatures import check_argument_types


class EpochBatches(Protocol):
    """Batches of training data, epoch by epoch: `TokenBudgetBatches`, or a class of your own."""

    def epoch(self, number: int, start: int = 0) -> Iterator[Batch]:
        """Yield the batches of epoch `number`, from 0, without the first `start`.

        A resumed run is exact only if the same epoch has the same batches again.
        """


class TokenBudgetBatches:
    """Batches of a bounded number of tokens, of sentences of about one length (§5.1).

    Each epoch all examples are shuffled and cut into pools of about `pool_batches` batches; each
    pool is sorted by length and packed into batches; then the batches of all pools are shuffled.
    The order depends on (seed, epoch) alone, so that a run can be resumed at any batch.

    Args:
        examples: The training pairs.
        batch_tokens: Maximal positions of a batch on either side, padding and eos included.
        batch_sentences: Maximal sentence pairs of a batch; None: tokens alone bound it.
        pool_batches: Larger pools mean less padding, and an order that is less random.
        seed: Of the order.

    Raises:
        UserError: one example alone is over `batch_tokens`.
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
        self.examples = example_arrays(examples)
        check_number("seed", seed, integer=True)
        self.seed = seed
        self.batch_tokens = batch_tokens
        self.pool_batches = pool_batches
        self.batch_sentences = len(examples) if batch_sentences is None else batch_sentences
        for name in ("batch_tokens", "batch_sentences", "pool_batches"):
            check_number(name, getattr(self, name), 1, integer=True)
        src_lengths, tgt_lengths = self.examples.src.lengths(), self.examples.tgt.lengths()
        widths = np.maximum(src_lengths, tgt_lengths) + 1  # with eos
        longest = int(widths.max())
        # Numbers of 16 bits are sorted ten times as fast.
        self._widths, self._tgt_lengths = (
            lengths.astype(np.min_scalar_type(longest)) for lengths in (widths, tgt_lengths)
        )
        require(
            longest <= batch_tokens,
            f"batch_tokens is {batch_tokens}, and the longest sentence has {longest} tokens with "
            f"its end mark: give {longest} or more, or a smaller max_train_tokens",
        )

    @check_argument_types
    def plan(self, epoch: int) -> list[list[int]]:
        """Return an epoch's batches as indices of `examples`, each exactly once."""
        return [rows.tolist() for rows in self.rows_by_batch(epoch)]

    @check_argument_types
    def epoch(self, number: int, start: int = 0) -> Iterator[Batch]:
        """Yield the batches of epoch `number`, from 0, in order, without the first `start`."""
        for rows in self.rows_by_batch(number)[start:]:
            yield collate_rows(self.examples, rows)

    @check_argument_types
    def rows_by_batch(self, epoch: int) -> list[NDArray[np.int64]]:
        """Return an epoch's batches as `plan` does, each as an array, (sentences,)."""
        generator = random.Random(f"{self.seed} {epoch}")
        rows = shuffled_numbers(generator, len(self.examples))
        batches = [batch for pool in self._cut_into_pools(rows) for batch in self._pack(pool)]
        generator.shuffle(batches)
        return batches

    def _cut_into_pools(self, order: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        """Yield pools of `pool_batches` batches each, counted by tokens or by sentences."""
        tokens = np.cumsum(self._widths[order], dtype=np.int64)  # up to each example, with it
        start = tokens_before = 0
        while start < len(order):
            enough_tokens = tokens_before + self.pool_batches * self.batch_tokens
            end_by_tokens = int(np.searchsorted(tokens, enough_tokens)) + 1
            end = min(end_by_tokens, start + self.pool_batches * self.batch_sentences, len(order))
            yield order[start:end]
            start, tokens_before = end, tokens[end - 1]

    def _pack(self, pool: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        """Sort a pool by length, and yield a batch where one more row would break the budget."""
        rows = pool[np.lexsort((self._tgt_lengths[pool], self._widths[pool]))]
        widths = self._widths[rows]
        start = 0
        while start < len(rows):
            most = min(self.batch_sentences, self.batch_tokens // int(widths[start]))
            next_widths = widths[start : start + most]
            # The rows are as wide as the last, the widest.
            fits = np.arange(1, len(next_widths) + 1) * next_widths <= self.batch_tokens
            end = start + int(np.count_nonzero(fits))
            yield rows[start:end]
            start = end


@check_argument_types
def length_sort_key(example: Example) -> tuple[int, int]:
    """Return what to sort by: positions of the longer side with its eos, then target tokens."""
    src, tgt = example
    return max(len(src), len(tgt)) + 1, len(tgt)
