"""Tatoeba, English and French: split so that nothing leaks, with every translation kept.

A sentence has up to 32 translations here, so that a random split shows half of its test
sentences in training. Instead, pairs that share a side, directly or by way of other pairs,
form a group, and a group goes into one split as a whole.
"""

import hashlib
import random
import re
import zipfile
from collections.abc import Sequence

from transformer.data import treatment
from transformer.data.download import obtain
from transformer.data.parallel import ParallelText, split_lines, tidy
from transformer.data.registry import Corpus
from transformer.support.errors import UserError

Pair = tuple[str, str]  # English, French

ARCHIVE, MEMBER = "tatoeba/data.zip", "data/eng-fra.txt"
PER_MILLE = 12  # of the groups, in validation and in test each; train has the others
SHUFFLE_SEED = 2017  # the file is sorted by length


def load(corpus: Corpus, split: str, src_lang: str, tgt_lang: str) -> ParallelText:
    """Load a split of Tatoeba in one direction.

    Not in the paper. In train a sentence stands once with each of its translations; in
    validation and test it stands once, and `references` has all of them.

    Args:
        corpus: The entry of the registry.
        split: "train", "validation" or "test".
        src_lang, tgt_lang: "en" and "fr", either way round.

    Raises:
        UserError: The archive cannot be had, or does not hold two columns of text.
    """
    pairs = split_pairs(all_pairs(corpus))[split]
    if not pairs:
        raise UserError(f"tatoeba has no pair in {split}: fetch the publisher's file")
    random.Random(SHUFFLE_SEED).shuffle(pairs)
    oriented = pairs if src_lang == "en" else [(french, english) for english, french in pairs]
    if split == "train":
        src, tgt = zip(*oriented, strict=True)
        return ParallelText(src_lang=src_lang, tgt_lang=tgt_lang, src=src, tgt=tgt)
    accepted: dict[str, list[str]] = {}
    for source, translation in oriented:
        accepted.setdefault(source, []).append(translation)
    return ParallelText(
        src_lang=src_lang,
        tgt_lang=tgt_lang,
        src=list(accepted),
        tgt=[translations[0] for translations in accepted.values()],
        references=list(accepted.values()),
    )


def all_pairs(corpus: Corpus) -> list[Pair]:
    """Give every pair of the archive, in its order; see `read_pairs`.

    Args:
        corpus: The entry of the registry.

    Raises:
        UserError: The archive cannot be had, or does not hold two columns of text.
    """
    with zipfile.ZipFile(obtain(corpus, corpus.file(ARCHIVE))) as archive:
        return read_pairs(archive.read(MEMBER).decode("utf-8"))


def read_pairs(text: str) -> list[Pair]:
    """Read lines of English, a tab, French; drop those that a treatment makes equal to another.

    Raises:
        UserError: A line has not two columns, or one of them is empty.
    """
    pairs: dict[Pair, None] = {}
    for number, line in enumerate(split_lines(text), start=1):
        columns = line.split("\t")
        if len(columns) != 2 or not all(column.strip() for column in columns):
            raise UserError(
                f"tatoeba, line {number} is {line[:60]!r}: it must be English, a tab, French"
            )
        pairs[treatment.english(columns[0]), treatment.french(columns[1])] = None
    return list(pairs)


def key(sentence: str) -> str:
    """Reduce a sentence to its words: lower-cased, without punctuation."""
    return tidy(re.sub(r"[^\w\s]", " ", sentence.lower()))


def group_pairs(pairs: Sequence[Pair]) -> list[list[Pair]]:
    """Gather the pairs that share a side (up to case and punctuation), however indirectly.

    Union-find: each side starts alone under itself, and each pair links its two sides.

    Returns:
        The groups in the order of their first pairs, each in the order given.
    """
    parent: dict[tuple[str, str], tuple[str, str]] = {}

    def root(side: tuple[str, str]) -> tuple[str, str]:
        parent.setdefault(side, side)
        while parent[side] != side:
            parent[side] = parent[parent[side]]  # halve the way for the next search
            side = parent[side]
        return side

    english_sides = [("en", key(english)) for english, _ in pairs]
    for side, (_, french) in zip(english_sides, pairs, strict=True):
        parent[root(side)] = root(("fr", key(french)))
    groups: dict[tuple[str, str], list[Pair]] = {}
    for side, pair in zip(english_sides, pairs, strict=True):
        groups.setdefault(root(side), []).append(pair)
    return list(groups.values())


def split_pairs(pairs: Sequence[Pair]) -> dict[str, list[Pair]]:
    """Give the pairs of each split, "train", "validation" and "test": whole groups in each."""
    splits: dict[str, list[Pair]] = {"train": [], "validation": [], "test": []}
    for group in group_pairs(pairs):
        splits[split_of(group)] += group
    return splits


def split_of(group: Sequence[Pair]) -> str:
    """Choose a group's split by a hash of its text: the same on every machine and every day."""
    name = min(key(english) for english, _ in group)
    number = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big") % 1000
    if number < PER_MILLE:
        return "test"
    return "validation" if number < 2 * PER_MILLE else "train"
