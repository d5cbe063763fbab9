"""The corpora by name: which there are, `load` a split, `fetch` the files.

Not in the paper, which trains on WMT 2014 (§5.1): these fit a course. No torch in here.
"""

import gzip
import hashlib
import os
import random
import re
import sys
import time
import tomllib
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from transformer.data.grouping import Pair, split_pairs
from transformer.data.normalizers import normalize_english, normalize_french
from transformer.data.parallel import ParallelText, parallel_text_from_lines, split_lines
from transformer.support.errors import UserError, require, unknown_name
from transformer.support.files import cache_folder, corpus_folder, write_atomically

# Of a download: the largest file has 3 MB; a chunk is small, so that a slow server's time is seen.
MAX_DOWNLOAD_BYTES, MAX_DOWNLOAD_SECONDS, CHUNK = 10**8, 600, 1 << 8
SHUFFLE_SEED = 2017  # Tatoeba's file is sorted by length
FILE = "sentences.tsv.gz"  # of the embedded corpus


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """A corpus, and where its text comes from: an entry of corpora.toml."""

    name: str  # as the recipes and the command line call it
    about: str  # one line for a list
    pairs: Sequence[str]  # directions: "de-en"
    splits: Sequence[str]  # what `load` gives
    licence: str
    citation: str
    address: str = ""  # of the publisher's folder
    files: Mapping[str, str] = field(default_factory=dict)  # what is downloaded, with sha256


_TABLES = tomllib.loads(Path(__file__).with_name("corpora.toml").read_text(encoding="utf-8"))
CORPORA = {name: Corpus(name=name, **table) for name, table in _TABLES.items()}


def find_corpus(name: str) -> Corpus:
    """Give the corpus of this name; a UserError names the nearest one."""
    if name not in CORPORA:
        raise unknown_name("corpus", name, CORPORA)
    return CORPORA[name]


def default_test_split(corpus: str) -> str:
    """Name a corpus's first test set."""
    return next(split for split in find_corpus(corpus).splits if split.startswith("test"))


def load(corpus: str, split: str, src_lang: str, tgt_lang: str) -> ParallelText:
    """Load one split of a corpus in one direction, as `CORPORA` names them, getting its files.

    Blanks are plain, single ones; pairs with an empty side are dropped, and counted in the log. A
    UserError where a name is unknown, a file cannot be had, or the sides do not fit each other.
    """
    found = find_corpus(corpus)
    if split not in found.splits:
        raise unknown_name(f"split of {corpus}", split, found.splits)
    message = f"{corpus} has no {src_lang}-{tgt_lang}: give one of {', '.join(found.pairs)}"
    require(f"{src_lang}-{tgt_lang}" in found.pairs, message)
    return _READERS[corpus](split, src_lang, tgt_lang)


# --- the files ----------------------------------------------------------------------------


def files_folder() -> Path:
    """Give the folder of the corpora's files: `TRANSFORMER_DATA`, the user's own, or the cache."""
    named = os.environ.get("TRANSFORMER_DATA")
    folder = Path(named).expanduser() if named else cache_folder()
    message = f"TRANSFORMER_DATA is {named!r}, which is no folder: create it or unset it"
    require(not named or folder.is_dir(), message)
    return folder


def fetch(name: str) -> list[Path]:
    """Give the files that a corpus downloads; a UserError where one cannot be had."""
    corpus = find_corpus(name)
    return [_obtain(corpus, file) for file in corpus.files]


def _obtain(corpus: Corpus, file: str) -> Path:
    """Give the path of a checked copy of a file, downloaded anew unless it is the user's own."""
    path, right_sum = files_folder() / corpus.name / file, corpus.files[file]
    remedy = f"put the right file there yourself (its sha256 is {right_sum})"
    if _is_right(path, right_sum):
        return path
    own = path.exists() and os.environ.get("TRANSFORMER_DATA")
    require(not own, f"{path} is not the publisher's, or damaged: remove it, or {remedy}")
    try:
        content = _download(corpus.address + file)
        if hashlib.sha256(content).hexdigest() != right_sum:
            raise ValueError(f"another file came, of {len(content):,} bytes")
    except (OSError, ValueError) as error:
        raise UserError(
            f"cannot get {path} from {corpus.address} ({error}): see to the network (https_proxy "
            f"and REQUESTS_CA_BUNDLE too, where they are set) and try again, or {remedy}"
        ) from error
    write_atomically(path, content)
    return path


def _is_right(path: Path, right_sum: str) -> bool:
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == right_sum


def verify(name: str) -> dict[Path, bool]:
    """Tell of each downloaded file of a corpus whether it is here, with the right sum."""
    folder, files = files_folder() / name, find_corpus(name).files
    return {folder / file: _is_right(folder / file, files[file]) for file in files}


def _download(address: str) -> bytes:
    """Read what an address holds, within bounds of size and time."""
    import requests

    print(f"downloading {address}", file=sys.stderr)
    content, end = bytearray(), time.monotonic() + MAX_DOWNLOAD_SECONDS
    with requests.get(address, stream=True, timeout=30) as answer:
        answer.raise_for_status()
        for chunk in answer.iter_content(CHUNK):
            content += chunk
            if len(content) > MAX_DOWNLOAD_BYTES or time.monotonic() > end:
                raise ValueError(
                    f"over {MAX_DOWNLOAD_BYTES:,} bytes, or {MAX_DOWNLOAD_SECONDS} seconds"
                )
    return bytes(content)


