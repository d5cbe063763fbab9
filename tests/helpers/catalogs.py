"""Compiled gettext catalogs, written for a test."""

import struct
from collections.abc import Mapping
from pathlib import Path

HEADER = "Content-Type: text/plain; charset=UTF-8\nPlural-Forms: nplurals=2; plural=(n != 1);\n"


def mo_bytes(
    messages: Mapping[str, str], header: str = HEADER, charset: str = "utf-8", order: str = "<"
) -> bytes:
    """Return a catalog of messages as msgfmt writes it, with two tables and no hash table."""
    pairs = sorted(
        (source.encode(charset), text.encode(charset)) for source, text in messages.items()
    )
    pairs.insert(0, (b"", header.encode(charset)))
    start = 28 + 16 * len(pairs)
    tables, strings = b"", b""
    for side in (0, 1):
        for pair in pairs:
            tables += struct.pack(f"{order}2I", len(pair[side]), start + len(strings))
            strings += pair[side] + b"\0"
    numbers = (0x950412DE, 0, len(pairs), 28, 28 + 8 * len(pairs), 0, start)
    return struct.pack(f"{order}7I", *numbers) + tables + strings


def write_catalog(
    folder: Path, lang: str, domain: str, messages: Mapping[str, str], header: str = HEADER
) -> Path:
    """Write a catalog to where programs look for it below a folder, and return its path."""
    path = folder / lang / "LC_MESSAGES" / f"{domain}.mo"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(mo_bytes(messages, header))
    return path
