"""Toys for exercises: models to decode with, and keys in blocks; they count their questions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from lessonkit.exercises.rules import BrokenRuleError
from transformer.config import BOS_ID

MAX_CALLS = 500  # more questions than any right answer has
MAX_SEARCHED = 2_000  # the same of a search through all sentences


@dataclass
class Script:
    """A toy model that wants to write the tokens of a script, then the last one for ever.

    Called with all tokens so far, bos first, it gives a score for each of six types.
    """

    tokens: list[int]
    calls: int = 0

    def __repr__(self) -> str:
        """Write it as a lesson would, where `ex` is the module of the exercises."""
        return f"ex.Script({self.tokens})"

    def __call__(self, written: list[int]) -> list[float]:
        """Score the next token; refuse a prefix that no greedy search would write."""
        self.calls += 1
        if self.calls > MAX_CALLS:
            raise RuntimeError(f"the model was asked {MAX_CALLS} times: does your loop end?")
        place = len(written) - 1
        if list(written) != [BOS_ID, *self.writes(place)]:
            raise ValueError(f"asked about {list(written)}: give all tokens so far, bos first")
        wanted = self.writes(place + 1)[-1]
        return [2.5 if token == wanted else -0.5 * token for token in range(6)]

    def writes(self, length: int) -> list[int]:
        """Give its first so many tokens."""
        return [*self.tokens, *self.tokens[-1:] * length][:length]


@dataclass
class Table:
    """A toy model that reads the next token's probabilities off a table, by the last token."""

    rows: dict[int, dict[int, float]]
    calls: int = 0

    def __repr__(self) -> str:
        """Write it as a lesson would, where `ex` is the module of the exercises."""
        return f"ex.Table({self.rows})"

    def __call__(self, written: list[int]) -> dict[int, float]:
        """Give each possible next token with its probability."""
        self.calls += 1
        if self.calls > MAX_SEARCHED:
            raise RuntimeError(f"the model was asked {MAX_SEARCHED} times: does your search end?")
        if not written or written[0] != BOS_ID:
            raise ValueError(f"asked about {list(written)}: give all tokens so far, bos first")
        return dict(self.rows[written[-1]])


@dataclass
class Blocks(Sequence[Any]):
    """Many blocks of keys and values, drawn by chance: pairs (length, 2) and (length, 1).

    It is read as a list is, but for this: there is one way through, and not a second. The block
    just given may be asked for again (its key, then its value); the first and the last, for their
    shape, at any time.
    """

    number: int
    length: int

    def __post_init__(self) -> None:
        """Draw the keys and values."""
        chance = torch.Generator().manual_seed(0)
        self._pairs = [self._draw(chance) for _ in range(self.number)]
        self._given: set[int] = set()
        self._newest: set[int] = set()

    def __repr__(self) -> str:
        """Write it as a lesson would, where `ex` is the module of the exercises."""
        return f"ex.Blocks({self.number}, {self.length})"

    def __len__(self) -> int:
        """Count the blocks."""
        return self.number

    def __getitem__(self, place: Any) -> Any:
        """Give a block, or several; refuse to give all of them twice."""
        places = range(self.number)[place]
        wanted = set(places if isinstance(place, slice) else [places]) - {0, self.number - 1}
        is_newest = not isinstance(place, slice) and wanted == self._newest
        if wanted & self._given and not is_newest:
            raise BrokenRuleError("it goes through the blocks a second time")
        self._given |= wanted
        self._newest = wanted
        return self._pairs[place]

    def _draw(self, chance: torch.Generator) -> tuple[Tensor, Tensor]:
        key = 3 * torch.randn(self.length, 2, generator=chance)
        return key, torch.randn(self.length, 1, generator=chance)
