"""What a corpus is, and the readers of its files: one for each `format` of corpora.toml.

Not in the paper. Another format is a function with `@register_reader("its name")` above it.
"""

import gzip
import io
import random
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from transformer.data.downloads import corpus_files_folder, download_if_missing, has_sha256
from transformer.data.grouping import Pair, split_pairs
from transformer.data.normalizers import NORMALIZERS, normalizer_name_of_language
from transformer.data.parallel import ParallelText, parallel_text_from_lines
from transformer.support.errors import require

SHUFFLE_WITHIN_SPLIT_SEED = 2017  # a split's pairs are shuffled: Tatoeba's file is sorted by length


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """A corpus, and where its text comes from: an entry of corpora.toml."""

    name: str  # as the recipes and the command line call it
    about: str  # one line for a list
    directions: Sequence[str]  # "de-en"
    splits: Sequence[str]  # the names that `corpora.load` takes
    licence: str
    citation: str
    format: str  # the name of its reader
    options: Mapping[str, str] = field(default_factory=dict)  # what this reader wants to know
    # The publisher's folder, with a slash at its end; without it, files are the user's own.
    url: str = ""
    files: Mapping[str, str] = field(default_factory=dict)  # with their sha256
    folder: Path | None = None  # of the files; None: one of its name, among the downloads

    def paths(self) -> dict[str, Path]:
        """Return where each file is, whether it is there or not."""
        folder = self.folder or corpus_files_folder() / self.name
        return {file: folder / file for file in self.files}

    def has_intact_files(self, split: str, langs: Sequence[str]) -> bool:
        """Return whether a split's files in these languages are here, unchanged.

        They are those that the option `file` names; all, of a reader that has no such option.
        """
        names = set(self.files)
        if "file" in self.options:
            names = {self.file_of_split(split, lang) for lang in langs}
        paths = self.paths()
        return all(name in paths and has_sha256(paths[name], self.files[name]) for name in names)

    def file_of_split(self, split: str, lang: str = "") -> str:
        """Return the name of a split's file, of the side in a language if each has its own."""
        split_name = self.options.get(split, split)
        return self.options["file"].format(split=split_name, lang=lang)

    def download_if_missing(self, file: str) -> Path:
        """Return the path of one of the files, downloaded if it is not there."""
        url = f"{self.url}{file}" if self.url else ""
        return download_if_missing(self.paths()[file], url, self.files[file])


Reader = Callable[[Corpus, str, str, str], ParallelText]  # (corpus, split, src_lang, tgt_lang)
READERS_BY_FORMAT: dict[str, Reader] = {}


def register_reader(format: str) -> Callable[[Reader], Reader]:
    """Register the decorated function as the reader of a format."""

    def register(function: Reader) -> Reader:
        READERS_BY_FORMAT[format] = function
        return function

    return register


@register_reader("lines")
def read_line_aligned_files(
    corpus: Corpus, split: str, src_lang: str, tgt_lang: str
) -> ParallelText:
    """Read one file per split and language, whose lines translate each other.

    Options: `file` is the pattern of their names, "{split}.{lang}.gz"; a split that is called
    otherwise there has an option of its own name: validation = "val".
    """
    src = _read_side(corpus, split, src_lang)
    tgt = _read_side(corpus, split, tgt_lang)
    return parallel_text_from_lines(src_lang, tgt_lang, src, tgt)


def _read_side(corpus: Corpus, split: str, lang: str) -> list[str]:
    return list(_read_lines(corpus.download_if_missing(corpus.file_of_split(split, lang))))


@register_reader("pairs")
def read_split_of_pairs(corpus: Corpus, split: str, src_lang: str, tgt_lang: str) -> ParallelText:
    """Read one file of sentence pairs, and split it so that nothing leaks (see `split_pairs`).

    In train a sentence stands once with each of its translations, else once with all. The options
    are those of `read_two_column_pairs`.
    """
    pairs = split_pairs(read_two_column_pairs(corpus))[split]
    random.Random(SHUFFLE_WITHIN_SPLIT_SEED).shuffle(pairs)
    return _parallel_text_from_pairs(corpus, pairs, split, src_lang, tgt_lang)


