"""Standard input as lines of text, which come as soon as they are typed or piped in."""

import io
import sys
from collections.abc import Iterator
from typing import cast

from transformer.support.errors import UserError

MAX_LINES_PER_BLOCK = 512  # at most, translated together
MAX_BYTES_PER_READ = 1 << 16
MAX_LINE_BYTES = 1_000_000


def read_standard_input_blocks() -> Iterator[list[str]]:
    """Yield the lines of standard input as they come, at most `MAX_LINES_PER_BLOCK` together.

    Raises:
        UserError: a line is too long, or not UTF-8.
    """
    if sys.stdin.isatty():
        print("one sentence a line; end with Ctrl-D", file=sys.stderr)
    stdin = cast(io.BufferedReader, sys.stdin.buffer)
    unfinished = b""  # the beginning of a line whose end is still to come
    number = 1  # of that line
    while chunk := stdin.read1(MAX_BYTES_PER_READ):
        *lines, unfinished = (unfinished + chunk).split(b"\n")
        for start in range(0, len(lines), MAX_LINES_PER_BLOCK):
            block = lines[start : start + MAX_LINES_PER_BLOCK]
            yield [_decode_line(line, number + start + i) for i, line in enumerate(block)]
        number += len(lines)
        if len(unfinished) > MAX_LINE_BYTES:
            raise UserError(
                f"line {number} of the input has over {MAX_LINE_BYTES:,} bytes: split it"
            )
    if unfinished:
        yield [_decode_line(unfinished, number)]


def _decode_line(line: bytes, number: int) -> str:
    """Return a line of UTF-8 as text; the first one may have a byte order mark."""
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise UserError(
            f"line {number} of the input is not UTF-8 (byte {line[error.start]:#04x}): "
            "convert it, for example with iconv -t UTF-8"
        ) from error
