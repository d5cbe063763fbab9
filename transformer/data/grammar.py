"""The embedded corpus: English, French and German sentences with their gold word alignments."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from zlib import crc32

from transformer.data.grammar_english import english
from transformer.data.grammar_french import french
from transformer.data.grammar_german import german
from transformer.data.grammar_lexicon import corpus_folder, lexicon
from transformer.data.grammar_phenomena import combinations, phenomena
from transformer.data.grammar_sentences import SentenceSampler
from transformer.data.grammar_tree import Phenomenon, Tree, Word
from transformer.data.parallel import ParallelText
from transformer.errors import UserError, unknown_name

__all__ = ["LANGUAGES", "SIZES", "Phenomenon", "Sentence", "corpus_folder", "counts", "pairs",
           "samples", "sentences"]

SEED = 2017
LANGUAGES = ("en", "fr", "de")
SIZES = {
    "train": 20_000,
    "validation": 500,
    "test": 1_000,
    "test_combinations": 500,
    "test_long": 300,
}
LONGEST_ORDINARY = 16
LONGEST = 25
HELD_OUT = 12  # one combination of two words in so many is kept out of training


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence in three languages.

    Attributes:
        en, fr, de: Its text; blanks separate the tokens, punctuation included.
        links: For "en-fr", "en-de", "fr-de" the pairs of tokens (from 0) that mean the same.
        phenomena: What it shows of grammar.
    """

    en: str
    fr: str
    de: str
    links: dict[str, frozenset[tuple[int, int]]]
    phenomena: frozenset[Phenomenon]

    def text(self, lang: str) -> str:
        """Give its text in one of the languages."""
        return {"en": self.en, "fr": self.fr, "de": self.de}[lang]

    def alignment(self, src_lang: str, tgt_lang: str) -> frozenset[tuple[int, int]]:
        """Give its links from the tokens of one language to those of another."""
        straight = self.links.get(f"{src_lang}-{tgt_lang}")
        if straight is not None:
            return straight
        return frozenset((b, a) for a, b in self.links[f"{tgt_lang}-{src_lang}"])


def _capital(words: list[Word]) -> list[str]:
    first, *rest = (each.text for each in words)
    return [first[0].upper() + first[1:], *rest]


def _links(src: list[Word], tgt: list[Word]) -> frozenset[tuple[int, int]]:
    where: dict[int, list[int]] = {}
    for index, each in enumerate(tgt):
        for key in each.keys:
            where.setdefault(key, []).append(index)
    return frozenset(
        (index, other) for index, each in enumerate(src) for key in each.keys for other in where.get(key, ())
    )


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


@cache
def _corpus() -> dict[str, tuple[Sentence, ...]]:
    """Draw every split from one seed, the tests first."""
    sampler, found = SentenceSampler(lexicon(), Random(SEED)), _Collector()
    while found.open("test_long"):
        tree = sampler.long()
        if tree is not None and not _held_out(tree):
            sentence = _sentence(tree)
            shortest, longest = _length(sentence)
            if LONGEST_ORDINARY < shortest and longest <= LONGEST:
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
    return {name: tuple(each) for name, each in found.splits.items()}


def sentences(split: str) -> Sequence[Sentence]:
    """Give the sentences of a split in three languages.

    Not in the paper: the course's own corpus.

    Args:
        split: "train", "validation", "test", "test_combinations" (words that training never
            shows together, though it shows each) or "test_long" (longer than any of training).

    Raises:
        UserError: There is no such split.
    """
    if split not in SIZES:
        raise unknown_name("split", split, SIZES)
    return _corpus()[split]


def pairs(split: str, src_lang: str, tgt_lang: str) -> ParallelText:
    """Give a split in one of the six directions, with its gold alignments.

    Not in the paper: the course's own corpus.

    Args:
        split: As for `sentences`.
        src_lang, tgt_lang: Two of "en", "fr", "de".

    Raises:
        UserError: There is no such split or language, or the languages are the same.
    """
    for lang in (src_lang, tgt_lang):
        if lang not in LANGUAGES:
            raise unknown_name("language", lang, LANGUAGES)
    if src_lang == tgt_lang:
        raise UserError(
            f"src_lang and tgt_lang are both {src_lang!r}: choose two of {', '.join(LANGUAGES)}"
        )
    chosen = sentences(split)
    return ParallelText(
        src_lang=src_lang,
        tgt_lang=tgt_lang,
        src=[sentence.text(src_lang) for sentence in chosen],
        tgt=[sentence.text(tgt_lang) for sentence in chosen],
        alignments=[sentence.alignment(src_lang, tgt_lang) for sentence in chosen],
    )


def counts(split: str) -> dict[Phenomenon, int]:
    """Count the sentences of a split that show each phenomenon.

    Not in the paper: the course's own corpus.
    """
    shown = Counter(each for sentence in sentences(split) for each in sentence.phenomena)
    return {phenomenon: shown[phenomenon] for phenomenon in Phenomenon}


def samples(phenomenon: Phenomenon, count: int) -> list[Sentence]:
    """Give the first test sentences that show a phenomenon, those with the fewest others.

    Not in the paper: the course's own corpus.

    Args:
        phenomenon: What the sentences are to show.
        count: How many, at most.
    """
    showing = [sentence for sentence in sentences("test") if phenomenon in sentence.phenomena]
    return sorted(showing, key=lambda sentence: len(sentence.phenomena))[:count]
