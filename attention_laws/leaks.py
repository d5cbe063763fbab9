"""How much of a test set stands in the training set already."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from attention_laws.errors import UserError

Pair = tuple[str, str]


def key(sentence: str) -> str:
    """Reduce a sentence to its words: lower-cased, without punctuation."""
    return " ".join(re.sub(r"[^\w\s]", " ", sentence.lower()).split())


class Leak(NamedTuple):
    """Shares of the test pairs, 0 to 1, whose side or sides stand in the training pairs."""

    # the first side, the second side
    first: float
    second: float
    either: float  # one of them at least


def measure_leak(train: Sequence[Pair], test: Sequence[Pair]) -> Leak:
    """Count the test pairs whose sides were seen in training, whatever case and punctuation.

    Raises:
        UserError: there are no test pairs.
    """
    if not test:
        raise UserError("no test pairs: there is nothing that could leak")
    firsts, seconds = ({key(pair[side]) for pair in train} for side in (0, 1))
    first = [key(pair[0]) in firsts for pair in test]
    second = [key(pair[1]) in seconds for pair in test]
    either = [a or b for a, b in zip(first, second, strict=True)]
    return Leak(*(sum(seen) / len(test) for seen in (first, second, either)))