# --- from files to parallel text ----------------------------------------------------------


def _read_multi30k(split: str, src_lang: str, tgt_lang: str) -> ParallelText:
    stem = "val" if split == "validation" else split
    files = [_obtain(CORPORA["multi30k"], f"{stem}.{lang}.gz") for lang in (src_lang, tgt_lang)]
    return parallel_text_from_lines(src_lang, tgt_lang, *map(_gzip_lines, files))


def _gzip_lines(file: Path) -> list[str]:
    return split_lines(gzip.decompress(file.read_bytes()).decode("utf-8"))


def all_tatoeba_pairs() -> list[Pair]:
    """Read Tatoeba's pairs in the order of its file; of those that normalizing makes equal, one."""
    with zipfile.ZipFile(_obtain(CORPORA["tatoeba"], "data.zip")) as archive:
        text = archive.read("data/eng-fra.txt").decode("utf-8")
    columns = (line.split("\t") for line in split_lines(text))
    return list(dict.fromkeys((normalize_english(en), normalize_french(fr)) for en, fr in columns))


def _read_tatoeba(split: str, src_lang: str, tgt_lang: str) -> ParallelText:
    """In train a sentence stands once with each of its translations, else once with all."""
    pairs = split_pairs(all_tatoeba_pairs())[split]
    random.Random(SHUFFLE_SEED).shuffle(pairs)
    if src_lang == "fr":
        pairs = [(french, english) for english, french in pairs]
    if split == "train":
        src, tgt = zip(*pairs, strict=True)
        return ParallelText(src_lang, tgt_lang, src, tgt)
    accepted: dict[str, list[str]] = {}
    for source, translation in pairs:
        accepted.setdefault(source, []).append(translation)
    firsts = [translations[0] for translations in accepted.values()]
    return ParallelText(src_lang, tgt_lang, [*accepted], firsts, [*accepted.values()])


class Sentence(NamedTuple):
    """A sentence of the embedded corpus: a line of its file, without the split."""

    en: str  # blanks separate the tokens, punctuation included
    fr: str
    de: str
    en_fr: str  # the tokens (from 0) that mean the same: "0-0 1-2"
    en_de: str
    fr_de: str
    phenomena: str  # of grammar, names of `data/corpus/phenomena.tsv`: "NEGATION PAST"
    parse: str  # the tree of its English phrases, as `data.corpus.generator.parse` writes it

    def text(self, lang: str) -> str:
        """Give its text in one of the languages."""
        return str(getattr(self, lang))

    def alignment(self, src_lang: str, tgt_lang: str) -> frozenset[tuple[int, int]]:
        """Give its links from the tokens of one language to those of another."""
        straight = f"{src_lang}_{tgt_lang}" in self._fields
        column = f"{src_lang}_{tgt_lang}" if straight else f"{tgt_lang}_{src_lang}"
        links = [map(int, link.split("-")) for link in getattr(self, column).split()]
        return frozenset((a, b) if straight else (b, a) for a, b in links)


class Embedded:
    """The course's own corpus: sentences of a grammar in three languages, with gold alignments."""

    @cached_property
    def splits(self) -> dict[str, list[Sentence]]:
        """All of it, read from the file that `data.corpus.generator.build` writes."""
        splits: dict[str, list[Sentence]] = {}
        for line in _gzip_lines(corpus_folder() / FILE):
            split, *columns = line.split("\t")
            splits.setdefault(split, []).append(Sentence(*columns))
        return splits

    def sentences(self, split: str) -> Sequence[Sentence]:
        """Give the sentences of a split in three languages.

        "test_combinations" has words that training never shows together, though it shows each;
        "test_long" is longer than any of training.
        """
        if split not in self.splits:
            raise unknown_name("split", split, self.splits)
        return self.splits[split]

    def pairs(self, split: str, src_lang: str, tgt_lang: str) -> ParallelText:
        """Give a split in one of the six directions, with its gold alignments."""
        chosen, langs = self.sentences(split), (src_lang, tgt_lang)
        src, tgt = ([detokenize(each.text(lang), lang) for each in chosen] for lang in langs)
        links = [each.alignment(*langs) for each in chosen]
        return ParallelText(*langs, src, tgt, alignments=links)

    def parses(self, split: str, src_lang: str, tgt_lang: str) -> ParallelText:
        """Give English sentences and their trees, to be learned like a translation (§6.3)."""
        chosen = self.sentences(split)
        src = [detokenize(each.en, "en") for each in chosen]
        return ParallelText(src_lang, tgt_lang, src, [each.parse for each in chosen])


def detokenize(tokens: str, lang: str) -> str:
    """Join each punctuation mark to the word before it, but for the French question mark."""
    attached = ",." if lang == "fr" else ",.?"
    return re.sub(rf" (?=[{attached}])", "", tokens)


embedded = Embedded()
_READERS: dict[str, Callable[[str, str, str], ParallelText]] = {
    "embedded": embedded.pairs,
    "parses": embedded.parses,
    "multi30k": _read_multi30k,
    "tatoeba": _read_tatoeba,
}
