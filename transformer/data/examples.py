"""Sentence pairs as token ids: one pair, and many in flat arrays.

Not in the paper. No torch in here.
"""

import hashlib
from collections.abc import Sequence
from typing import NamedTuple, overload

from transformer.data.token_arrays import TokenArrays, chunk_from_lists, token_arrays_from_chunks
from transformer.support.checks import check_has_items
from transformer.support.errors import require
from transformer.support.signatures import check_type

NUMBERS_PER_UPDATE = 1 << 20  # of a check sum


class Example(NamedTuple):
    """One sentence pair as ids, without bos and eos."""

    src: list[int]
    tgt: list[int]


class ExampleArrays(Sequence[Example]):
    """Sentence pairs in flat arrays: a list of `Example`, each made when it is asked for."""

    def __init__(self, src: TokenArrays, tgt: TokenArrays) -> None:
        require(
            len(src) == len(tgt),
            f"{len(src)} sources and {len(tgt)} targets: give one target for each source",
        )
        self.src, self.tgt = src, tgt

    def __len__(self) -> int:
        return len(self.src)

    @overload
    def __getitem__(self, index: int) -> Example: ...
    @overload
    def __getitem__(self, index: slice) -> list[Example]: ...
    def __getitem__(self, index: int | slice) -> Example | list[Example]:
        if isinstance(index, slice):
            return [self[row] for row in range(*index.indices(len(self)))]
        row = range(len(self))[index]
        return Example(self.src.sentence(row), self.tgt.sentence(row))

    def checksum(self) -> str:
        """Return the sha256 of each id and of the order: the same for ids of 16 bits and of 32."""
        digest = hashlib.sha256()
        for side in (self.src, self.tgt):
            for numbers in (side.lengths(), side.ids):
                for start in range(0, len(numbers), NUMBERS_PER_UPDATE):
                    some = numbers[start : start + NUMBERS_PER_UPDATE]
                    digest.update(some.astype("<u4").data)
        return digest.hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __repr__(self) -> str:
        return f"<{len(self):,} sentence pairs as token ids>"


def example_arrays(examples: Sequence[Example]) -> ExampleArrays:
    """Return one or more examples in flat arrays; a UserError where they are something else."""
    # Flat arrays hold ids by their type, and asking each example takes seconds.
    if not isinstance(examples, ExampleArrays):
        check_type("examples", examples, Sequence[Example])
    check_has_items("examples", examples)
    if isinstance(examples, ExampleArrays):
        return examples
    src = token_arrays_from_chunks([chunk_from_lists([src for src, _ in examples])])
    tgt = token_arrays_from_chunks([chunk_from_lists([tgt for _, tgt in examples])])
    return ExampleArrays(src, tgt)
