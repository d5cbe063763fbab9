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
from pathlib import Path
from xml.etree import ElementTree

from transformer.data import embedded, parallel
from transformer.data.parallel import Pair, ParallelText, side_by_side, split_lines
from transformer.support.errors import UserError, unknown_name
from transformer.support.files import cache_folder, write_atomically

# Of a download: the largest file has 3 MB; a chunk is small, so that a slow server's time is seen.
MOST_BYTES, MOST_SECONDS, CHUNK = 10**8, 600, 1 << 8
SHUFFLE_SEED = 2017  # Tatoeba's file is sorted by length
IWSLT_FILES = {  # the two sets of XML are those that torchtext validates and tests on
    "train": "train.tags.{pair}.{lang}",
    "validation": "IWSLT16.TED.tst2013.{pair}.{lang}.xml",
    "test": "IWSLT16.TED.tst2014.{pair}.{lang}.xml",
}
TALK_LINE = re.compile(  # says something of a talk, between the sentences
    r"\s*</?(doc|url|keywords|talkid|speaker|reviewer|translator|title|description|transcript)\b"
)


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
    # Its files with their sha256; none of a corpus that is not downloaded.
    files: Mapping[str, str] = field(default_factory=dict)


_REGISTRY = tomllib.loads(Path(__file__).with_name("corpora.toml").read_text(encoding="utf-8"))
CORPORA = {name: Corpus(name=name, **entry) for name, entry in _REGISTRY.items()}


def find_corpus(name: str) -> Corpus:
    """Give the corpus of this name; a `UserError` gives the nearest one."""
    if name not in CORPORA:
        raise unknown_name("corpus", name, CORPORA)
    return CORPORA[name]


def default_split(corpus: str) -> str:
    """Name a corpus's first test set."""
    return next(split for split in find_corpus(corpus).splits if split.startswith("test"))


def load(corpus: str, split: str, src_lang: str, tgt_lang: str) -> ParallelText:
    """Load one split of a corpus in one direction, as `CORPORA` names them, getting its files.

    Blanks are plain, single ones. A pair with an empty side is dropped, and their number is logged.

    Raises:
        UserError: a name is unknown, a file cannot be had or read, the sides have different
            numbers of lines, or no pair is left.
    """
    found = find_corpus(corpus)
    if split not in found.splits:
        raise unknown_name(f"split of {corpus}", split, found.splits)
    if f"{src_lang}-{tgt_lang}" not in found.pairs:
        known = ", ".join(found.pairs)
        raise UserError(f"{corpus} has no {src_lang}-{tgt_lang}: give one of {known}")
    return _READERS[corpus](split, src_lang, tgt_lang)


# --- the files ----------------------------------------------------------------------------


def files_folder() -> Path:
    """Give the folder of the corpora's files: `TRANSFORMER_DATA`, the user's own, or the cache."""
    named = os.environ.get("TRANSFORMER_DATA")
    if named and not Path(named).expanduser().is_dir():
        raise UserError(f"TRANSFORMER_DATA is {named!r}, which is no folder: create it or unset it")
    return Path(named).expanduser() if named else cache_folder()


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
    if path.exists() and os.environ.get("TRANSFORMER_DATA"):
        raise UserError(f"{path} is not the publisher's, or damaged: remove it, or {remedy}")
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
    content, end = bytearray(), time.monotonic() + MOST_SECONDS
    with requests.get(address, stream=True, timeout=30) as answer:
        answer.raise_for_status()
        for chunk in answer.iter_content(CHUNK):
            content += chunk
            if len(content) > MOST_BYTES or time.monotonic() > end:
                raise ValueError(f"over {MOST_BYTES:,} bytes, or {MOST_SECONDS} seconds")
    return bytes(content)


# --- from files to parallel text ----------------------------------------------------------


def _read_multi30k(split: str, src_lang: str, tgt_lang: str) -> ParallelText:
    stem = "val" if split == "validation" else split
    files = [_obtain(CORPORA["multi30k"], f"{stem}.{lang}.gz") for lang in (src_lang, tgt_lang)]
    sides = (gzip.decompress(file.read_bytes()).decode("utf-8") for file in files)
    return side_by_side(src_lang, tgt_lang, *map(split_lines, sides))


def all_tatoeba_pairs() -> list[Pair]:
    """Read Tatoeba's pairs in the order of its file; of those that treatment makes equal, one."""
    with zipfile.ZipFile(_obtain(CORPORA["tatoeba"], "data.zip")) as archive:
        text = archive.read("data/eng-fra.txt").decode("utf-8")
    columns = (line.split("\t") for line in split_lines(text))
    return list(dict.fromkeys((parallel.english(en), parallel.french(fr)) for en, fr in columns))


def _read_tatoeba(split: str, src_lang: str, tgt_lang: str) -> ParallelText:
    """In train a sentence stands once with each of its translations, else once with all."""
    pairs = parallel.split_pairs(all_tatoeba_pairs())[split]
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


def _read_iwslt(split: str, src_lang: str, tgt_lang: str) -> ParallelText:
    """Read the user's own files, at any depth; those of either direction will do."""
    folder = files_folder() / "iwslt"
    known = {path.name: path for path in sorted(folder.rglob("*"))}
    for pair in (f"{src_lang}-{tgt_lang}", f"{tgt_lang}-{src_lang}"):
        names = [IWSLT_FILES[split].format(pair=pair, lang=lang) for lang in (src_lang, tgt_lang)]
        if known.keys() >= set(names):
            return side_by_side(src_lang, tgt_lang, *(_iwslt_lines(known[name]) for name in names))
    raise UserError(
        f"no files of {split}, {src_lang}-{tgt_lang}, which cannot be downloaded: put what your "
        f"archive of IWSLT 2016 holds (tar xzf de-en.tgz) into {folder}, or take another corpus "
        "(train ... --set corpus=multi30k)"
    )


def _iwslt_lines(path: Path) -> list[str]:
    """Read the sentences: lines between lines about a talk, or the `seg` elements of XML."""
    try:
        if path.suffix == ".xml":
            segments = ElementTree.fromstring(path.read_bytes()).iter("seg")
            return ["".join(segment.itertext()) for segment in segments]
        lines = split_lines(path.read_text(encoding="utf-8-sig"))
        return [line for line in lines if not TALK_LINE.match(line)]
    except (ElementTree.ParseError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read {path} ({error}): unpack your archive again") from error


_READERS: dict[str, Callable[[str, str, str], ParallelText]] = {
    "embedded": embedded.pairs,
    "parses": embedded.parses,
    "multi30k": _read_multi30k,
    "tatoeba": _read_tatoeba,
    "iwslt": _read_iwslt,
}
