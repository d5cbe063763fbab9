"""A compiled gettext catalog (*.mo), read message by message.

Not in the paper. Python's `gettext` drops each msgid_plural and refuses a header in Latin-1, so the
file is read here, as the manual of GNU gettext describes it ("The Format of GNU MO Files").
"""

import codecs
import gettext
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from transformer.support.errors import UserError, require

MAX_MO_BYTES = 10**8  # of a file, and of all its strings
HEADER = struct.Struct("4s6I")  # magic number, version, messages, two tables, hash table
BYTE_ORDERS = {b"\xde\x12\x04\x95": "<", b"\x95\x04\x12\xde": ">"}  # by the magic number
CONTEXT_END = "\x04"  # between msgctxt and msgid
FORM_END = "\0"  # between msgid and msgid_plural, and between a translation's forms
ENGLISH_PLURAL = "n != 1"  # of a catalog that does not say


@dataclass(frozen=True)
class CatalogMessage:
    """A message without its context, and its translation."""

    sources: tuple[str, ...]  # msgid, and msgid_plural where there is one
    translations: tuple[str, ...]  # of a plural, one for each form
    singular_form: int  # index of the translation for the number 1


def read_mo_file(path: Path) -> list[CatalogMessage]:
    """Return the messages of a compiled catalog, but for its header.

    A UserError names the file, and the number of the message, from 1, that cannot be read.
    """
    entries = [*_byte_strings(path)]
    # The header translates the empty message.
    header = next((translation for source, translation in entries if not source), b"")
    charset = _charset_of_header(header, path)
    singular_form = singular_form_of_header(header, path)
    messages = []
    for number, (source, translation) in enumerate(entries, start=1):
        if not source:
            continue
        try:
            source_text, translation_text = source.decode(charset), translation.decode(charset)
        except UnicodeDecodeError as error:
            message = f"message {number} of {path} is not {charset}, which its header names"
            raise UserError(f"{message}: install its package anew") from error
        msgid = source_text.rpartition(CONTEXT_END)[2]
        sources = tuple(msgid.split(FORM_END))
        translations = tuple(translation_text.split(FORM_END))
        # Only a plural has forms.
        if len(sources) > 1 or len(translations) == 1:
            messages.append(CatalogMessage(sources, translations, singular_form))
    return messages


def _byte_strings(path: Path) -> Iterator[tuple[bytes, bytes]]:
    """Yield each message of a catalog and its translation, as the bytes in the file."""
    size = path.stat().st_size
    require(size <= MAX_MO_BYTES, f"{path} has {size:,} bytes: at most {MAX_MO_BYTES:,} are read")
    content = path.read_bytes()
    order = BYTE_ORDERS.get(content[:4])
    if order is None or len(content) < HEADER.size:
        raise UserError(f"{path} is no compiled catalog: its first bytes are {content[:4]!r}")
    header = struct.Struct(order + HEADER.format)
    _, version, num_messages, sources_at, translations_at, _, _ = header.unpack_from(content)
    message = f"{path} is in version {version >> 16} of its format: only 0 and 1 are known"
    require(version >> 16 <= 1, message)
    tables_end = max(sources_at, translations_at) + 8 * num_messages
    damaged = f"{path} is cut off or damaged: install its package anew"
    require(tables_end <= len(content), f"the table of messages is not in the file: {damaged}")
    sources = struct.iter_unpack(order + "2I", content[sources_at : sources_at + 8 * num_messages])
    translations = struct.iter_unpack(
        order + "2I", content[translations_at : translations_at + 8 * num_messages]
    )
    num_bytes = 0
    for number, pair in enumerate(zip(sources, translations, strict=True), start=1):
        # Entries may share bytes, so that a small file could hold many times its size.
        num_bytes += sum(length for length, _ in pair)
        is_whole = all(start + length <= len(content) for length, start in pair)
        require(is_whole, f"message {number} is not in the file: {damaged}")
        require(num_bytes <= MAX_MO_BYTES, f"message {number} lies over others: {damaged}")
        (length, start), (translation_length, translation_start) = pair
        yield (
            content[start : start + length],
            content[translation_start : translation_start + translation_length],
        )


def _charset_of_header(header: bytes, path: Path) -> str:
    """Return the encoding that a catalog's header names; UTF-8 if none."""
    named = re.search(rb"^Content-Type:.*charset=([^\s;]+)", header, re.MULTILINE | re.IGNORECASE)
    charset = named[1].decode("ascii", "replace") if named else "utf-8"
    try:
        codecs.lookup(charset)
        b"a".decode(charset)
    except LookupError as error:
        message = f"the header of {path} names an unknown encoding, {charset!r}"
        raise UserError(f"{message}: install its package anew") from error
    return charset


def singular_form_of_header(header: bytes, path: Path) -> int:
    """Return which of a plural's forms is for the number 1, by a catalog's Plural-Forms."""
    named = re.search(rb"^Plural-Forms:.*\bplural=([^;\n]+)", header, re.MULTILINE | re.IGNORECASE)
    expression = named[1].decode("ascii", "replace").strip() if named else ENGLISH_PLURAL
    try:
        return int(gettext.c2py(expression)(1))
    except (ValueError, ArithmeticError) as error:
        message = f"the header of {path} has Plural-Forms that cannot be read"
        raise UserError(f"{message} ({error}): mend it or leave the file out") from error
