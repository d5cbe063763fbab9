"""A user's own text files, line by line: what cannot be read for certain is refused by its line.

Not in the paper. No torch in here.
"""

import re
import string
import unicodedata
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Sequence
from pathlib import Path

from transformer.data.grouping import Pair
from transformer.data.parallel import split_lines
from transformer.support.errors import UserError, require
from transformer.support.progress import with_progress

# By the first bytes of a file.
REFUSED_FORMATS_BY_SIGNATURE = {
    b"\x1f\x8b": "packed by gzip: unpack it",
    b"BZh91AY&SY": "packed by bzip2: unpack it",
    b"\xfd7zXZ\0": "packed by xz: unpack it",
    b"PK\x03\x04": "a ZIP file, as .docx and .xlsx are: unpack it, or save it as plain text",
}

CYRILLIC_ENCODINGS = ("CP1251", "KOI8-U")
MAX_ENCODING_SAMPLE = 10_000  # bytes after one that is not UTF-8
QUOTED_FIELD = re.compile('"(?:[^"]|"")*"')  # as spreadsheets write it: a quote within is doubled


def require_nonempty_file(path: Path) -> None:
    """Raise a UserError unless a path is a file, and neither empty nor packed."""
    message = f"{path} is a folder or a device" if path.exists() else f"no file {path}"
    require(path.is_file(), f"{message}: give the name of a text file")
    require(path.stat().st_size > 0, f"{path} is empty: give a file with text")
    with path.open("rb") as file:
        beginning = file.read(max(map(len, REFUSED_FORMATS_BY_SIGNATURE)))
    for signature, problem in REFUSED_FORMATS_BY_SIGNATURE.items():
        require(not beginning.startswith(signature), f"{path} is {problem}")


def read_nonempty_bytes(path: Path) -> bytes:
    """Return what a file holds; a UserError as of `require_nonempty_file`."""
    require_nonempty_file(path)
    return path.read_bytes()


def read_text_lines(path: Path) -> list[str]:
    """Return the lines of a text file in UTF-8, without a byte order mark and line ends.

    Raises:
        UserError: it is no file, empty or not UTF-8; or a line holds NUL or a character at which
            other programs begin a new line, so that the lines' numbers would not be certain.
    """
    content = read_nonempty_bytes(path)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # The decoder counts from after the byte order mark, which holds no line feed.
        start = error.start + len(content) - len(error.object)
        number = content.count(b"\n", 0, start) + 1
        encoding = _likely_encoding(content, start)
        raise UserError(
            f"line {number} of {path} is not UTF-8 (byte {content[start]:#04x}): convert the file, "
            f"for example with iconv -f {encoding} -t UTF-8, or save it as UTF-8 in an editor"
        ) from error
    require(text != "", f"{path} is empty: give a file with text")
    lines = [line.removesuffix("\r") for line in split_lines(text)]
    shown = with_progress(lines, f"reading {path.name}", "lines")
    for number, line in enumerate(shown, start=1):
        if "\0" in line or line.splitlines() not in ([], [line]):
            raise UserError(
                f"line {number} of {path} holds {_first_line_break_code_point(line)}, where other "
                "programs see the end of a line or of the text: remove it, or convert the file to "
                "UTF-8 if it is in another encoding"
            )
    return lines


def _likely_encoding(content: bytes, start: int) -> str:
    """Return the name, for iconv, of the encoding of text whose byte at `start` is not UTF-8.

    It is "LATIN1" if most letters are ASCII, as in Latin script. If not, and most are small
    Cyrillic letters in one of `CYRILLIC_ENCODINGS`, it is that one: in the other they would be
    capitals. "ITS_ENCODING" stands for any other.
    """
    if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        return "UTF-16"
    sample = content[content.rfind(b"\n", 0, start) + 1 : start + MAX_ENCODING_SAMPLE]
    others = bytes(byte for byte in sample if byte >= 0x80)
    if len(others) <= sum(chr(byte) in string.ascii_letters for byte in sample):
        return "LATIN1"
    for encoding in CYRILLIC_ENCODINGS:
        text = others.decode(encoding, "replace")
        small = sum(
            character.islower() and "CYRILLIC" in unicodedata.name(character) for character in text
        )
        if 2 * small > len(text):
            return encoding
    return "ITS_ENCODING"


def _first_line_break_code_point(line: str) -> str:
    """Return "U+2028" of the first character that is NUL or ends a line for `str.splitlines`."""
    character = next(
        character for character in line if character == "\0" or character.splitlines() == [""]
    )
    return f"U+{ord(character):04X}"


def read_aligned_files(src: Path, tgt: Path) -> list[Pair]:
    """Return the pairs of two files whose lines translate each other; errors by file and line."""
    src_lines, tgt_lines = read_text_lines(src), read_text_lines(tgt)
    if len(src_lines) != len(tgt_lines):
        shorter, longer = (src, tgt) if len(src_lines) < len(tgt_lines) else (tgt, src)
        last = min(len(src_lines), len(tgt_lines))
        raise UserError(
            f"{shorter} ends at line {last:,}, and {longer} has "
            f"{max(len(src_lines), len(tgt_lines)):,}: line i of one must translate line i of "
            "the other, so give files of equally many lines"
        )
    return list(zip(src_lines, tgt_lines, strict=True))


def read_tab_separated_file(path: Path) -> list[Pair]:
    """Return the pairs of a file of two columns with a tab between them; errors by line.

    Blank lines at its end are no pairs. Quotes that a spreadsheet put around fields are removed.
    """
    lines = read_text_lines(path)
    while lines and not lines[-1].strip():
        lines.pop()
    pairs = []
    for number, line in enumerate(lines, start=1):
        columns = line.split("\t")
        if len(columns) != 2:
            count = "1 column" if len(columns) == 1 else f"{len(columns)} columns"
            raise UserError(
                f"line {number} of {path} has {count}: give two, with one tab between "
                "them (of more, cut -f1,2 takes the first two)"
            )
        pairs.append((columns[0], columns[1]))
    if _is_quoted_by_a_spreadsheet(pairs):
        pairs = [(_without_quotes(first), _without_quotes(second)) for first, second in pairs]
    return pairs


def _is_quoted_by_a_spreadsheet(pairs: Sequence[Pair]) -> bool:
    """Return whether quotes around fields are a spreadsheet's, and not the text's own.

    They are if every field that begins with a quote is quoted by a spreadsheet's rules, and either
    one of these holds a doubled quote or all fields are quoted.
    """
    fields = [field for pair in pairs for field in pair]
    quoted = [field for field in fields if field.startswith('"')]
    if not quoted or not all(QUOTED_FIELD.fullmatch(field) for field in quoted):
        return False
    return len(quoted) == len(fields) or any('""' in field[1:-1] for field in quoted)


def _without_quotes(field: str) -> str:
    """Return a field without the quotes around it, if there are any, and those within single."""
    return field[1:-1].replace('""', '"') if field.startswith('"') else field


def shown_text(text: str, max_characters: int = 100) -> str:
    """Return a text for a terminal: without control characters, and cut off where it is long."""
    visible = "".join(character if character.isprintable() else "\ufffd" for character in text)
    return visible if len(visible) <= max_characters else f"{visible[: max_characters - 1]}…"


def pairs_to_tab_separated_text(pairs: Sequence[Pair]) -> str:
    """Return the text of a file of two columns with a tab between them."""
    return "".join(f"{first}\t{second}\n" for first, second in pairs)
