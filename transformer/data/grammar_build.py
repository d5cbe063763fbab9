"""Draws the sentences of the embedded corpus from its word lists, and writes them to a file.

`python -m transformer.data.grammar_build` writes `data/corpus/sentences.tsv.gz` again: do so
after a change of the word lists or of the grammar. Drawing takes some 5 s, reading 0.3 s.
"""

import gzip
from collections.abc import Iterator
from random import Random
from zlib import crc32

from transformer.data.grammar import FILE, LANGUAGES, SIZES, Sentence
from transformer.data.grammar_english import english
from transformer.data.grammar_french import french
from transformer.data.grammar_german import german
from transformer.data.grammar_periods import PeriodSampler
from transformer.data.grammar_phenomena import combinations, phenomena
from transformer.data.grammar_tables import corpus_folder, lexicon
from transformer.data.grammar_tree import Tree, Word

SEED = 2017
LONGEST_ORDINARY = 16
LONGEST = 25
HELD_OUT = 12  # one combination of two words in so many is kept out of training


def _capital(words: list[Word]) -> list[str]:
    first, *rest = (each.text for each in words)
    return [first[0].upper() + first[1:], *rest]


def _links(src: list[Word], tgt: list[Word]) -> str:
    """Link the words that share a meaning: "0-0 1-2"."""
    where: dict[int, list[int]] = {}
    for index, each in enumerate(tgt):
        for key in each.keys:
            where.setdefault(key, []).append(index)
    links = {
        (index, other)
        for index, each in enumerate(src)
        for key in each.keys
        for other in where.get(key, ())
    }
    return " ".join(f"{a}-{b}" for a, b in sorted(links))


def _sentence(tree: Tree) -> Sentence:
    en, fr, de = english(tree), french(tree), german(tree)
    return Sentence(
        en=" ".join(_capital(en)),
        fr=" ".join(_capital(fr)),
        de=" ".join(_capital(de)),
        links={"en-fr": _links(en, fr), "en-de": _links(en, de), "fr-de": _links(fr, de)},
        phenomena=phenomena(tree),
    )


def _held_out(tree: Tree) -> bool:
    """Whether a sentence combines two words that training must not see together."""
    return any(crc32(f"{a} {b}".encode()) % HELD_OUT == 0 for a, b in combinations(tree))


def _length(sentence: Sentence) -> tuple[int, int]:
    """Count the tokens of its shortest and of its longest language."""
    lengths = [sentence.text(lang).count(" ") + 1 for lang in LANGUAGES]
    return min(lengths), max(lengths)


class _Collector:
    """Gathers the splits; no text of any language stands in two of them, or twice in one."""

    def __init__(self) -> None:
        self.splits: dict[str, list[Sentence]] = {name: [] for name in SIZES}
        self.said: set[str] = set()

    def open(self, name: str) -> bool:
        """Whether a split still takes sentences."""
        return len(self.splits[name]) < SIZES[name]

    def add(self, name: str, sentence: Sentence) -> None:
        """Put a sentence into a split unless one of its texts is there already."""
        texts = {sentence.en, sentence.fr, sentence.de}
        if self.said.isdisjoint(texts):
            self.said |= texts
            self.splits[name].append(sentence)


def build(seed: int = SEED) -> dict[str, list[Sentence]]:
    """Draw every split from one seed, the tests first.

    Not in the paper: the course's own corpus.

    Returns:
        For each split of `SIZES` its sentences.
    """
    sampler, found = PeriodSampler(lexicon(), Random(seed)), _Collector()
    while found.open("test_long"):
        tree = sampler.long()
        if tree is not None and not _held_out(tree):
            sentence = _sentence(tree)
            shortest, longest = _length(sentence)
            if shortest > LONGEST_ORDINARY and longest <= LONGEST:
                found.add("test_long", sentence)
    while any(map(found.open, SIZES)):
        tree = sampler.ordinary()
        if tree is None:
            continue
        ordinary = next((n for n in ("test", "validation", "train") if found.open(n)), "train")
        name = "test_combinations" if _held_out(tree) else ordinary
        if found.open(name):
            sentence = _sentence(tree)
            if _length(sentence)[1] <= LONGEST_ORDINARY:
                found.add(name, sentence)
    return found.splits


def lines(splits: dict[str, list[Sentence]]) -> Iterator[str]:
    """Give the lines of the corpus file: split, three texts, three alignments, phenomena.

    Not in the paper: the course's own corpus.
    """
    for name, chosen in splits.items():
        for each in chosen:
            shown = " ".join(sorted(phenomenon.name for phenomenon in each.phenomena))
            yield "\t".join((name, each.en, each.fr, each.de, *each.links.values(), shown)) + "\n"


if __name__ == "__main__":
    content = "".join(lines(build())).encode()
    (corpus_folder() / FILE).write_bytes(gzip.compress(content, mtime=0))
