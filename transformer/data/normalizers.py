"""Normalizers: how the text of each language is written before it is cut into tokens.

Not in the paper. A model reads only what its training text looked like, so a tokenizer carries the
name of a normalizer and applies it to all that it encodes. Each writes what most lines of the
corpora do: ' for ’; a blank before ! ? : ; in French alone; " for “ and ”, but not in German.
What the corpora write both ways stays: «oui» beside « oui », and ‘.
"""

import re
import unicodedata
from collections.abc import Callable

_APOSTROPHE_TRANSLATION = str.maketrans(dict.fromkeys("\u2019\u02bc\u2032\u00b4", "'"))  # ’ ʼ ′ ´
_QUOTE_TRANSLATION = str.maketrans(dict.fromkeys("\u201c\u201d\u201e", '"'))  # “ ” „


def normalize_whitespace(line: str) -> str:
    """Make every blank of a line a plain, single one (tab, no-break, thin), none at its edges."""
    return " ".join(line.split())


def normalize_german(text: str) -> str:
    """Compose letters and their accents (NFC), and write blanks and apostrophes in one way."""
    composed = unicodedata.normalize("NFC", text)
    return normalize_whitespace(composed).translate(_APOSTROPHE_TRANSLATION)


def normalize_english(text: str) -> str:
    """Do what `normalize_german` does, and write straight quotes."""
    return normalize_german(text).translate(_QUOTE_TRANSLATION)


def normalize_french(text: str) -> str:
    """Do what `normalize_english` does, and add a missing blank before ! ? : ; (not in 8:40)."""
    return re.sub(r"(?<=[^\s!?:;])([!?;]|:(?!\d))", r" \1", normalize_english(text))


# By the name in a tokenizer's file. The default changes whitespace alone.
DEFAULT_NORMALIZER = "plain"
NORMALIZERS: dict[str, Callable[[str], str]] = {
    DEFAULT_NORMALIZER: normalize_whitespace,
    "german": normalize_german,
    "english": normalize_english,
    "french": normalize_french,
}
_NORMALIZER_NAMES_BY_LANGUAGE = {"de": "german", "en": "english", "fr": "french"}


def normalizer_name(lang: str) -> str:
    """Return the name of a language's normalizer: the default's where it has none of its own."""
    return _NORMALIZER_NAMES_BY_LANGUAGE.get(lang, DEFAULT_NORMALIZER)
