"""Sentences of token ids in flat arrays: 2 bytes a token, where Python's lists take 100.

Not in the paper.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transformer.config import PAD_ID
from transformer.support.errors import UserError, short_repr

ROWS_PER_CHUNK = 1 << 16  # that are copied at once


@dataclass(frozen=True, eq=False)
class TokenArrays:
    """Sentences of token ids, one after the other, without special ids."""

    ids: NDArray[np.unsignedinteger[Any]]  # (tokens,), uint16 where every id fits, else uint32
    offsets: NDArray[np.unsignedinteger[Any]]  # (sentences + 1,): where each begins, then the end

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def sentence(self, row: int) -> list[int]:
        """Return the ids of a sentence, as plain numbers."""
        ids: list[int] = self.ids[int(self.offsets[row]) : int(self.offsets[row + 1])].tolist()
        return ids

    def lengths(self) -> NDArray[np.int64]:
        """Return the number of tokens of each sentence."""
        offsets = self.offsets.astype(np.int64)
        return offsets[1:] - offsets[:-1]

    def select_rows(self, rows: NDArray[np.int64]) -> "TokenArrays":
        """Return some of the sentences, in this order, as arrays of their own."""
        # In chunks: the tokens' places take four times the memory of the tokens.
        starts = range(0, len(rows), ROWS_PER_CHUNK)
        return token_arrays_from_chunks(
            self._chunk_of_rows(rows[start : start + ROWS_PER_CHUNK]) for start in starts
        )

    def _chunk_of_rows(
        self, rows: NDArray[np.int64]
    ) -> tuple[NDArray[np.unsignedinteger[Any]], NDArray[np.int64]]:
        """Return the ids of some sentences one after the other, and how many each has."""
        starts, lengths = self._starts_and_lengths(rows)
        # Each token's place: its row's first place here, moved to where the row begins in `ids`.
        moves = np.repeat(starts - np.cumsum(lengths) + lengths, lengths)
        return self.ids[np.arange(len(moves)) + moves], lengths

    def _starts_and_lengths(
        self, rows: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        starts = self.offsets[rows].astype(np.int64)
        return starts, self.offsets[rows + 1].astype(np.int64) - starts

    def padded_rows(
        self, rows: NDArray[np.int64]
    ) -> tuple[NDArray[np.unsignedinteger[Any]], NDArray[np.int64]]:
        """Return some sentences side by side, padded at the end, and the length of each.

        Returns:
            (rows, longest) and (rows,).
        """
        starts, lengths = self._starts_and_lengths(rows)
        columns = np.arange(lengths.max())
        # Past a sentence's end the next one begins; past the last, its last token stands again.
        padded = self.ids.take(starts[:, None] + columns, mode="clip")
        padded[columns >= lengths[:, None]] = PAD_ID
        return padded, lengths


def token_arrays_from_chunks(
    chunks: Iterable[tuple[NDArray[Any], NDArray[np.int64]]],
) -> TokenArrays:
    """Join chunks of sentences: for each the ids one after the other, and the lengths."""
    all_ids, all_lengths = [np.zeros(0, np.uint16)], [np.zeros(0, np.int64)]
    for ids, lengths in chunks:
        fits = ids.size == 0 or ids.max() <= np.iinfo(np.uint16).max
        all_ids.append(ids.astype(np.uint16 if fits else np.uint32))
        all_lengths.append(lengths)
    return TokenArrays(np.concatenate(all_ids), _offsets_of_lengths(np.concatenate(all_lengths)))


def chunk_from_lists(
    sentences: Sequence[Sequence[int]],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the ids of lists one after the other, and their lengths.

    A UserError where one holds something else than token ids.
    """
    try:
        lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int64)
        ids = np.array([token_id for sentence in sentences for token_id in sentence])
        if ids.size and (ids.dtype.kind not in "iu" or ids.min() < 0 or ids.max() >= 1 << 32):
            raise ValueError("not every item is an id")
    except (TypeError, ValueError, OverflowError) as error:
        message = f"sentences are {short_repr(sentences)}: give one or more lists of token ids"
        raise UserError(message) from error
    return ids.astype(np.int64), lengths


def _offsets_of_lengths(lengths: NDArray[np.int64]) -> NDArray[np.unsignedinteger[Any]]:
    """Return where each sentence begins, then the end: uint32 below 4 billion tokens."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets.astype(np.uint32 if offsets[-1] < 1 << 32 else np.uint64)
