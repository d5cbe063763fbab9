"""The embedded corpus: English, French and German sentences with their gold word alignments."""

import gzip
import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from transformer.data.parallel import ParallelText, split_lines
from transformer.support.errors import unknown_name
from transformer.support.files import corpus_folder

FILE = "sentences.tsv.gz"
LANGUAGES = ("en", "fr", "de")
SIZES = {
    "train": 20_000,
    "validation": 500,
    "test": 1_000,
    "test_combinations": 500,
    "test_long": 300,
}


class Sentence(NamedTuple):
    """A sentence in three languages: a line of the corpus's file, without its split."""

    en: str  # blanks separate the tokens, punctuation included
    fr: str
    de: str
    en_fr: str  # the tokens (from 0) that mean the same: "0-0 1-2"
    en_de: str
    fr_de: str
    shown: str  # of grammar, names of `data/corpus/phenomena.tsv`: "NEGATION PAST"
    parse: str  # the tree of its English phrases, as `experiments.grammar.parse` writes it

    def text(self, lang: str) -> str:
        """Give its text in one of the languages."""
        return str(getattr(self, lang))

    def alignment(self, src_lang: str, tgt_lang: str) -> frozenset[tuple[int, int]]:
        """Give its links from the tokens of one language to those of another."""
        straight = f"{src_lang}_{tgt_lang}" in self._fields
        column = f"{src_lang}_{tgt_lang}" if straight else f"{tgt_lang}_{src_lang}"
        links = [map(int, link.split("-")) for link in getattr(self, column).split()]
        return frozenset((a, b) if straight else (b, a) for a, b in links)


@cache
def _corpus() -> dict[str, tuple[Sentence, ...]]:
    """Read every split from the file that `experiments.grammar.build` writes."""
    file = corpus_folder() / FILE
    splits: dict[str, list[Sentence]] = {name: [] for name in SIZES}
    for line in split_lines(gzip.decompress(file.read_bytes()).decode("utf-8")):
        split, *columns = line.split("\t")
        splits[split].append(Sentence(*columns))
    return {name: tuple(each) for name, each in splits.items()}


def sentences(split: str) -> Sequence[Sentence]:
    """Give the sentences of a split in three languages: the course's own corpus.

    Args:
        split: "train", "validation", "test", "test_combinations" (words that training never
            shows together, though it shows each) or "test_long" (longer than any of training).
    """
    if split not in SIZES:
        raise unknown_name("split", split, SIZES)
    return _corpus()[split]


def pairs(split: str, src_lang: str, tgt_lang: str) -> ParallelText:
    """Give a split in one of the six directions, with its gold alignments; see `sentences`."""
    chosen = sentences(split)
    langs = src_lang, tgt_lang
    src, tgt = ([as_written(each.text(lang), lang) for each in chosen] for lang in langs)
    return ParallelText(*langs, src, tgt, alignments=[each.alignment(*langs) for each in chosen])


def parses(split: str, src_lang: str, tgt_lang: str) -> ParallelText:
    """Give a split's English sentences and their trees, to be learned like a translation (§6.3)."""
    chosen = sentences(split)
    src = [as_written(each.en, "en") for each in chosen]
    return ParallelText(src_lang, tgt_lang, src, [each.parse for each in chosen])


def as_written(tokens: str, lang: str) -> str:
    """Join each punctuation mark to the word before it, but for the French question mark."""
    attached = ",." if lang == "fr" else ",.?"
    return re.sub(rf" (?=[{attached}])", "", tokens)
