"""IWSLT 2016, talks of TED: read from an archive of the user's own, in the official layout.

Its licence lets nobody hand it on changed, and its old address is dead: the user brings it.
The archive (2016-01.tgz, or de-en.tgz out of it) or its files go into the folder `iwslt`
below `TRANSFORMER_DATA` or the cache, at any depth. No sums of it are known; a compressed archive
has its own, and is read to the end so that it speaks. Loose files and a plain tar have none.
"""

import lzma
import re
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO
from xml.etree import ElementTree

from transformer.data.download import search_folders
from transformer.data.parallel import ParallelText, side_by_side, split_lines
from transformer.data.registry import Corpus
from transformer.support.errors import UserError

FILES = {  # split to file name; the two sets are those that torchtext validates and tests on
    "train": "train.tags.{pair}.{lang}",
    "validation": "IWSLT16.TED.tst2013.{pair}.{lang}.xml",
    "test": "IWSLT16.TED.tst2014.{pair}.{lang}.xml",
}
ARCHIVES = (".tgz", ".tar.gz", ".tar")
MOST_BYTES = 500_000_000  # of a file's text, or of an archive in the archive; the largest has 40 MB
BLOCK = 1 << 20  # bytes read at once where only a check sum is wanted
TAG_LINE = re.compile(
    r"\s*</?(doc|url|keywords|talkid|speaker|reviewer|translator|title|description|transcript)\b"
)


def load(corpus: Corpus, split: str, src_lang: str, tgt_lang: str) -> ParallelText:
    """Load a split of IWSLT 2016 in one direction; either direction's files will do.

    Not in the paper. validation is tst2013, test is tst2014.

    Args:
        corpus: The entry of the registry.
        split: "train", "validation" or "test".
        src_lang, tgt_lang: Of "de-en", "en-de", "fr-en", "en-fr".

    Raises:
        UserError: The files are nowhere, cannot be read, or do not match line by line.
    """
    for pair in (f"{src_lang}-{tgt_lang}", f"{tgt_lang}-{src_lang}"):
        names = [FILES[split].format(pair=pair, lang=lang) for lang in (src_lang, tgt_lang)]
        contents = _find(corpus, pair, names)
        if contents is None:
            continue
        title = f"iwslt {split} {pair}"
        read = train_lines if split == "train" else segments
        src, tgt = (read(content, name) for content, name in zip(contents, names, strict=True))
        return side_by_side(title, src_lang, tgt_lang, src, tgt)
    wanted = [
        FILES[split].format(pair=f"{src_lang}-{tgt_lang}", lang=x) for x in (src_lang, tgt_lang)
    ]
    raise _absent(corpus, f"{wanted[0]} and {wanted[1]}, or the archive {src_lang}-{tgt_lang}.tgz")


def sources(corpus: Corpus) -> list[Path]:
    """List the archives and the loose files that `load` would look into.

    Raises:
        UserError: There are none.
    """
    found = [path for folder in _folders(corpus) for path in sorted(folder.rglob("*"))]
    known = [
        path
        for path in found
        if path.name.endswith(ARCHIVES) or path.name.startswith(("train.tags.", "IWSLT16.TED."))
    ]
    if not known:
        raise _absent(corpus, "your archive of IWSLT 2016 (2016-01.tgz, or de-en.tgz out of it)")
    return known


def train_lines(content: bytes, name: str) -> list[str]:
    """Give the sentences of a `train.tags` file: its lines but those that tag a talk."""
    lines = split_lines(_decode(content, name))
    return [line for line in lines if not TAG_LINE.match(line)]


def segments(content: bytes, name: str) -> list[str]:
    """Give the sentences of a test set's XML, its `seg` elements in order."""
    try:
        root = ElementTree.fromstring(content)
    except (ElementTree.ParseError, LookupError, ValueError) as error:  # an encoding it knows not
        raise UserError(f"{name} is not well-formed XML ({error}): get it anew") from error
    return ["".join(segment.itertext()) for segment in root.iter("seg")]


def _folders(corpus: Corpus) -> list[Path]:
    return [f / "iwslt" for f in search_folders(corpus) if (f / "iwslt").is_dir()]


def _find(corpus: Corpus, pair: str, names: list[str]) -> list[bytes] | None:
    """Give the contents of the named files, all from one place, or None."""
    for folder in _folders(corpus):
        paths = sorted(folder.rglob("*"))
        loose = [next((path for path in paths if path.name == name), None) for name in names]
        if all(loose):
            return [_read(path) for path in loose if path is not None]
        for path in paths:
            if path.name.endswith(ARCHIVES) and not path.is_dir():
                contents = _from_archive(path, pair, names)
                if contents is not None:
                    return contents
    return None


def _read(path: Path) -> bytes:
    """Read a loose file; nothing else that has its name, for a pipe would be waited for."""
    _check_is_file(path)
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error


def _check_is_file(path: Path) -> None:
    if not path.is_file():
        raise UserError(
            f"{path} is no file (a folder, a pipe, or a link that leads to none): "
            "put the file itself there, or remove it"
        )


def _from_archive(path: Path, pair: str, names: list[str]) -> list[bytes] | None:
    """Read the named files out of an archive without unpacking it to disk."""
    _check_is_file(path)
    try:
        with path.open("rb") as stream:
            inner = {pair + ending for ending in ARCHIVES}
            held = dict(_members(stream, {*names}, inner))
    except (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, ValueError, OSError) as error:
        if isinstance(error, OSError) and error.errno:  # the disk's word, not the archive's
            raise UserError(f"cannot read {path}: {error.strerror}") from error
        raise UserError(f"{path} cannot be read as an archive ({error}): get it anew") from error
    return [held[name] for name in names] if held.keys() >= set(names) else None


def _members(stream: IO[bytes], names: set[str], inner: set[str]) -> Iterator[tuple[str, bytes]]:
    """Give name and content of the wanted files, also of those in the inner archives.

    Args:
        stream: An archive.
        names: Of the wanted files.
        inner: Names of archives to look into; in them no other is looked for.
    """
    with tarfile.open(fileobj=stream, mode="r:*") as archive:
        for member in archive:
            name = PurePosixPath(member.name).name
            content = archive.extractfile(member) if member.isreg() else None
            if content is None or name not in names | inner:
                continue
            if member.size > MOST_BYTES:
                raise ValueError(f"{name} has {member.size} bytes, more than {MOST_BYTES}")
            if name in inner:
                yield from _members(content, names, set())
            else:
                yield name, content.read()
        # The tar ends before the compressed stream does, and the check sum stands at its end.
        while archive.fileobj is not None and archive.fileobj.read(BLOCK):
            pass


def _decode(content: bytes, name: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"{name} is not UTF-8 (byte {error.start}): get it anew") from error


def _absent(corpus: Corpus, what: str) -> UserError:
    folder = search_folders(corpus)[0] / "iwslt"
    return UserError(
        f"no IWSLT text here, and it cannot be downloaded: put {what} into {folder}, or take "
        "another corpus (train ... --set corpus=multi30k)"
    )
