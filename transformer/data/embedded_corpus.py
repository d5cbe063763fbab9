"""The course's own corpus: sentences of a grammar in three languages, with gold alignments.

Not in the paper. `data/corpus/generator` writes its file.
"""

import copy
import gzip
import re
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from transformer.data.parallel import ParallelText, split_lines
from transformer.data.readers import Corpus, register_reader
from transformer.support.errors import require, unknown_name_error
from transformer.support.folders import embedded_corpus_folder
from transformer.support.signatures import check_argument_types

LANGUAGES = ("en", "fr", "de")
EMBEDDED_FILE_NAME = "sentences.tsv.gz"


class TrilingualSentence(NamedTuple):
    """A sentence of the embedded corpus: a line of its file, without the split."""

    en: str  # blanks separate the tokens, punctuation included
    fr: str
    de: str
    en_fr: str  # the tokens (from 0) that mean the same: "0-0 1-2"
    en_de: str
    fr_de: str
    phenomena: str  # of its grammar, as in `data/corpus/phenomena.tsv`: "NEGATION PAST"
    parse: str  # the tree of its English phrases, as `data.corpus.generator.parse` writes it

    def text(self, lang: str) -> str:
        """Return its text in one of the languages."""
        return str(getattr(self, lang))

    def alignment(self, src_lang: str, tgt_lang: str) -> frozenset[tuple[int, int]]:
        """Return its links from the tokens of one language to those of another."""
        if f"{src_lang}_{tgt_lang}" in self._fields:
            return frozenset(_parse_links(getattr(self, f"{src_lang}_{tgt_lang}")))
        links = _parse_links(getattr(self, f"{tgt_lang}_{src_lang}"))
        return frozenset((src, tgt) for tgt, src in links)


def _parse_links(column: str) -> list[tuple[int, int]]:
    """Return the two tokens of each link: of "0-0 1-2", (0, 0) and (1, 2)."""
    links = []
    for link in column.split():
        first, second = link.split("-")
        links.append((int(first), int(second)))
    return links


class EmbeddedCorpus:
    """The embedded corpus, read from its file when it is first asked for."""

    def __init__(self) -> None:
        self._pairs: dict[tuple[str, str, str], ParallelText] = {}  # as they were first read

    @cached_property
    def splits(self) -> dict[str, list[TrilingualSentence]]:
        """All of its sentences by split."""
        content = gzip.decompress((embedded_corpus_folder() / EMBEDDED_FILE_NAME).read_bytes())
        splits: dict[str, list[TrilingualSentence]] = {}
        for line in split_lines(content.decode("utf-8")):
            split, *columns = line.split("\t")
            splits.setdefault(split, []).append(TrilingualSentence(*columns))
        return splits

    @check_argument_types
    def sentences(self, split: str) -> Sequence[TrilingualSentence]:
        """Return the sentences of a split in three languages.

        "test_combinations" has words that training never shows together, though it shows each;
        "test_long" is longer than any of training.
        """
        if split not in self.splits:
            raise unknown_name_error("split", split, self.splits)
        return self.splits[split]

    @check_argument_types
    def pairs(self, split: str, src_lang: str, tgt_lang: str) -> ParallelText:
        """Return a split in one of the six directions, with its gold alignments."""
        for lang in (src_lang, tgt_lang):
            if lang not in LANGUAGES:
                raise unknown_name_error("language", lang, LANGUAGES)
        require(src_lang != tgt_lang, f"both languages are {src_lang!r}: give two")
        key = split, src_lang, tgt_lang
        if key not in self._pairs:
            self._pairs[key] = self._make_pairs(*key)
        return _copy_lists(self._pairs[key])

    def _make_pairs(self, split: str, src_lang: str, tgt_lang: str) -> ParallelText:
        """Return a split in one direction, which takes a second for the training text."""
        sentences = self.sentences(split)
        return ParallelText(
            src_lang,
            tgt_lang,
            src=[
                _attach_punctuation_marks(sentence.text(src_lang), src_lang)
                for sentence in sentences
            ],
            tgt=[
                _attach_punctuation_marks(sentence.text(tgt_lang), tgt_lang)
                for sentence in sentences
            ],
            alignments=[sentence.alignment(src_lang, tgt_lang) for sentence in sentences],
        )

    @check_argument_types
    def sentences_and_parses(self, split: str, src_lang: str, tgt_lang: str) -> ParallelText:
        """Return English sentences and their trees, to be learned like a translation (§6.3)."""
        sentences = self.sentences(split)
        src = [_attach_punctuation_marks(sentence.en, "en") for sentence in sentences]
        return ParallelText(src_lang, tgt_lang, src, [sentence.parse for sentence in sentences])


def _copy_lists(text: ParallelText) -> ParallelText:
    """Return a text with lists of its own, whose items were checked when it was made."""
    copied = copy.copy(text)
    for name in ("src", "tgt", "alignments"):
        object.__setattr__(copied, name, list(getattr(text, name)))
    return copied


@check_argument_types
def detokenize(tokens: str, lang: str) -> str:
    """Join each punctuation mark to the word before it, but for the French question mark."""
    return _attach_punctuation_marks(tokens, lang)


def _attach_punctuation_marks(tokens: str, lang: str) -> str:
    """Do what `detokenize` does, for the corpus's own text, whose types are known."""
    attached = ",." if lang == "fr" else ",.?"
    return re.sub(rf" (?=[{attached}])", "", tokens)


embedded = EmbeddedCorpus()


@register_reader("embedded")
def _read_embedded_pairs(corpus: Corpus, split: str, src_lang: str, tgt_lang: str) -> ParallelText:
    return embedded.pairs(split, src_lang, tgt_lang)


@register_reader("embedded parses")
def _read_embedded_parses(corpus: Corpus, split: str, src_lang: str, tgt_lang: str) -> ParallelText:
    return embedded.sentences_and_parses(split, src_lang, tgt_lang)
