"""An exercise of lesson 12: how far ahead a decoder sees."""

from typing import Any

import torch
from torch import Tensor

from lessonkit.exercises.asking import read_words
from lessonkit.exercises.check import Exercise
from lessonkit.exercises.faults.toys import Glimpse

words = read_words("12")


def my_ahead(decode: Any, tgt_in: Tensor) -> int:
    """Give how many tokens ahead a decoder sees, at most."""
    logits, farthest = decode(tgt_in), 0
    for place in range(1, len(tgt_in)):
        changed = tgt_in.clone()
        changed[place] = 9 - changed[place]
        moved = (decode(changed) != logits).any(dim=1)
        farthest = max(farthest, place - int(moved.nonzero()[0]))
    return farthest


def _leaks(decode: Any, tgt_in: Tensor) -> list[tuple[int, int]]:
    """Find each position that sees a later place."""
    found, logits = [], decode(tgt_in)
    for place in range(1, len(tgt_in)):
        changed = tgt_in.clone()
        changed[place] = 9 - changed[place]
        moved = (decode(changed) != logits).any(dim=1)
        found += [(position, place) for position in range(place) if moved[position]]
    return found


def nearest_leak(decode: Any, tgt_in: Tensor) -> int:
    """Stop at the least distance."""
    return min((place - position for position, place in _leaks(decode, tgt_in)), default=0)


def from_the_first(decode: Any, tgt_in: Tensor) -> int:
    """Look at the first position alone."""
    return max((place for position, place in _leaks(decode, tgt_in) if position == 0), default=0)


def to_the_last(decode: Any, tgt_in: Tensor) -> int:
    """Change the last token alone."""
    last = len(tgt_in) - 1
    return max((last - at for at, place in _leaks(decode, tgt_in) if place == last), default=0)


def number_of_leaks(decode: Any, tgt_in: Tensor) -> int:
    """Count the pairs."""
    return len(_leaks(decode, tgt_in))


def place_of_the_leak(decode: Any, tgt_in: Tensor) -> int:
    """Give where the token stands, not how far that is."""
    return max((place for _, place in _leaks(decode, tgt_in)), default=0)


def own_place_counted(decode: Any, tgt_in: Tensor) -> int:
    """Count the position's own token as one ahead."""
    return my_ahead(decode, tgt_in) + 1


def neighbour_alone(decode: Any, tgt_in: Tensor) -> int:
    """Ask of each token whether the position before it moves."""
    return int(any(place - position == 1 for position, place in _leaks(decode, tgt_in)))


_TEXTS = ([2, 4], [5, 3, 6], [2, 7, 4, 6, 3], [1, 8, 2, 5, 3, 6, 4])
_SIGHTS: tuple[list[tuple[int, int]], ...] = (
    [],
    [(0, 1)],
    [(1, 2)],
    [(0, 2)],
    [(1, 3)],
    [(0, 1), (1, 4)],
    [(0, 1), (1, 2), (2, 3)],
    [(3, 4), (2, 6)],
    [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)],
)

ahead = Exercise(
    my_ahead,
    words,
    worked=[
        ((Glimpse([], 0), torch.tensor([2, 4])), 0),
        ((Glimpse([(0, 1)], 0), torch.tensor([2, 4])), 1),
        ((Glimpse([(0, 2)], 0), torch.tensor([5, 3, 6])), 2),
    ],
    cases=[
        (Glimpse(leaks, seed), torch.tensor(text))
        for seed, leaks in enumerate(_SIGHTS)
        for text in _TEXTS
    ],
    expected=lambda decode, tgt_in: max(
        (place - position for position, place in decode.leaks if place < len(tgt_in)), default=0
    ),
    wrong={
        "nearest_leak": nearest_leak,
        "from_the_first": from_the_first,
        "to_the_last": to_the_last,
        "number_of_leaks": number_of_leaks,
        "place_of_the_leak": place_of_the_leak,
        "own_place_counted": own_place_counted,
        "neighbour_alone": neighbour_alone,
    },
)
