"""Whether text is in the script of its language: letters by their Unicode names.

Not in the paper. scripts.toml has the scripts of some 300 languages.
"""

import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path

_LETTERS_AND_LANGUAGES_BY_SCRIPT = tomllib.loads(
    Path(__file__).with_name("scripts.toml").read_text(encoding="utf-8")
)
LETTER_NAMES_BY_SCRIPT = {
    script: tuple(table["letters"]) for script, table in _LETTERS_AND_LANGUAGES_BY_SCRIPT.items()
}
SCRIPTS_BY_LANGUAGE: dict[str, list[str]] = {}
for _script, _table in _LETTERS_AND_LANGUAGES_BY_SCRIPT.items():
    for _lang in _table["languages"].split():
        SCRIPTS_BY_LANGUAGE.setdefault(_lang, []).append(_script)
LATIN = "Latn"
LETTER_CATEGORIES = ("Lu", "Ll", "Lt", "Lo")  # no modifier letters, which any script may have
# As the folders of catalogs are called: sr@latin.
_SCRIPTS_BY_MODIFIER = {"latin": "Latn", "cyrillic": "Cyrl", "devanagari": "Deva"}


def expected_scripts(lang: str) -> list[str]:
    """Return the codes of the scripts that write a language ("uk": Cyrl); none where unknown.

    The code may name the script: "sr_Latn", "sr_latin". With a variant that is neither a script
    nor a region ("tt_iqtelif") it is unknown.
    """
    code, *subtags = lang.split("_")
    for subtag in subtags:
        script = _SCRIPTS_BY_MODIFIER.get(subtag.lower(), subtag.title())
        if script in LETTER_NAMES_BY_SCRIPT:
            return [script]
        if not re.fullmatch(r"[A-Za-z]{2}|[0-9]{3}", subtag):
            return []
    return SCRIPTS_BY_LANGUAGE.get(code.lower(), [])


def may_be_in_scripts(text: str, scripts: Sequence[str]) -> bool:
    """Return whether a text with letters may be in these scripts.

    Text in Latin script has half of its letters in it. Of another script one letter is enough, as
    names of programs and their options are Latin in every language. Digits and signs have none.
    """
    if text.isascii() and LATIN in scripts:
        return True
    names = tuple(name for script in scripts for name in LETTER_NAMES_BY_SCRIPT[script])
    num_letters = num_expected = 0
    # A text has many letters, and few that differ.
    for character, count in Counter(unicodedata.normalize("NFKC", text)).items():
        if _is_letter(character):
            num_letters += count
            num_expected += count * _unicode_name_starts_with(character, names)
    enough = num_letters / 2 if list(scripts) == [LATIN] else min(num_letters, 1)
    return num_expected >= enough


@cache
def _is_letter(character: str) -> bool:
    return unicodedata.category(character) in LETTER_CATEGORIES


@cache
def _unicode_name_starts_with(letter: str, beginnings: tuple[str, ...]) -> bool:
    """Return whether a letter's name begins with one of these words, "CYRILLIC"."""
    return unicodedata.name(letter, "").startswith(tuple(f"{name} " for name in beginnings))
