"""Batches rounded up to a few shapes, and what their padding costs.

Not in the paper. A CUDA graph is recorded for one shape, so that few shapes mean few recordings.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from transformer.data.examples import ExampleArrays
from transformer.data.token_budget import TokenBudgetBatches

SIZES_PER_DOUBLING = 8  # so a size is rounded up by an eighth at most
LENGTH_MULTIPLE = 4  # of source and target lengths, which are short
MAX_SHAPES_AS_PADDED = 32  # of an epoch; not measured on a GPU


class BatchShape(NamedTuple):
    """How large the tensors of a batch are."""

    sentences: int
    src_len: int  # with eos
    tgt_len: int  # with bos, or eos

    @property
    def positions(self) -> int:
        """Number of positions of both sides, padding included."""
        return self.sentences * (self.src_len + self.tgt_len)


def round_up(size: int, multiple: int = 1) -> int:
    """Return the least size, at or above this one, of those that batches are rounded up to.

    There are `SIZES_PER_DOUBLING` of them from each power of two to the next, as far as they are
    multiples of `multiple`, a power of two.
    """
    step = 2 ** (size - 1).bit_length() // (2 * SIZES_PER_DOUBLING)
    step = max(step, multiple, 1)
    return -(-size // step) * step


class BatchShapes:
    """The shapes that batches of some examples are padded to.

    No length is rounded beyond the longest example's, which a model's `max_len` may be.

    Args:
        examples: What the batches are of.
        is_rounded: Whether shapes are rounded up; otherwise they are those that `collate` gives.
    """

    def __init__(self, examples: ExampleArrays, is_rounded: bool) -> None:
        self.is_rounded = is_rounded
        self._src_lengths = examples.src.lengths() + 1  # each with one special id
        self._tgt_lengths = examples.tgt.lengths() + 1
        self._longest = int(self._src_lengths.max()), int(self._tgt_lengths.max())

    def shape_of(self, rows: NDArray[np.int64]) -> BatchShape:
        """Return the shape of a batch of these examples."""
        lengths = int(self._src_lengths[rows].max()), int(self._tgt_lengths[rows].max())
        if not self.is_rounded:
            return BatchShape(len(rows), *lengths)
        src_len, tgt_len = (
            min(round_up(length, LENGTH_MULTIPLE), longest)
            for length, longest in zip(lengths, self._longest, strict=True)
        )
        return BatchShape(round_up(len(rows)), src_len, tgt_len)

    def num_src_tokens(self, rows: NDArray[np.int64]) -> int:
        """Return the number of source tokens without padding, eos included."""
        return int(self._src_lengths[rows].sum())

    def num_tgt_tokens(self, rows: NDArray[np.int64]) -> int:
        """Return the number of target tokens without padding, eos included."""
        return int(self._tgt_lengths[rows].sum())


def few_shapes(batches: TokenBudgetBatches) -> BatchShapes:
    """Return the shapes that a run pads its batches to: rounded up, unless they are few as it is.

    They are if the first epoch has at most `MAX_SHAPES_AS_PADDED`.
    """
    as_padded = BatchShapes(batches.examples, is_rounded=False)
    shapes = {as_padded.shape_of(rows) for rows in batches.rows_by_batch(0)}
    if len(shapes) <= MAX_SHAPES_AS_PADDED:
        return as_padded
    return BatchShapes(batches.examples, is_rounded=True)


@dataclass
class PaddingCount:
    """How many positions were computed for how many real tokens, both sides together."""

    positions: int = 0
    tokens: int = 0

    def add(self, shape: BatchShape, num_tokens: int) -> None:
        """Count a batch of a shape, with so many real tokens."""
        self.positions += shape.positions
        self.tokens += num_tokens

    @property
    def positions_per_token(self) -> float | None:
        """Positions computed for each real token: 1 without padding, None before the first."""
        return self.positions / self.tokens if self.tokens else None
