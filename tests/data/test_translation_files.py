"""TMX, PO and XLIFF: what of them is text, and which line of which file is refused."""

import subprocess
import sys
from pathlib import Path

import pytest

from transformer.data.catalogs import MULTI_LINE_REASON
from transformer.data.po_files import OBSOLETE_REASON
from transformer.data.source_text import MISSING_TRANSLATION_REASON, PairsWithOrigin
from transformer.data.translation_files import read_translation_files
from transformer.data.xml_formats import (
    LEFT_OUT_AS_OTHER_LANGUAGES,
    NOT_FOR_TRANSLATION_REASON,
    UNFINISHED_REASON,
    language_matches,
)
from transformer.support.errors import UserError

TMX = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="en"/><body>
<tu><note>of both</note>
<tuv xml:lang="EN-US"><seg>Click <bpt i="1">&lt;b&gt;</bpt>he<ept i="1">&lt;/b&gt;</ept>re<ph
>&lt;br/&gt;</ph>now, <ph>%s</ph>!</seg></tuv>
<tuv xml:lang="en-GB"><seg>Press here</seg></tuv>
<tuv xml:lang="uk"><prop type="x">1</prop><seg><!-- no text -->Клацніть <hi>тут</hi>,
<it pos="begin">&lt;i&gt;</it>%s</seg></tuv>
<tuv xml:lang="de"><seg>hier</seg></tuv></tu>
<tu><tuv xml:lang="de"><seg>hier</seg></tuv><tuv lang="uk"><seg>тут</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg/></tuv><tuv xml:lang="uk"><seg>порожньо</seg></tuv></tu>
</body></tmx>"""
PO = r"""# a comment
msgid ""
msgstr ""
"Language: uk\n"
"Content-Type: text/plain; charset=UTF-8\n"
"Plural-Forms: nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : 1);\n"

#, fuzzy, c-format
#| msgid "an earlier text"
msgid "not yet right"
msgstr "ще не так"

msgctxt "menu"
msgid "_Open the "
"file \"%s\""
msgstr "Відкрити _файл «%s»"

msgid "%d file"
msgid_plural "%d files"
msgstr[0] "%d файл"
msgstr[1] "%d файли"
msgstr[2] ""

msgid "not done"
msgstr ""

msgid "two\nlines"
msgstr "два\nрядки"

