"""A file or standard input as lines of text; what is typed or piped in comes line by line."""

import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from transformer.support.errors import UserError

MAX_LINES_PER_BLOCK = 512  # at most, translated together
MAX_BYTES_PER_READ = 1 << 16
MAX_LINE_BYTES = 1_000_000


def read_input_blocks(file: Path | None) -> Iterator[list[str]]:
    """Yield blocks of at most `MAX_LINES_PER_BLOCK` lines, of standard input as they come.

    Args:
        file: What is read; None is standard input.

    Raises:
        UserError: the file cannot be opened, or a line is too long or not UTF-8.
    """
    if file is None:
        if sys.stdin.isatty():
            end = "Ctrl-Z and Enter" if sys.platform == "win32" else "Ctrl-D"
            print(f"one sentence a line; end with {end}", file=sys.stderr)
        yield from _read_stream_blocks(cast(io.BufferedReader, sys.stdin.buffer))
        return
    try:
        stream = file.open("rb")
    except OSError as error:
        problem = f"{file} cannot be read ({error.strerror})"
        raise UserError(f"{problem}: name a file with one sentence a line") from error
    with stream:
        yield from _read_stream_blocks(stream)


def _read_stream_blocks(stream: io.BufferedReader) -> Iterator[list[str]]:
    """Yield the lines of a stream of bytes in blocks, as they come.

    Raises:
        UserError: a line is too long, or not UTF-8.
    """
    unfinished = b""  # the beginning of a line whose end is still to come
    number = 1  # of that line
    while chunk := stream.read1(MAX_BYTES_PER_READ):
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
            "save it as UTF-8"
        ) from error
