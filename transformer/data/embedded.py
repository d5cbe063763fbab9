"""The embedded corpus: English, French and German sentences with their gold word alignments."""

import gzip
import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from transformer.data.parallel import ParallelText, split_lines
from transformer.support.errors import UserError, unknown_name
from transformer.support.files import corpus_folder

FILE = "sentences.tsv.gz"
SUM = f"{FILE}.sha256"  # its check sum, as `sha256sum` writes it
LANGUAGES = ("en", "fr", "de")
SIZES = {
    "train": 20_000,
    "validation": 500,
    "test": 1_000,
    "test_combinations": 500,
    "test_long": 300,
}


class Phenomenon(StrEnum):
    """What a sentence shows of the grammar of its three languages."""

    AGREEMENT = "agreement of gender and number"
    ADJECTIVE = "adjective: its place in French, its ending in German"
    NEGATION = "negation: not, ne ... pas, nicht or kein"
    VERB_SECOND = "German verb second after a fronted part"
    VERB_FINAL = "German verb final in a subordinate clause"
    SEPARABLE = "German separable verb"
    MODAL = "modal verb"
    PAST = "past tense"
    CASE = "German accusative or dative article"
    PRONOUN = "personal pronoun"
    POSSESSIVE = "possessive"
    REFLEXIVE = "reflexive verb"
    RELATIVE = "relative clause"
    QUESTION = "question"
    COORDINATION = "coordination"
    NUMBER = "number"


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence in three languages.

    Attributes:
        en, fr, de: Its text; blanks separate the tokens, punctuation included.
        links: For "en-fr", "en-de", "fr-de" the tokens (from 0) that mean the same: "0-0 1-2".
        phenomena: What it shows of grammar.
        parse: The tree of its English phrases, as `parse` writes it.
    """

    en: str
    fr: str
    de: str
    links: dict[str, str]
    phenomena: frozenset[Phenomenon]
    parse: str

    def text(self, lang: str) -> str:
        """Give its text in one of the languages."""
        return {"en": self.en, "fr": self.fr, "de": self.de}[lang]

    def alignment(self, src_lang: str, tgt_lang: str) -> frozenset[tuple[int, int]]:
        """Give its links from the tokens of one language to those of another."""
        straight = f"{src_lang}-{tgt_lang}" in self.links
        text = self.links[f"{src_lang}-{tgt_lang}" if straight else f"{tgt_lang}-{src_lang}"]
        links = (link.split("-") for link in text.split())
        ends = ((int(a), int(b)) for a, b in links)
        return frozenset(ends if straight else ((b, a) for a, b in ends))


@cache
def _corpus() -> dict[str, tuple[Sentence, ...]]:
    """Read every split from the file that `experiments.grammar.build` writes."""
    splits: dict[str, list[Sentence]] = {name: [] for name in SIZES}
    for line in split_lines(gzip.decompress(_checked()).decode("utf-8")):
        split, en, fr, de, en_fr, en_de, fr_de, shown, parse = line.split("\t")
        phenomena = frozenset(Phenomenon[name] for name in shown.split())
        links = {"en-fr": en_fr, "en-de": en_de, "fr-de": fr_de}
        splits[split].append(Sentence(en, fr, de, links, phenomena, parse))
    return {name: tuple(each) for name, each in splits.items()}


def _checked() -> bytes:
    """Read the corpus's file, if it is what its check sum says."""
    file, expected = corpus_folder() / FILE, corpus_folder() / SUM
    try:
        content, said = file.read_bytes(), expected.read_bytes()
    except OSError as error:
        raise UserError(
            f"cannot read {error.filename} ({error.strerror}): get it again with git checkout"
        ) from error
    if said != sum_line(content):
        raise UserError(
            f"{file} is corrupted (its sha256 is not that of {SUM}): get both again with git "
            "checkout, or draw the corpus anew with python -m experiments corpus"
        )
    return content


def sum_line(content: bytes) -> bytes:
    """Give the line of `SUM` for a corpus's file, as `sha256sum` writes it."""
    return f"{hashlib.sha256(content).hexdigest()}  {FILE}\n".encode()


def sentences(split: str) -> Sequence[Sentence]:
    """Give the sentences of a split in three languages.

    Not in the paper: the course's own corpus.

    Args:
        split: "train", "validation", "test", "test_combinations" (words that training never
            shows together, though it shows each) or "test_long" (longer than any of training).

    Raises:
        UserError: There is no such split, or the corpus's file is missing or corrupted.
    """
    if split not in SIZES:
        raise unknown_name("split", split, SIZES)
    return _corpus()[split]


def pairs(split: str, src_lang: str, tgt_lang: str) -> ParallelText:
    """Give a split in one of the six directions, with its gold alignments; see `sentences`."""
    chosen = sentences(split)
    return ParallelText(
        src_lang=src_lang,
        tgt_lang=tgt_lang,
        src=[as_written(sentence.text(src_lang), src_lang) for sentence in chosen],
        tgt=[as_written(sentence.text(tgt_lang), tgt_lang) for sentence in chosen],
        alignments=[sentence.alignment(src_lang, tgt_lang) for sentence in chosen],
    )


def parses(split: str) -> ParallelText:
    """Give a split's English sentences and their trees, to be learned like a translation (§6.3)."""
    chosen = sentences(split)
    return ParallelText(
        src_lang="en",
        tgt_lang="tree",
        src=[as_written(sentence.en, "en") for sentence in chosen],
        tgt=[sentence.parse for sentence in chosen],
    )


def as_written(tokens: str, lang: str) -> str:
    """Join each punctuation mark to the word before it, but for the French question mark."""
    attached = ",." if lang == "fr" else ",.?"
    return re.sub(rf" (?=[{attached}])", "", tokens)


def counts(split: str) -> dict[Phenomenon, int]:
    """Count the sentences of a split that show each phenomenon."""
    shown = Counter(each for sentence in sentences(split) for each in sentence.phenomena)
    return {phenomenon: shown[phenomenon] for phenomenon in Phenomenon}


def samples(phenomenon: Phenomenon, count: int) -> list[Sentence]:
    """Give the first `count` test sentences that show a phenomenon, of few others first."""
    showing = [sentence for sentence in sentences("test") if phenomenon in sentence.phenomena]
    return sorted(showing, key=lambda sentence: len(sentence.phenomena))[:count]