#~ msgid "old"
#~ msgstr "старе"
"""
XLIFF_1 = """<?xml version="1.0" encoding="UTF-8"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
<file original="a" source-language="en-GB" target-language="uk"><header/><body>
<trans-unit id="1">
<source>Hi <x id="1" equiv-text="{{name}}"/>, <g id="2">you</g><x id="3" equiv-text="&lt;br&gt;"
/>two</source>
<target state="translated">Ви <g id="2">обидва</g>, {{name}}</target></trans-unit>
<group><trans-unit id="2"><source>new</source>
<target state="needs-review-translation">нове</target></trans-unit></group>
<trans-unit id="3"><source>none</source></trans-unit>
<trans-unit id="4"><source>alt</source><target>альт</target>
<alt-trans><source>a</source><target>b</target></alt-trans></trans-unit>
</body></file>
<file original="b" source-language="en" target-language="de"><body>
<trans-unit id="1"><source>Hello</source><target>Hallo</target></trans-unit></body></file>
</xliff>"""
XLIFF_2 = """<xliff version="2.1" xmlns="urn:oasis:names:tc:xliff:document:2.0"
srcLang="en" trgLang="uk"><file id="f"><unit id="u"><segment>
<source>Hi <pc id="1">dear</pc> <ph id="2" disp="{name}"/>.</source>
<target>Привіт <pc id="1">любий</pc> {name}<sc id="3"/>.</target></segment>
<segment state="initial"><source>Two</source><target>Два</target></segment></unit></file></xliff>"""


def read(
    folder: Path, format: str, content: str | bytes, languages: tuple[str, str] = ("en", "uk")
) -> PairsWithOrigin:
    path = folder / f"my.{format}"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_translation_files(format, [path], languages)


@pytest.mark.parametrize(
    ("format", "content", "pairs", "left_out"),
    [
        (
            "tmx",
            TMX,
            [("Click here now, %s!", "Клацніть тут,\n%s")],
            {LEFT_OUT_AS_OTHER_LANGUAGES: 1, MISSING_TRANSLATION_REASON: 1},
        ),
        (
            "po",
            PO,
            [
                ('Open the file "%s"', "Відкрити файл «%s»"),
                ("%d file", "%d файл"),
                ("%d files", "%d файли"),
            ],
            {
                UNFINISHED_REASON: 1,
                MISSING_TRANSLATION_REASON: 2,
                MULTI_LINE_REASON: 1,
                OBSOLETE_REASON: 1,
            },
        ),
        (
            "xliff",
            XLIFF_1,
            [("Hi {{name}}, you two", "Ви обидва, {{name}}"), ("alt", "альт")],
            {UNFINISHED_REASON: 1, MISSING_TRANSLATION_REASON: 1, LEFT_OUT_AS_OTHER_LANGUAGES: 1},
        ),
        ("xliff", XLIFF_2, [("Hi dear {name}.", "Привіт любий {name}.")], {UNFINISHED_REASON: 1}),
    ],
)
def test_what_a_user_expects_is_read_in_both_directions(
    tmp_path: Path,
    format: str,
    content: str,
    pairs: list[tuple[str, str]],
    left_out: dict[str, int],
) -> None:
    text = read(tmp_path, format, content)
    assert text.pairs == pairs
    assert text.left_out == left_out
    assert text.files == [str(tmp_path / f"my.{format}")]
    turned = read(tmp_path, format, content, ("uk", "en"))
    assert turned.pairs == [pair[::-1] for pair in pairs]
    paths = [tmp_path / f"my.{format}"] * 2
    assert read_translation_files(format, paths, ("en", "uk")).pairs == pairs * 2


def test_the_first_language_that_fits_is_read(tmp_path: Path) -> None:
    assert read(tmp_path, "tmx", TMX, ("en_GB", "uk")).pairs[0][0] == "Press here"
    british_first = TMX.replace("EN-US", "en-IE").replace("en-GB", "EN")
    assert read(tmp_path, "tmx", british_first, ("en", "uk")).pairs[0][0] == "Press here"
    assert read(tmp_path, "tmx", TMX, ("de", "uk")).pairs[1] == ("hier", "тут")
    for lang, tag, fits in (
        ("en", "EN-gb", True),
        ("zh_CN", "zh-CN", True),
        ("en_GB", "en", False),
        ("en", "eng", False),
    ):
        assert language_matches(lang, tag) is fits


def test_a_last_msgid_without_msgstr_is_counted(tmp_path: Path) -> None:
    expected = read(tmp_path, "po", PO)
    cut = read(tmp_path, "po", PO + '\nmsgid "cut off"\n')
    assert cut.pairs == expected.pairs
    assert cut.left_out[MISSING_TRANSLATION_REASON] == 3


def test_other_encodings_than_utf8_are_read(tmp_path: Path) -> None:
    for format, content, encoding in (
        ("tmx", TMX, "utf-16"),
        ("xliff", XLIFF_1, "windows-1251"),
        ("po", PO.replace("«%s»", "%s"), "koi8-u"),
    ):
        expected = read(tmp_path, format, content)
        named = content.replace("UTF-8", encoding).replace("utf-8", encoding)
        assert read(tmp_path, format, named.encode(encoding)) == expected
        assert read(tmp_path, format, f"\ufeff{content}".replace("\n", "\r\n")) == expected


@pytest.mark.parametrize(
    ("format", "content", "message"),
    [
        ("tmx", "", r"my\.tmx is empty"),
        ("tmx", "Hello\n", r"line 1 of .*my\.tmx is no XML"),
        ("tmx", TMX[:-60], r"line 12 of .*my\.tmx is no XML"),
        ("tmx", TMX.encode("cp1251"), r"line 8 of .*my\.tmx is no XML"),
        ("tmx", "<html><body/></html>", r"my\.tmx cannot be read \(it is no TMX\)"),
        ("tmx", TMX.replace(' lang="uk"', ""), r"line 11 of .*my\.tmx: a tuv has no language"),
        ("tmx", TMX.replace("<seg/>", ""), r"line 12 of .*my\.tmx: a tuv has no segment"),
        ("tmx", TMX.replace('"uk"', '"be"'), r"my\.tmx has nothing in en and uk.*EN-US, en-GB, be"),
        ("xliff", "<xliff", r"line 1 of .*my\.xliff is no XML"),
        ("xliff", XLIFF_1.replace("</g>", "", 1), r"line 6 of .*my\.xliff is no XML"),
        ("xliff", XLIFF_1.encode("cp1251"), r"line 7 of .*my\.xliff is no XML"),
        ("xliff", TMX, r"my\.xliff cannot be read \(it is no XLIFF\)"),
        ("xliff", XLIFF_2.replace('n="2.1"', 'n="3.0"'), r"my\.xliff is XLIFF 3\.0"),
        ("xliff", XLIFF_2.replace("uk", "be"), r"my\.xliff has nothing in en and uk.*\(en, be\)"),
        ("po", "hello\n", r"line 1 of .*my\.po is no PO"),
        ("po", PO.replace('"not done"', '"not done'), r"line 24 of .*my\.po is no PO"),
        ("po", PO.replace('msgctxt "menu"', "<<<<<<< HEAD"), r"line 13 of .*my\.po is no PO"),
        ("po", PO.replace("«", "").encode("cp1251", "ignore"), r"line 11 of .*my\.po is not utf-8"),
        ("po", PO.replace("UTF-8", "UTF-7000"), r"header of .*my\.po names an unknown encoding"),
        ("po", PO.replace("n%10==1", "import"), r"header of .*my\.po has Plural-Forms"),
        ("po", PO.replace("Language: uk", "Language: be"), r"my\.po says Language: be"),
        ("po", PO.replace('"not done"\nmsgstr ""', '"not done"'), r"line 26 of .*my\.po is no PO"),
        ("po", b"\xde\x12\x04\x95" + b"\0" * 24, r"msgunfmt .*my\.po -o my_text\.po$"),
        ("po", PO.replace("not done", "not\0done"), r"line 24 of .*my\.po holds U\+0000"),
    ],
)
def test_a_malformed_file_is_refused_in_one_line(
    tmp_path: Path, format: str, content: str | bytes, message: str
) -> None:
    with pytest.raises(UserError, match=message) as refused:
        read(tmp_path, format, content)
    assert "\n" not in str(refused.value)


def test_a_file_that_declares_entities_is_refused(tmp_path: Path) -> None:
    """A harmless one: the declaration alone counts."""
    declaration = '<!DOCTYPE {0} [<!ENTITY hello "Hello">]>\n<{0} '
    for format, root, content in (("tmx", "tmx", TMX), ("xliff", "xliff", XLIFF_1)):
        declared = declaration.format(root) + content.partition(f"<{root} ")[2]
        for encoding in ("utf-8", "utf-16"):
            with pytest.raises(UserError, match=rf"my\.{format} declares an entity, hello"):
                read(tmp_path, format, declared.encode(encoding))
    with pytest.raises(UserError, match=r"line 5 of .*my\.tmx: unknown entity"):
        read(tmp_path, "tmx", TMX.replace("Click", "&click;"))


ITS = 'xmlns:its="http://www.w3.org/2005/11/its" its:translate'


@pytest.mark.parametrize(
    ("content", "old", "new", "num_left_out"),
    [
        (XLIFF_1, 'unit id="4"', 'unit id="4" translate="no"', 1),
        (XLIFF_1, 'unit id="4"', f'unit id="4" {ITS}="no"', 1),
        (XLIFF_1, ">alt<", '><mrk mtype="protected">alt</mrk><', 1),
        (XLIFF_1, ">alt<", '> <g id="1" translate="no">alt</g><', 1),
        (XLIFF_1, ">alt<", '>a<mrk mtype="protected">lt</mrk><', 0),
        (XLIFF_2, "<unit", '<unit translate="no"', 2),
        (XLIFF_2, "><unit", ' translate="no"><unit', 2),
        (XLIFF_2, "><unit", ' translate="no"><unit translate="yes"', 0),
    ],
)
def test_what_xliff_says_is_not_to_be_translated_is_left_out(
    tmp_path: Path, content: str, old: str, new: str, num_left_out: int
) -> None:
    """Said of a unit, of all units, or of all that is in a source; not of a word in it."""
    before = read(tmp_path, "xliff", content)
    text = read(tmp_path, "xliff", content.replace(old, new, 1))
    assert text.left_out.get(NOT_FOR_TRANSLATION_REASON, 0) == num_left_out
    num_unfinished = 1 if num_left_out == 2 else 0
    assert (
        before.left_out[UNFINISHED_REASON] - text.left_out.get(UNFINISHED_REASON, 0)
        == num_unfinished
    )
    num_kept = len(before.pairs) - num_left_out + num_unfinished
    assert text.pairs == before.pairs[:num_kept]


READ_AND_MEASURE = """
import re, sys
from pathlib import Path
from transformer.data.translation_files import read_translation_files

