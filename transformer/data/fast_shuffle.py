"""The order that Python's `random.shuffle` makes, several times as fast (not in the paper).

`random.Random` and numpy have the same generator, the Mersenne Twister. So numpy draws the numbers
of a shuffle, and a run that was begun with Python's shuffle resumes with the same batches.
"""

import random

import numpy as np
from numpy.typing import NDArray

MAX_WORDS_AT_ONCE = 1 << 14  # that stay in a processor's cache


def shuffled_numbers(generator: random.Random, count: int) -> NDArray[np.int64]:
    """Return 0 to `count` - 1 in the order into which `generator.shuffle` brings a list of them.

    The generator is then in the state that `shuffle` leaves it in.
    """
    words = np.random.MT19937()
    version, (*key, position), next_gauss = generator.getstate()
    words.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": position}}
    places = _draw_places(words, count)
    state = words.state["state"]
    generator.setstate((version, (*state["key"].tolist(), state["pos"]), next_gauss))
    return _order_after_swaps(places)


def _draw_places(words: np.random.MT19937, count: int) -> NDArray[np.int64]:
    """Draw for each place of a list, the last first, with which place `shuffle` swaps it.

    The place is at most its own: a number below a limit, the first bits of a random word, as many
    as the limit has. While the number is not below the limit, another word is taken.

    Returns:
        (count,): `places[i]` is at most i.
    """
    drawn = []
    limit = count
    while limit > 1:
        num_bits = limit.bit_length()
        # One word for each limit of as many bits: at least so many are needed.
        num_words = min(limit - (1 << (num_bits - 1)) + 1, MAX_WORDS_AT_ONCE)
        numbers = words.random_raw(num_words).astype(np.int64) >> (32 - num_bits)
        drawn.append(numbers[_is_below_falling_limit(numbers, limit)])
        limit -= len(drawn[-1])
    drawn.append(np.zeros(limit, np.int64))
    return np.concatenate(drawn)[::-1]


def _is_below_falling_limit(numbers: NDArray[np.int64], limit: int) -> NDArray[np.bool_]:
    """Return which numbers are below a limit that falls by one with each that is."""
    is_below = numbers < limit
    while True:
        limits = limit - (np.cumsum(is_below) - is_below)
        # Once nothing changes, each limit is that of the numbers before it.
        if np.array_equal(numbers < limits, is_below):
            return is_below
        is_below = numbers < limits


def _order_after_swaps(places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return 0, 1, ... after each item, the last first, was swapped with the one at its place.

    One after the other, these would be leaps in memory. But an item is final after its swap: it is
    what its place held. That is what stood at the next greater item with the same place, which was
    swapped with it before; where there is none, the place's own number.
    """
    items = np.arange(len(places))
    if len(places) < 2:
        return items
    # Sorted by place, then by item.
    place, item = np.divmod(np.sort(places * len(places) + items), len(places))
    # What stands at an item before its swap: what stood at the least item whose place it is, before
    # the swap of that, and so on to an item that is nobody's place. Of the values for an index
    # numpy keeps the last.
    origin = items.copy()
    origin[place[::-1]] = item[::-1]
    while not np.array_equal(further := origin[origin], origin):
        origin = further
    order = places.copy()
    has_next = place[:-1] == place[1:]
    order[item[:-1][has_next]] = origin[item[1:][has_next]]
    return order
