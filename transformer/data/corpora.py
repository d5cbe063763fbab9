"""The corpora by name: which there are, `load` a split, `fetch` the files.

Not in the paper, which trains on WMT 2014 (§5.1): these fit a course. No torch in here.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from transformer.data import embedded_corpus  # noqa: F401 (registers its readers)
from transformer.data.downloads import has_sha256
from transformer.data.grouping import Pair
from transformer.data.own_corpora import find_own_corpus, own_corpus_names
from transformer.data.parallel import ParallelText
from transformer.data.readers import READERS_BY_FORMAT, Corpus, read_two_column_pairs
from transformer.data.source_text import UNKNOWN_LICENCE
from transformer.support.errors import UserError, require, short_repr, unknown_name_error
from transformer.support.signatures import check_argument_types

_CORPUS_TABLES = tomllib.loads(Path(__file__).with_name("corpora.toml").read_text(encoding="utf-8"))
CORPUS_SUMS_KEY = "corpus_sha256"  # in the data.json of a run
CORPORA = {name: Corpus(name=name, **table) for name, table in _CORPUS_TABLES.items()}


@check_argument_types
def find_corpus(name: str) -> Corpus:
    """Return the corpus of this name, the course's or the user's own.

    A UserError where there is none names the nearest one.
    """
    corpus = CORPORA.get(name) or find_own_corpus(name)
    if corpus is None:
        raise unknown_name_error("corpus", name, [*CORPORA, *own_corpus_names()])
    return corpus


@check_argument_types
def all_corpora() -> list[Corpus]:
    """Return the course's corpora, then the user's own."""
    return [*CORPORA.values(), *(find_corpus(name) for name in own_corpus_names())]


@check_argument_types
def is_corpus(name: str) -> bool:
    """Return whether there is a corpus of this name on this computer."""
    return name in CORPORA or name in own_corpus_names()


@check_argument_types
def corpus_licence(name: str) -> str:
    """Return a corpus's licence; "not known" of one that is not on this computer."""
    return find_corpus(name).licence if is_corpus(name) else UNKNOWN_LICENCE


@check_argument_types
def default_test_split(corpus: str) -> str:
    """Return the name of a corpus's first test set."""
    return next(split for split in find_corpus(corpus).splits if split.startswith("test"))


@check_argument_types
def load(corpus: str, split: str, src_lang: str, tgt_lang: str) -> ParallelText:
    """Load one split of a corpus in one direction, as `CORPORA` names them, getting its files.

    Blanks are plain, single ones; pairs with an empty side are dropped, and counted in the log. A
    UserError where a name is unknown, a file cannot be had, or the sides do not fit each other.
    """
    return _read_split(find_corpus(corpus), split, src_lang, tgt_lang)


def _read_split(corpus: Corpus, split: str, src_lang: str, tgt_lang: str) -> ParallelText:
    """Read one split of a corpus in one direction (see `load`)."""
    if split not in corpus.splits:
        raise unknown_name_error(f"split of {corpus.name}", split, corpus.splits)
    directions = ", ".join(corpus.directions)
    direction = f"{src_lang}-{tgt_lang}"
    message = f"{corpus.name} has no {short_repr(direction)}: give one of {directions}"
    require(direction in corpus.directions, message)
    if corpus.format not in READERS_BY_FORMAT:
        raise unknown_name_error("format", corpus.format, READERS_BY_FORMAT)
    return READERS_BY_FORMAT[corpus.format](corpus, split, src_lang, tgt_lang)


@check_argument_types
def load_without_download(
    corpus: str, split: str, src_lang: str, tgt_lang: str
) -> ParallelText | None:
    """Load one split as `load` does; None where the corpus or its files are not on this computer.

    Files that are there and damaged count as not there.
    """
    if not is_corpus(corpus):
        return None
    try:
        return _read_split(replace(find_corpus(corpus), url=""), split, src_lang, tgt_lang)
    except UserError:
        return None


@check_argument_types
def read_unsplit_pairs(corpus: str) -> list[Pair]:
    """Return all pairs of a corpus that is one file of two columns, in its order."""
    return read_two_column_pairs(find_corpus(corpus))


@check_argument_types
def fetch(name: str) -> list[Path]:
    """Return the files that a corpus downloads; a UserError where one cannot be had."""
    corpus = find_corpus(name)
    return [corpus.download_if_missing(file) for file in corpus.files]


@check_argument_types
def corpus_sums(name: str) -> dict[str, str]:
    """Return the sha256 of each file of a corpus; of one that is made by code there are none."""
    return dict(find_corpus(name).files)


@check_argument_types
def changed_corpus_files(name: str, settings: Mapping[str, Any]) -> list[str]:
    """Return the files of a corpus that are others now than when a run was begun.

    `settings` are those of the run's data.json; earlier versions said nothing there.
    """
    before, now = settings.get(CORPUS_SUMS_KEY), corpus_sums(name)
    if not isinstance(before, Mapping):
        return []
    return [file for file in sorted({*before, *now}) if before.get(file) != now.get(file)]


@check_argument_types
def is_intact_by_file(name: str) -> dict[Path, bool]:
    """Return for each downloaded file of a corpus whether it is here, with the right sum."""
    corpus = find_corpus(name)
    return {path: has_sha256(path, corpus.files[file]) for file, path in corpus.paths().items()}
