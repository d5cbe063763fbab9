"""Compiled catalogs: every message is read, as Python's gettext reads it, or is named."""

import gettext
import io
import struct
from pathlib import Path

import pytest

from tests.helpers.catalogs import HEADER, mo_bytes
from transformer.data.mo_files import CatalogMessage, read_mo_file
from transformer.support.errors import UserError

MESSAGES = {
    "Open the file": "Відкрити файл",
    "menu\x04Open": "Відчинити",
    "%d file\0%d files": "%d файл\0%d файли\0%d файлів",
    "two\nlines": "два\nрядки",
    "untranslated": "",
}
SLAVIC = HEADER.replace(
    "nplurals=2; plural=(n != 1)",
    "nplurals=3; plural=n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 ? 1 : 2",
)


def read(folder: Path, content: bytes) -> list[CatalogMessage]:
    path = folder / "domain.mo"
    path.write_bytes(content)
    return read_mo_file(path)


@pytest.mark.parametrize("order", ["<", ">"])
def test_messages_are_those_of_gettext_in_both_byte_orders(tmp_path: Path, order: str) -> None:
    content = mo_bytes(MESSAGES, SLAVIC, order=order)
    messages = {message.sources: message for message in read(tmp_path, content)}
    expected = gettext.GNUTranslations(io.BytesIO(content))
    for sources in (("Open the file",), ("two\nlines",)):
        assert messages[sources].translations == (expected.gettext(sources[0]),)
    assert messages[("Open",)].translations == (expected.pgettext("menu", "Open"),)
    plural = messages["%d file", "%d files"]
    assert set(plural.translations) == {
        expected.ngettext("%d file", "%d files", number) for number in range(9)
    }
    singular = expected.ngettext("%d file", "%d files", 1)
    assert plural.translations[plural.singular_form] == singular
    assert messages[("untranslated",)].translations == ("",)
    assert len(messages) == len(MESSAGES)


def test_the_form_for_one_is_by_the_header(tmp_path: Path) -> None:
    arabic = HEADER.replace("nplurals=2; plural=(n != 1)", "nplurals=3; plural=n==0?0:n==1?1:2")
    for header, form in ((HEADER, 0), (arabic, 1), ("Content-Type: charset=UTF-8\n", 0)):
        assert {
            message.singular_form for message in read(tmp_path, mo_bytes(MESSAGES, header))
        } == {form}


def test_a_header_in_latin1_is_read(tmp_path: Path) -> None:
    header = "Last-Translator: Ralf Bächle\nContent-Type: text/plain; charset=iso-8859-1\n"
    content = mo_bytes({"the key of it": "der Schlüssel"}, header, charset="latin-1")
    with pytest.raises(UnicodeDecodeError):
        gettext.GNUTranslations(io.BytesIO(content))
    assert read(tmp_path, content)[0].translations == ("der Schlüssel",)


def replaced(content: bytes, position: int, number: int) -> bytes:
    """The bytes with another number at a position."""
    return content[:position] + struct.pack("<I", number) + content[position + 4 :]


def test_a_damaged_catalog_is_refused_by_name_and_message(tmp_path: Path) -> None:
    sound = mo_bytes(MESSAGES)
    length_of_third = 28 + 8 * 2
    for content, message in (
        (b"", r"domain\.mo is no compiled catalog"),
        (b'msgid "not compiled"\nmsgstr "..."\n', r"domain\.mo is no compiled catalog"),
        (sound[:40], r"the table of messages .*domain\.mo is cut off"),
        (replaced(sound, 8, 2**31), r"the table of messages .*domain\.mo is cut off"),
        (sound[:-60], r"message \d of .*domain\.mo|message \d is not in the file: .*domain\.mo"),
        (replaced(sound, length_of_third, 10**6), r"message 3 is not in the file: .*domain\.mo"),
        (replaced(sound, 4, 7 << 16), r"domain\.mo is in version 7"),
        (mo_bytes(MESSAGES, HEADER.replace("UTF-8", "UTF-7000")), "unknown encoding, 'UTF-7000'"),
        (mo_bytes(MESSAGES, HEADER.replace("UTF-8", "ascii")), r"message 2 of .*is not ascii"),
        (mo_bytes(MESSAGES, HEADER.replace("n != 1", "print")), "Plural-Forms that cannot be read"),
        (mo_bytes(MESSAGES, HEADER.replace("n != 1", "n % 0")), "Plural-Forms that cannot be read"),
    ):
        with pytest.raises(UserError, match=message) as refused:
            read(tmp_path, content)
        assert "\n" not in str(refused.value)


def test_strings_that_share_bytes_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = mo_bytes(MESSAGES)
    monkeypatch.setattr("transformer.data.mo_files.MAX_MO_BYTES", len(content))
    assert len(read(tmp_path, content)) == len(MESSAGES)
    for index in range(1, 6):  # each message is the whole file
        content = replaced(replaced(content, 28 + 8 * index, len(content)), 32 + 8 * index, 0)
    with pytest.raises(UserError, match="lies over others"):
        read(tmp_path, content)
    monkeypatch.setattr("transformer.data.mo_files.MAX_MO_BYTES", len(content) - 1)
    with pytest.raises(UserError, match="at most"):
        read(tmp_path, content)
