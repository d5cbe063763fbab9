"""Lines of text: how each language's are written, and how they stand beside their translations.

Not in the paper. A model reads only what its training text looked like, so a tokenizer carries the
name of a treatment and applies it to all that it encodes. Each writes what most of the corpora's
lines do: ' for ’; a blank before ! ? : ; in French alone; " for “ and ”, but not in German.
What the corpora write both ways stays: «oui» beside « oui », and ‘.
"""

import hashlib
import logging
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from transformer.support.checks import check_list, check_text, check_texts
from transformer.support.errors import UserError, short_repr

Pair = tuple[str, str]  # English, French

WORD = r"[^\s,.?!]+|[,.?!]"  # what gold alignments count: a word or a punctuation mark
PER_MILLE = 12  # of Tatoeba's groups, in validation and in test each; train has the others
_APOSTROPHES = str.maketrans(dict.fromkeys("\u2019\u02bc\u2032\u00b4", "'"))  # ’ ʼ ′ ´
_QUOTES = str.maketrans(dict.fromkeys("\u201c\u201d\u201e", '"'))  # “ ” „


def tidy(line: str) -> str:
    """Make every blank of a line a plain, single one (tab, no-break, thin), none at its edges."""
    return " ".join(line.split())


def german(text: str) -> str:
    """Compose letters and their accents (NFC), and write blanks and apostrophes in one way."""
    return tidy(unicodedata.normalize("NFC", text)).translate(_APOSTROPHES)


def english(text: str) -> str:
    """Do what `german` does, and write straight quotes."""
    return german(text).translate(_QUOTES)


def french(text: str) -> str:
    """Do what `english` does, and set the blank before ! ? : ; where it lacks (not in 8:40)."""
    return re.sub(r"(?<=[^\s!?:;])([!?;]|:(?!\d))", r" \1", english(text))


PLAIN = "plain"  # blanks alone: of a language that has no treatment of its own
BY_LANGUAGE = {"de": "german", "en": "english", "fr": "french"}
TREATMENTS = {PLAIN: tidy, "german": german, "english": english, "french": french}


@dataclass(frozen=True)
class ParallelText:
    """One split of a corpus in one direction."""

    src_lang: str  # "de", "en", "fr"; or "tree", a tree of phrases
    tgt_lang: str
    src: Sequence[str]  # stripped, none empty
    tgt: Sequence[str]  # `tgt[i]` translates `src[i]`
    # Of each sentence every accepted translation, `tgt[i]` among them; None: there is one each.
    references: Sequence[Sequence[str]] | None = None
    # Of each sentence its gold links (source token, target token) of `aligned_tokens`, from 0.
    alignments: Sequence[frozenset[tuple[int, int]]] | None = None

    def __post_init__(self) -> None:
        check_texts("src", self.src)
        check_texts("tgt", self.tgt)
        if len(self.src) != len(self.tgt):
            raise UserError(
                f"{len(self.src)} lines of {self.src_lang}, {len(self.tgt)} of {self.tgt_lang}; "
                "line i of one must translate line i of the other: get both anew"
            )
        if len(self.src) == 0:
            message = f"no sentence pair in {self.src_lang}-{self.tgt_lang}"
            raise UserError(f"{message}: give a corpus with text")

    def __len__(self) -> int:
        return len(self.src)


def aligned_tokens(text: str) -> list[str]:
    """Cut a sentence into the words and punctuation marks that gold alignments count."""
    check_text("the text", text)
    return re.findall(WORD, text)


def split_lines(text: str) -> list[str]:
    """Cut a file's text at its line feeds alone: U+2028 and its like stand inside sentences."""
    return text.removesuffix("\n").split("\n")


def side_by_side(src_lang: str, tgt_lang: str, src: list[str], tgt: list[str]) -> ParallelText:
    """Tidy two lists of lines into parallel text, without the pairs that have an empty side."""
    whole = ParallelText(src_lang, tgt_lang, [*map(tidy, src)], [*map(tidy, tgt)])
    kept = [(a, b) for a, b in zip(whole.src, whole.tgt, strict=True) if a and b]
    if dropped := len(whole) - len(kept):
        message = f"{src_lang}-{tgt_lang}: dropped {dropped} of {len(whole)} pairs"
        logging.getLogger(__name__).warning(f"{message}, which have an empty side")
    return ParallelText(src_lang, tgt_lang, [a for a, _ in kept], [b for _, b in kept])


# --- Tatoeba: split so that nothing leaks ---------------------------------------------------
#
# A sentence has up to 32 translations there, so that a random split shows half of its test
# sentences in training. Instead, pairs that share a side, directly or by way of other pairs,
# form a group, and a group goes into one split as a whole.


def key(sentence: str) -> str:
    """Reduce a sentence to its words: lower-cased, without punctuation."""
    return tidy(re.sub(r"[^\w\s]", " ", sentence.lower()))


def group_pairs(pairs: Sequence[Pair]) -> list[list[Pair]]:
    """Gather the pairs that share a side (up to case and punctuation), however indirectly.

    Union-find: each side starts alone under itself, and each pair links its two sides. The groups
    come in the order of their first pairs, each in the order given.
    """
    check_list("pairs", pairs, "pairs of texts")
    for pair in pairs:
        check_texts("pair", pair)
        if len(pair) != 2:
            raise UserError(f"{short_repr(pair)} is no pair: give two texts")
    parent: dict[Pair, Pair] = {}

    def root(side: Pair) -> Pair:
        parent.setdefault(side, side)
        while parent[side] != side:
            parent[side] = parent[parent[side]]  # halve the way for the next search
            side = parent[side]
        return side

    english_sides = [("en", key(sentence)) for sentence, _ in pairs]
    for side, (_, translation) in zip(english_sides, pairs, strict=True):
        parent[root(side)] = root(("fr", key(translation)))
    groups: dict[Pair, list[Pair]] = {}
    for side, pair in zip(english_sides, pairs, strict=True):
        groups.setdefault(root(side), []).append(pair)
    return list(groups.values())


def split_pairs(pairs: Sequence[Pair]) -> dict[str, list[Pair]]:
    """Give the pairs of "train", "validation" and "test": whole groups in each.

    A hash of a group's text chooses its split: the same on every machine and every day.
    """
    splits: dict[str, list[Pair]] = {"train": [], "validation": [], "test": []}
    for group in group_pairs(pairs):
        name = min(key(sentence) for sentence, _ in group)
        number = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big") % 1000
        held_out = "test" if number < PER_MILLE else "validation"
        splits[held_out if number < 2 * PER_MILLE else "train"] += group
    return splits
