"""One way to write a text, in training and for whoever types: a treatment for each language.

Not in the paper. A model reads only what its training text looked like, so a tokenizer carries the
name of a treatment and applies it to all that it encodes. Each writes what most of the corpora's
lines do: ' for ’; a blank before ! ? : ; in French alone; " for “ and ”, but not in German.
What the corpora write both ways stays: «oui» beside « oui », and ‘.
"""

import re
import unicodedata
from collections.abc import Callable

PLAIN = "plain"
BY_LANGUAGE = {"de": "german", "en": "english", "fr": "french"}
_APOSTROPHES = str.maketrans(dict.fromkeys("\u2019\u02bc\u2032\u00b4", "'"))  # ’ ʼ ′ ´
_QUOTES = str.maketrans(dict.fromkeys("\u201c\u201d\u201e", '"'))  # “ ” „


def tidy(line: str) -> str:
    """Make every blank of a line a plain, single one (tab, no-break, thin), none at its edges."""
    return " ".join(line.split())


def german(text: str) -> str:
    """Compose letters and their accents (NFC), and write blanks and apostrophes in one way."""
    return tidy(unicodedata.normalize("NFC", text)).translate(_APOSTROPHES)


def english(text: str) -> str:
    """Do what `german` does, and write straight quotes."""
    return german(text).translate(_QUOTES)


def french(text: str) -> str:
    """Do what `english` does, and set the blank before ! ? : ; where it lacks (not in 8:40)."""
    return re.sub(r"(?<=[^\s!?:;])([!?;]|:(?!\d))", r" \1", english(text))


TREATMENTS: dict[str, Callable[[str], str]] = {
    PLAIN: tidy,
    "german": german,
    "english": english,
    "french": french,
}


def treatment_of(lang: str) -> str:
    """Name the treatment of a language's text; "plain", blanks alone, where it has none."""
    return BY_LANGUAGE.get(lang, PLAIN)
