"""Toy models for exercises on decoding: they count how often they are asked."""

from dataclasses import dataclass

from transformer.config import BOS_ID

MAX_CALLS = 500  # more questions than any right answer has


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
        if self.calls > MAX_CALLS:
            raise RuntimeError(f"the model was asked {MAX_CALLS} times: does your search end?")
        if not written or written[0] != BOS_ID:
            raise ValueError(f"asked about {list(written)}: give all tokens so far, bos first")
        return dict(self.rows[written[-1]])