@register_reader("split pairs")
def read_file_of_split(corpus: Corpus, split: str, src_lang: str, tgt_lang: str) -> ParallelText:
    """Read one file of sentence pairs per split, as a user's own corpus has them.

    In train a sentence stands once with each of its translations, else once with all. Options:
    `file` is the pattern of their names, "{split}.tsv", and `languages` those of the columns.
    """
    file = corpus.file_of_split(split)
    path = corpus.paths()[file]
    message = (
        f"{path} is missing or damaged: copy it again, or remove {corpus.name} and add it anew"
    )
    require(has_sha256(path, corpus.files[file]), message)
    pairs = ((first, second) for first, second in (line.split("\t") for line in _read_lines(path)))
    return _parallel_text_from_pairs(corpus, pairs, split, src_lang, tgt_lang)


def _parallel_text_from_pairs(
    corpus: Corpus, pairs: Iterable[Pair], split: str, src_lang: str, tgt_lang: str
) -> ParallelText:
    """Return pairs in one direction; a held-out sentence stands once, with all references."""
    if src_lang != _language_pair(corpus)[0]:
        pairs = ((second, first) for first, second in pairs)
    if split == "train":
        src, tgt = [], []
        for source, translation in pairs:
            src.append(source)
            tgt.append(translation)
        return ParallelText(src_lang, tgt_lang, src, tgt)
    accepted: dict[str, list[str]] = {}
    for source, translation in pairs:
        accepted.setdefault(source, []).append(translation)
    return ParallelText(
        src_lang,
        tgt_lang,
        src=list(accepted),
        tgt=[translations[0] for translations in accepted.values()],
        references=list(accepted.values()),
    )


def read_two_column_pairs(corpus: Corpus) -> list[Pair]:
    """Read all sentence pairs in the order of their file, normalized; equal ones stand once.

    Options: `file` holds two columns with a tab between them, in the languages `languages`,
    "en-fr"; `member` is its name where `file` is a zip archive. Pairs with an empty side are
    dropped.
    """
    message = f"corpus {corpus.name} is no file of pairs: give one whose format is pairs"
    require("languages" in corpus.options, message)
    file = corpus.download_if_missing(corpus.options["file"])
    first_lang, second_lang = _language_pair(corpus)
    normalize_first = NORMALIZERS[normalizer_name_of_language(first_lang)]
    normalize_second = NORMALIZERS[normalizer_name_of_language(second_lang)]
    pairs: dict[Pair, None] = {}  # in order, each once
    lines = _read_lines(file, corpus.options.get("member"))
    for number, line in enumerate(lines, start=1):
        columns = line.split("\t")
        message = f"line {number} of {file} has {len(columns)} columns: give it two"
        require(len(columns) == 2, message)
        pair = normalize_first(columns[0]), normalize_second(columns[1])
        if all(pair):
            pairs[pair] = None
    return list(pairs)


def _language_pair(corpus: Corpus) -> list[str]:
    return corpus.options["languages"].split("-")


def _read_lines(path: Path, member: str | None = None) -> Iterator[str]:
    """Yield the lines of a plain file, of a .gz, or of a member of a zip archive, in UTF-8.

    They end at line feeds alone: U+2028 and its like stand inside sentences.
    """
    with ExitStack() as opened:
        content: IO[bytes] | gzip.GzipFile
        if member is not None:
            archive = opened.enter_context(zipfile.ZipFile(path))
            content = opened.enter_context(archive.open(member))
        elif path.suffix == ".gz":
            content = opened.enter_context(gzip.open(path))
        else:
            content = opened.enter_context(path.open("rb"))
        text = io.TextIOWrapper(content, encoding="utf-8", newline="\n")
        for line in opened.enter_context(text):
            yield line.removesuffix("\n")
