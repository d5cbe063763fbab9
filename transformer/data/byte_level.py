"""Text as byte-pair encoding works on it: a blank before it, its bytes as letters.

The letters are those that GPT-2 writes bytes in, and Hugging Face's library after it.
"""

import re


def lowercase_and_add_blank(text: str, lowercase: bool) -> str:
    """Put the blank before a normalized text, lower-cased if asked for."""
    return " " + (text.lower() if lowercase else text)


def readable_piece(piece: bytes) -> str:
    """Write a piece for a reader: blanks as "▁", bytes that are no whole letter as "<0xC3>"."""
    text = piece.decode("utf-8", errors="surrogateescape").replace(" ", "▁")
    return re.sub("[\udc80-\udcff]", lambda match: f"<0x{ord(match[0]) - 0xDC00:02X}>", text)


def _make_byte_by_letter() -> dict[str, int]:
    """Return GPT-2's letter of each byte: itself if visible, else the next from U+0100 on."""
    visible = {*range(33, 127), *range(161, 173), *range(174, 256)}
    stand_ins = iter(range(256, 512))
    return {chr(byte if byte in visible else next(stand_ins)): byte for byte in range(256)}


BYTE_BY_LETTER = _make_byte_by_letter()
