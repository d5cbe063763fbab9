"""A user's text files: how they may be written, and which line of which file is refused."""

import bz2
import gzip
import io
import lzma
import zipfile
from pathlib import Path

import pytest

from transformer.data.text_files import (
    read_aligned_files,
    read_tab_separated_file,
    read_text_lines,
    shown_text,
)
from transformer.support.errors import UserError


def write(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def test_byte_order_marks_line_ends_and_a_missing_last_one_are_read(tmp_path: Path) -> None:
    for content in (
        "Добрий день\n\n猫\n",
        "Добрий день\n\n猫",
        "Добрий день\r\n\r\n猫\r\n",
        "\ufeffДобрий день\r\n\n猫",
    ):
        path = write(tmp_path, "text", content.encode())
        assert read_text_lines(path) == ["Добрий день", "", "猫"]


def test_a_bad_line_is_named_with_its_file(tmp_path: Path) -> None:
    for content, message in (
        (b"a\nb\xe9\n", r"line 2 of .*text is not UTF-8 \(byte 0xe9\): .*LATIN1"),
        (b"\xef\xbb\xbfa\nb\nc\xe9\n", r"line 3 of .*text is not UTF-8 \(byte 0xe9\)"),
        ("a\nb\n".encode("utf-16"), r"line 1 of .*text is not UTF-8 .*UTF-16"),
        ("a\nb\u2028c\n".encode(), r"line 2 of .*text holds U\+2028"),
        ("a\u2029\n".encode(), r"line 1 of .*text holds U\+2029"),
        (b"a\nb\rc\n", r"line 2 of .*text holds U\+000D"),
        (b"a\nb\n\0\n", r"line 3 of .*text holds U\+0000"),
        (b"", r"text is empty"),
        (b"\xef\xbb\xbf", r"text is empty"),
    ):
        with pytest.raises(UserError, match=message):
            read_text_lines(write(tmp_path, "text", content))
    for name, message in (("none", "no file .*none"), (".", "is a folder or a device")):
        with pytest.raises(UserError, match=message):
            read_text_lines(tmp_path / name)


def test_a_packed_file_is_refused_by_what_it_is(tmp_path: Path) -> None:
    with zipfile.ZipFile(archive := io.BytesIO(), "w") as opened:
        opened.writestr("document.xml", "Hello")
    for content, message in (
        (gzip.compress(b"Hello"), "packed by gzip: unpack it"),
        (bz2.compress(b"Hello"), "packed by bzip2: unpack it"),
        (lzma.compress(b"Hello"), "packed by xz: unpack it"),
        (archive.getvalue(), "a ZIP file, .* save it as plain text"),
    ):
        with pytest.raises(UserError, match=f"text is {message}"):
            read_text_lines(write(tmp_path, "text", content))


def test_two_files_have_equally_many_lines(tmp_path: Path) -> None:
    src, tgt = write(tmp_path, "a.en", b"a\tb\n\nc\n"), write(tmp_path, "a.uk", b"x\ny\nz")
    assert read_aligned_files(src, tgt) == [("a\tb", "x"), ("", "y"), ("c", "z")]
    write(tmp_path, "a.uk", b"x\ny\nz\nw")
    for pair in ((src, tgt), (tgt, src)):
        with pytest.raises(UserError, match=r"a\.en ends at line 3, and .*a\.uk has 4"):
            read_aligned_files(*pair)


def test_a_file_of_two_columns(tmp_path: Path) -> None:
    path = write(tmp_path, "pairs.tsv", "\ufeffa\tx\r\nb\t\r\n".encode())
    assert read_tab_separated_file(path) == [("a", "x"), ("b", "")]
    for line, count in ((b"b", "1 column:"), (b"b\ty\tby whom", "3 columns:")):
        write(tmp_path, "pairs.tsv", b"a\tx\n" + line)
        with pytest.raises(UserError, match=f"line 2 of .*pairs.tsv has {count} give two"):
            read_tab_separated_file(path)


def test_blank_lines_at_the_end_of_two_columns_are_no_pairs(tmp_path: Path) -> None:
    path = write(tmp_path, "pairs.tsv", b"a\tx\n\n \t\n\n")
    assert read_tab_separated_file(path) == [("a", "x")]
    write(tmp_path, "pairs.tsv", b"a\tx\n\nb\ty\n")
    with pytest.raises(UserError, match=r"line 2 of .* has 1 column"):
        read_tab_separated_file(path)


@pytest.mark.parametrize(
    ("lines", "pairs"),
    [
        pytest.param(['"a ""b"" c"\tx', 'd\t"y"'], [('a "b" c', "x"), ("d", "y")], id="doubled"),
        pytest.param(['"a"\t"x"', '"b"\t"y"'], [("a", "x"), ("b", "y")], id="all quoted"),
        pytest.param(['"a"\tx', "b\ty"], [('"a"', "x"), ("b", "y")], id="the text's own"),
        pytest.param(
            ['"a" said ""b""\tx', 'd\t"y"'],
            [('"a" said ""b""', "x"), ("d", '"y"')],
            id="no spreadsheet",
        ),
    ],
)
def test_quotes_of_a_spreadsheet_go_and_the_texts_own_stay(
    lines: list[str], pairs: list[tuple[str, str]], tmp_path: Path
) -> None:
    path = write(tmp_path, "pairs.tsv", "\n".join(lines).encode())
    assert read_tab_separated_file(path) == pairs


@pytest.mark.parametrize(
    ("text", "encoding", "named"),
    [
        ("Це файл, який не відкрити.\nOK\n", "cp1251", "CP1251"),
        ("Это файл, который не открыть.\nOK\n", "koi8-r", "KOI8-U"),
        ("Der Schlüssel für Grüße.\n", "latin-1", "LATIN1"),
        ("ファイルを開けません。\n", "shift_jis", "ITS_ENCODING"),
        ("Hello\n", "utf-16", "UTF-16"),
    ],
)
def test_the_encoding_to_convert_from_fits_the_bytes(
    text: str, encoding: str, named: str, tmp_path: Path
) -> None:
    path = write(tmp_path, "text", text.encode(encoding))
    with pytest.raises(UserError, match=f"iconv -f {named} -t UTF-8"):
        read_text_lines(path)


def test_shown_text_cannot_steer_a_terminal() -> None:
    assert shown_text("猫 ok\x1b[2J") == "猫 ok\ufffd[2J"
    assert shown_text("abcdef", max_characters=4) == "abc…"
