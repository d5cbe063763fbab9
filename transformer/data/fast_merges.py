"""The merges of byte-pair encoding, learned from counts of words (§5.1).

The library `tokenizers` learns them from text alone, which it reads word by word, however often a
word recurs. Here each distinct word stands once, with its count. The merges are the library's, with
its order among pairs that are as frequent; `vocabularies.learn_merges_by_library` is the plain
form, which a test compares.
"""

import heapq
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import pairwise

Pair = tuple[int, int]  # the ids of two neighbours


def learn_merges_from_counts(
    unit_counts: Mapping[str, int], alphabet: Iterable[str], vocab_size: int, min_frequency: int
) -> list[tuple[str, str]]:
    """Learn the merges of a vocabulary, the most frequent pair first.

    Args:
        unit_counts: What a pre-tokenizer cuts text into, and how often each is in the text.
        alphabet: The letters of the vocabulary, whether they are in a unit or not.
        vocab_size: The letters and what the merges make, at most.
        min_frequency: How often a pair must be seen.
    """
    names = sorted({*alphabet, *(letter for unit in unit_counts for letter in unit)})
    id_by_name = {name: token_id for token_id, name in enumerate(names)}
    units = _CountedUnits(
        [[id_by_name[letter] for letter in unit] for unit in unit_counts],
        list(unit_counts.values()),
    )
    merges: dict[Pair, None] = {}
    while len(names) < vocab_size:
        pair = units.pop_most_frequent_pair(min_frequency)
        if pair is None:
            break
        name = names[pair[0]] + names[pair[1]]
        merged_id = id_by_name.setdefault(name, len(names))
        if merged_id == len(names):
            names.append(name)
        units.merge_popped_pair(pair, merged_id)
        # A pair that is merged a second time has the later place.
        merges.pop(pair, None)
        merges[pair] = None
    return [(names[left], names[right]) for left, right in merges]


class _CountedUnits:
    """Units as ids, how often each neighbouring pair is seen in them, and which pair comes next."""

    def __init__(self, units: list[list[int]], counts: list[int]) -> None:
        self._units, self._counts = units, counts
        self._pair_counts: defaultdict[Pair, int] = defaultdict(int)
        # Which units hold a pair, as far as that is not in the heap yet.
        self._new_positions: defaultdict[Pair, set[int]] = defaultdict(set)
        # The most frequent first, then that of the smallest ids. A count may be out of date.
        self._heap: list[tuple[int, Pair, int, set[int]]] = []
        self._num_pushed = 0  # so that no sets are compared
        self._popped_positions: set[int] = set()
        for number, unit in enumerate(units):
            for pair in pairwise(unit):
                self._pair_counts[pair] += counts[number]
                self._new_positions[pair].add(number)
        self._push_new_pairs()

    def _push_new_pairs(self) -> None:
        for pair, positions in self._new_positions.items():
            self._push(pair, positions)
        self._new_positions.clear()

    def _push(self, pair: Pair, positions: set[int]) -> None:
        count = self._pair_counts[pair]
        if count > 0:
            self._num_pushed += 1
            heapq.heappush(self._heap, (-count, pair, self._num_pushed, positions))

    def pop_most_frequent_pair(self, min_frequency: int) -> Pair | None:
        """Return the next pair to merge; None where none is seen often enough."""
        while self._heap:
            negative_count, pair, _, positions = heapq.heappop(self._heap)
            if -negative_count != self._pair_counts[pair]:
                self._push(pair, positions)
                continue
            if -negative_count < min_frequency:
                return None
            self._popped_positions = positions
            return pair
        return None

    def merge_popped_pair(self, pair: Pair, merged_id: int) -> None:
        """Make one id of each such pair in the units that the pair was pushed with."""
        left, right = pair
        pair_counts, new_positions = self._pair_counts, self._new_positions
        for number in self._popped_positions:
            unit, count = self._units[number], self._counts[number]
            place = 0
            while place < len(unit) - 1:
                if unit[place] == left and unit[place + 1] == right:
                    if place > 0:
                        before = unit[place - 1]
                        pair_counts[before, left] -= count
                        pair_counts[before, merged_id] += count
                        new_positions[before, merged_id].add(number)
                    if place < len(unit) - 2:
                        after = unit[place + 2]
                        pair_counts[right, after] -= count
                        pair_counts[merged_id, after] += count
                        new_positions[merged_id, after].add(number)
                    unit[place : place + 2] = [merged_id]
                place += 1
        self._push_new_pairs()
