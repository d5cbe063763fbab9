"""The corpora by name: `load` a split, `fetch` the files, `verify` them (§5.1 names the paper's).

No torch in here, and nothing that is slow to import: the command line lists corpora with it.
"""

import gzip
from collections.abc import Callable
from pathlib import Path

from transformer.data import iwslt, tatoeba
from transformer.data.download import FileReport, State, obtain, report
from transformer.data.parallel import ParallelText, side_by_side, split_lines
from transformer.data.registry import CORPORA, Corpus, DataFile
from transformer.support.errors import UserError, unknown_name

__all__ = ["CORPORA", "Corpus", "DataFile", "FileReport", "State", "fetch", "load", "verify"]


def load(corpus: str | Corpus, split: str, src_lang: str, tgt_lang: str) -> ParallelText:
    """Load one split of a corpus in one direction, getting the files it needs.

    Not in the paper, which trains on WMT 2014 (§5.1): these corpora fit a course.
    Sentences are stripped, and blanks of other kinds (tab, no-break, thin) become plain ones.
    A pair with an empty side is dropped, in every split, and their number is logged.

    Args:
        corpus: A name in `CORPORA`, or such a corpus with other files or mirrors:
            `dataclasses.replace(CORPORA["multi30k"], mirrors=(...))`.
        split: One of the corpus's splits.
        src_lang, tgt_lang: One of its directions, as "de" and "en"; "tree" is a tree of phrases.

    Raises:
        UserError: A name is unknown, the corpus is not one that can be read here, a file
            cannot be had or is corrupted, the sides have different numbers of lines, or no
            pair is left.
    """
    corpus = _find(corpus)
    _check_readable(corpus)
    if split not in corpus.splits:
        raise unknown_name(f"split of {corpus.name}", split, corpus.splits)
    for language in (src_lang, tgt_lang):
        if language not in {code for pair in corpus.pairs for code in pair}:
            known = {code for pair in corpus.pairs for code in pair}
            raise unknown_name(f"language of {corpus.name}", language, known)
    if (src_lang, tgt_lang) not in corpus.pairs:
        known_pairs = ", ".join("-".join(pair) for pair in corpus.pairs)
        raise UserError(f"{corpus.name} has no {src_lang}-{tgt_lang}: give one of {known_pairs}")
    return _LOADERS[corpus.name](corpus, split, src_lang, tgt_lang)


def fetch(corpus: str | Corpus) -> list[Path]:
    """Make sure that every file of a corpus is there and right, downloading what is missing.

    Returns:
        The files' paths: none for the embedded corpus, the user's own for IWSLT.

    Raises:
        UserError: The name is unknown, or a file cannot be had or is corrupted.
    """
    corpus = _find(corpus)
    if corpus.name == "iwslt":
        return iwslt.sources(corpus)
    return [obtain(corpus, file) for file in corpus.files]


def verify(corpus: str | Corpus) -> list[FileReport]:
    """Check the sums of a corpus's files again, without downloading.

    Returns:
        For each file its path and whether it is ok or missing. None for the embedded corpus,
        which is not downloaded, and for IWSLT, whose archives have no known sums.

    Raises:
        UserError: The name is unknown, or files are corrupted (each is named).
    """
    corpus = _find(corpus)
    reports = [report(corpus, file) for file in corpus.files]
    bad = [str(r.path) for r in reports if r.state == State.CORRUPTED]
    if bad:
        raise UserError(
            f"corrupted: {', '.join(bad)}; delete and fetch {corpus.name} again "
            f"({len(bad)} of {len(reports)} files)"
        )
    return reports


def _find(corpus: str | Corpus) -> Corpus:
    if isinstance(corpus, Corpus):
        return corpus
    if corpus not in CORPORA:
        raise unknown_name("corpus", corpus, CORPORA)
    return CORPORA[corpus]


def _check_readable(corpus: Corpus) -> None:
    """Refuse a corpus of the user's own that names what its reader does not know."""
    known = CORPORA.get(corpus.name)
    if known is None:
        raise UserError(
            f"no reader for a corpus named {corpus.name!r}: alter one of "
            f"{', '.join(sorted(CORPORA))} with dataclasses.replace and keep its name, or make a "
            "ParallelText of your sentences yourself"
        )
    strange = [f"split {split!r}" for split in corpus.splits if split not in known.splits]
    strange += [f"direction {'-'.join(pair)}" for pair in corpus.pairs if pair not in known.pairs]
    if strange:
        raise UserError(
            f"{corpus.name}'s reader does not know the {strange[0]}: leave it out of the corpus"
        )


def _load_embedded(corpus: Corpus, split: str, src_lang: str, tgt_lang: str) -> ParallelText:
    from transformer.data.embedded import pairs

    return pairs(split, src_lang, tgt_lang)


def _load_parses(corpus: Corpus, split: str, src_lang: str, tgt_lang: str) -> ParallelText:
    from transformer.data.embedded import parses

    return parses(split)


def _load_multi30k(corpus: Corpus, split: str, src_lang: str, tgt_lang: str) -> ParallelText:
    stem = "val" if split == "validation" else split
    sides = []
    for language in (src_lang, tgt_lang):
        path = obtain(corpus, corpus.file(f"multi30k/{stem}.{language}.gz"))
        with gzip.open(path, "rt", encoding="utf-8", newline="\n") as stream:
            sides.append(split_lines(stream.read()))
    return side_by_side(f"{corpus.name} {split}", src_lang, tgt_lang, sides[0], sides[1])


_LOADERS: dict[str, Callable[[Corpus, str, str, str], ParallelText]] = {
    "embedded": _load_embedded,
    "parses": _load_parses,
    "multi30k": _load_multi30k,
    "tatoeba": tatoeba.load,
    "iwslt": iwslt.load,
}
