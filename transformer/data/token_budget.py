"""Which sentences share a batch: those of about one length, up to a number of tokens (§5.1)."""

import random
from collections.abc import Iterator, Sequence
from typing import Protocol

from transformer.data.batches import Batch, Example, collate
from transformer.support.checks import check_has_items, check_number
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

    @check_argument_types
    def __init__(
        self,
        examples: Sequence[Example],
        batch_tokens: int,
        batch_sentences: int | None = None,
        *,
        pool_batches: int = 100,
        seed: int = 1,
    ) -> None:
        check_has_items("examples", examples)
        self.examples = examples
        check_number("seed", seed, integer=True)
        self.seed = seed
        self.batch_tokens = batch_tokens
        self.pool_batches = pool_batches
        self.batch_sentences = len(examples) if batch_sentences is None else batch_sentences
        for name in ("batch_tokens", "batch_sentences", "pool_batches"):
            check_number(name, getattr(self, name), 1, integer=True)
        self._keys = [_length_sort_key(example) for example in examples]
        longest, _ = max(self._keys)
        require(
            longest <= batch_tokens,
            f"batch_tokens is {batch_tokens}, and the longest sentence has {longest} tokens with "
            f"its end mark: give {longest} or more, or a smaller max_train_tokens",
        )

    @check_argument_types
    def plan(self, epoch: int) -> list[list[int]]:
        """Return an epoch's batches as indices of `examples`, each exactly once."""
        generator = random.Random(f"{self.seed} {epoch}")
        order = list(range(len(self.examples)))
        generator.shuffle(order)
        batches = [batch for pool in self._cut_into_pools(order) for batch in self._pack(pool)]
        generator.shuffle(batches)
        return batches

    @check_argument_types
    def epoch(self, number: int, start: int = 0) -> Iterator[Batch]:
        """Yield the batches of epoch `number`, from 0, in order, without the first `start`."""
        for indices in self.plan(number)[start:]:
            yield collate([self.examples[index] for index in indices])

    def _cut_into_pools(self, order: Sequence[int]) -> Iterator[list[int]]:
        """Yield pools of `pool_batches` batches each, counted by tokens or by sentences."""
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
        """Sort a pool by length, and yield a batch where one more row would break the budget."""
        batch: list[int] = []
        for index in sorted(pool, key=lambda index: self._keys[index]):
            width, _ = self._keys[index]
            too_large = (len(batch) + 1) * width > self.batch_tokens
            if too_large or len(batch) == self.batch_sentences:
                yield batch
                batch = []
            batch.append(index)
        yield batch


@check_argument_types
def length_sort_key(example: Example) -> tuple[int, int]:
    """Return what to sort by: positions of the longer side with its eos, then target tokens."""
    return _length_sort_key(example)


def _length_sort_key(example: Example) -> tuple[int, int]:
    """Do what `length_sort_key` does, for an example that has been checked."""
    src, tgt = example
    return max(len(src), len(tgt)) + 1, len(tgt)
