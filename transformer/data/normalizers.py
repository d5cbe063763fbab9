"""Normalizers: how the text of each language is written before it is cut into tokens.

Not in the paper. A model reads only what its training text looked like, so a tokenizer carries the
name of a normalizer and applies it to all that it encodes. Each drops the characters that nobody
sees (`drop_invisible`), and writes what most lines of the corpora do: ' for ’; a blank before
! ? : ; in French alone; " for “ and ”, but not in German. What the corpora write both ways stays:
«oui» beside « oui », and ‘.
"""

import re
import unicodedata
from collections.abc import Callable

_APOSTROPHES = "\u2019\u02bc\u2032\u00b4"  # ’ ʼ ′ ´
_QUOTES = "\u201c\u201d\u201e"  # “ ” „

# The soft hyphen; blanks, joins and operators without width; marks of the direction of writing. As
# a class of characters, they mean the same to Python, JavaScript and the library `tokenizers`.
INVISIBLE_CHARACTERS = "\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff"
# U+200C and U+200D shape what is before them in the scripts of these blocks: Arabic to Sinhala,
# Tibetan and Myanmar, Khmer and Mongolian, Limbu to Vedic, Syloti Nagri to Meetei Mayek, Arabic's
# presentation forms, Brahmi to Ahom and their like, Adlam; and in emoji.
CHARACTERS_SHAPED_BY_JOINERS = (
    "\u0600-\u0dff\u0f00-\u109f\u1780-\u18af\u1900-\u1cff\ua800-\uabff\ufb50-\ufdff\ufe70-\ufefc"
    "\U00010a00-\U00011fff\U0001e900-\U0001e95f\u2600-\u27bf\u2b00-\u2bff\ufe0f\U0001f000-\U0001faff"
)
_INVISIBLE = re.compile(f"[{INVISIBLE_CHARACTERS}]")
_IDLE_JOINER = re.compile(f"(?<![{CHARACTERS_SHAPED_BY_JOINERS}])[\u200c\u200d]")
_INVISIBLE_JOINER_OR_HYPHEN = re.compile(f"[{INVISIBLE_CHARACTERS}\u200c\u200d\u2011]")


def drop_invisible(text: str) -> str:
    """Drop the characters that nobody sees: with one inside, a word has other tokens.

    A joiner or non-joiner (U+200D, U+200C) stays where it shapes a letter or an emoji: directly
    after one of `CHARACTERS_SHAPED_BY_JOINERS`. The hyphen that no line breaks at (U+2011) becomes
    a plain one.
    """
    # The usual case is decided quickly: most texts have none of these characters.
    if text.isascii() or not _INVISIBLE_JOINER_OR_HYPHEN.search(text):
        return text
    return _IDLE_JOINER.sub("", _INVISIBLE.sub("", text)).replace("\u2011", "-")


def normalize_whitespace(line: str) -> str:
    """Make every blank of a line a plain, single one (tab, no-break, thin), none at its edges."""
    return " ".join(line.split())


def normalize_plain(text: str) -> str:
    """Drop what nobody sees, and write blanks in one way."""
    return normalize_whitespace(drop_invisible(text))


def normalize_composed(text: str) -> str:
    """Do what `normalize_plain` does, and compose letters and their accents (NFC)."""
    return normalize_whitespace(unicodedata.normalize("NFC", drop_invisible(text)))


def _replace_each(text: str, characters: str, replacement: str) -> str:
    """Replace each of some characters, none of them ASCII."""
    # `str.translate` takes 20 times as long.
    if not text.isascii():
        for character in characters:
            text = text.replace(character, replacement)
    return text


def normalize_german(text: str) -> str:
    """Do what `normalize_composed` does, and write apostrophes in one way."""
    return _replace_each(normalize_composed(text), _APOSTROPHES, "'")


def normalize_english(text: str) -> str:
    """Do what `normalize_german` does, and write straight quotes."""
    return _replace_each(normalize_german(text), _QUOTES, '"')


def normalize_french(text: str) -> str:
    """Do what `normalize_english` does, and add a missing blank before ! ? : ; (not in 8:40)."""
    return re.sub(r"(?<=[^\s!?:;])([!?;]|:(?!\d))", r" \1", normalize_english(text))


# By the name in a tokenizer's file. A file without one, as the earliest are, means the default.
DEFAULT_NORMALIZER = "plain"
NORMALIZERS: dict[str, Callable[[str], str]] = {
    DEFAULT_NORMALIZER: normalize_plain,
    "composed": normalize_composed,
    "german": normalize_german,
    "english": normalize_english,
    "french": normalize_french,
}
_NORMALIZER_NAMES_BY_LANGUAGE = {
    "de": "german",
    "en": "english",
    "fr": "french",
    "tree": DEFAULT_NORMALIZER,
}


def normalizer_name_of_language(lang: str) -> str:
    """Return the name of a language's normalizer: "composed" where it has none of its own."""
    return _NORMALIZER_NAMES_BY_LANGUAGE.get(lang, "composed")
