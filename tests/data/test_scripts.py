"""The scripts of languages, as CLDR has them, and text that is not in them."""

from collections import defaultdict

import pytest
from babel.core import get_global
from babel.localedata import locale_identifiers

from transformer.data.scripts import (
    LETTER_NAMES_BY_SCRIPT,
    SCRIPTS_BY_LANGUAGE,
    expected_scripts,
    may_be_in_scripts,
)


def test_scripts_are_those_of_cldr() -> None:
    if get_global("cldr")["version"] != "47":
        pytest.skip("another version of CLDR")
    locales = {name.partition("_")[0] for name in locale_identifiers()}
    expected = defaultdict(set)
    for tag, likely in get_global("likely_subtags").items():
        lang, *subtags = tag.split("_")
        names_script = any(len(subtag) == 4 and subtag.isalpha() for subtag in subtags)
        if lang != "und" and not names_script and (len(lang) == 2 or lang in locales):
            expected[lang].add(likely.split("_")[1])
    assert {lang: set(scripts) for lang, scripts in SCRIPTS_BY_LANGUAGE.items()} == expected


@pytest.mark.parametrize(
    ("lang", "scripts"),
    [
        ("uk", {"Cyrl"}),
        ("pt_BR", {"Latn"}),
        ("sr", {"Cyrl", "Latn"}),
        ("sr_latin", {"Latn"}),
        ("sr_Cyrl", {"Cyrl"}),
        ("zh_Hant_TW", {"Hant"}),
        ("es_419", {"Latn"}),
        ("tt", {"Cyrl"}),
        ("tt_iqtelif", set()),
        ("xq", set()),
    ],
)
def test_a_code_says_the_scripts(lang: str, scripts: set[str]) -> None:
    assert set(expected_scripts(lang)) == scripts


@pytest.mark.parametrize(
    ("text", "lang", "expected"),
    [
        ("Відкрити файл GCC", "uk", True),
        ("Open the file", "uk", False),
        ("Відкрити файл GCC", "es", False),
        ("café ½ ﬁle Ａ", "es", True),
        ("Ω is a letter", "en", True),
        ("ファイルを開く", "ja", True),
        ("文件", "ja", True),
        ("한국어", "ja", False),
        ("ﾌｧｲﾙ", "ja", True),  # of half width
        ("파일 열기", "ko", True),
        ("قائمة", "fa", True),
        ("קובץ", "fa", False),
        ("%1 – 25 %", "uk", True),
        ("", "uk", True),
    ],
)
def test_text_is_in_the_script_of_its_language(text: str, lang: str, expected: bool) -> None:
    assert may_be_in_scripts(text, expected_scripts(lang)) is expected


def test_every_script_names_letters_of_unicode() -> None:
    for script, samples in (("Beng", "বাংলা"), ("Guru", "ਪੰਜਾਬੀ"), ("Thai", "ไทย"), ("Ethi", "አማርኛ")):
        assert may_be_in_scripts(samples, [script])
        others = [other for other in LETTER_NAMES_BY_SCRIPT if other != script]
        assert not any(may_be_in_scripts(samples, [other]) for other in others)
