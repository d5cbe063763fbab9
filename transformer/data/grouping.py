"""A split of sentence pairs into training, validation and test that leaks nothing.

Not in the paper. A sentence of Tatoeba has up to 32 translations, so that a random split shows half
of its test sentences in training. Instead, pairs that share a side, directly or by way of other
pairs, form a group, and a group goes into one split as a whole.
"""

import hashlib
import re
import unicodedata
from collections.abc import Sequence

from transformer.data.normalizers import drop_invisible, normalize_whitespace
from transformer.support.progress import with_progress
from transformer.support.signatures import check_argument_types

Pair = tuple[str, str]  # a sentence and its translation, in any two languages

# Of 1,000 groups so many are in validation, and as many in test; train has the others.
HELD_OUT_GROUPS_PER_MILLE = 12


def grouping_key(sentence: str) -> str:
    """Reduce a sentence to its words: lower-cased, without punctuation."""
    return normalize_whitespace(
        re.sub(r"[^\w\s]", _combining_mark_or_blank, drop_invisible(sentence).lower())
    )


def _combining_mark_or_blank(character: re.Match[str]) -> str:
    """Return a combining mark, as many scripts write their vowels, and a blank for all else."""
    return character[0] if unicodedata.category(character[0]).startswith("M") else " "


@check_argument_types
def group_pairs(pairs: Sequence[Pair]) -> list[list[Pair]]:
    """Gather the pairs that share a side (up to case and punctuation), however indirectly.

    A first side is compared with first sides alone, and a second with second ones, so that both
    directions of a corpus have the same groups. They come in the order of their first pairs, the
    pairs of each in their own order.
    """
    keys = _grouping_keys(pairs)
    return [[pairs[index] for index in group] for group in _group_indices(keys)]


def _grouping_keys(pairs: Sequence[Pair]) -> list[Pair]:
    """Return the keys of both sides of each pair."""
    return [
        (grouping_key(first), grouping_key(second))
        for first, second in with_progress(pairs, "comparing sides", "pairs")
    ]


def _group_indices(keys: Sequence[Pair]) -> list[list[int]]:
    """Return the groups of pairs that share a key of one side, as their indices."""
    groups = _DisjointSets()
    for first, second in with_progress(keys, "grouping", "pairs"):
        groups.join((0, first), (1, second))
    members: dict[_SideAndKey, list[int]] = {}
    for index, (first, _) in enumerate(keys):
        members.setdefault(groups.root((0, first)), []).append(index)
    return list(members.values())


def split_pairs(
    pairs: Sequence[Pair],
    naming_side: int = 0,
    held_out_per_mille: int = HELD_OUT_GROUPS_PER_MILLE,
    max_held_out_group: int | None = None,
) -> dict[str, list[Pair]]:
    """Return the pairs of "train", "validation" and "test": whole groups in each.

    A hash of a group's text chooses its split: the same on every machine and every day. That text
    is of one side, 0 or 1; who names the same language's side gets the same split in both
    directions. Of 1,000 groups about `held_out_per_mille` are in validation, and as many in test; a
    group of more than `max_held_out_group` pairs is in train.
    """
    splits: dict[str, list[Pair]] = {"train": [], "validation": [], "test": []}
    keys = _grouping_keys(pairs)
    for indices in _group_indices(keys):
        group = [pairs[index] for index in indices]
        name = min(keys[index][naming_side] for index in indices)
        number = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big") % 1000
        if max_held_out_group is not None and len(group) > max_held_out_group:
            splits["train"] += group
        elif number < held_out_per_mille:
            splits["test"] += group
        elif number < 2 * held_out_per_mille:
            splits["validation"] += group
        else:
            splits["train"] += group
    return splits


_SideAndKey = tuple[int, str]  # which side of a pair, 0 or 1, and its grouping key


class _DisjointSets:
    """Union-find: each side starts as the root of a tree of its own, and `join` links two trees."""

    def __init__(self) -> None:
        self._parent: dict[_SideAndKey, _SideAndKey] = {}

    def root(self, side: _SideAndKey) -> _SideAndKey:
        """Return the root of a side's tree, and halve the way to it for the next search."""
        parent = self._parent
        parent.setdefault(side, side)
        while parent[side] != side:
            parent[side] = parent[parent[side]]
            side = parent[side]
        return side

    def join(self, side: _SideAndKey, other: _SideAndKey) -> None:
        """Hang the tree of one side under the root of the other's."""
        root, other_root = self.root(side), self.root(other)
        self._parent[root] = other_root