def peak_kilobytes():
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])

_, format, small, large = sys.argv
read_translation_files(format, [Path(small)], ("en", "uk"))
before = peak_kilobytes()
text = read_translation_files(format, [Path(large)], ("en", "uk"))
print(len(text.pairs), sum(text.left_out.values()), peak_kilobytes() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="peaks are read from /proc")
@pytest.mark.parametrize(
    ("format", "content", "unit"),
    [("tmx", TMX, "tu"), ("xliff", XLIFF_1, "trans-unit"), ("xliff", XLIFF_2, "unit")],
)
def test_a_large_file_takes_no_more_memory_than_its_text(
    tmp_path: Path, format: str, content: str, unit: str
) -> None:
    """Here 20 MB of notes, which are no text."""
    expected = read(tmp_path, format, content)
    with_note = f"<{unit}><note>{'x' * 1000}</note></{unit}>"
    large = tmp_path / "large"
    large.write_text(content.replace(f"<{unit}", f"{with_note * 20_000}<{unit}", 1))
    command = [sys.executable, "-c", READ_AND_MEASURE, format, tmp_path / f"my.{format}", large]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    num_pairs, num_left_out, kilobytes = map(int, out.split())
    assert num_pairs == len(expected.pairs)
    assert num_left_out == sum(expected.left_out.values()) + 20_000
    assert kilobytes < 8_000


def test_a_line_far_down_is_named(tmp_path: Path) -> None:
    content = TMX.replace(' lang="uk"', "").replace("<note>", "<note>" + "\n" * 70_000, 1)
    with pytest.raises(UserError, match=r"line 70011 of .*my\.tmx: a tuv has no language"):
        read(tmp_path, "tmx", content)


def test_without_the_extra_one_line_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "translate.storage", None)
    with pytest.raises(UserError, match=r"--po needs translate-toolkit, .*pip install"):
        read(tmp_path, "po", PO)
