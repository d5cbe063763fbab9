"""One way to write a text, in training and for whoever types: a treatment for each language.

Not in the paper. A model reads only what its training text looked like: to one that learned
"L'homme ?", a typed "L’homme?" is strange bytes. So a tokenizer carries the name of a
treatment and applies it to all that it encodes, the training text too.

Each writes what the corpora here write, by count of their training lines: ' in nearly all
French lines and ’ in 17 (Multi30k); a blank before ! ? : ; in French, none elsewhere; " in
French and English, but „ and “ in German, which stay. So does what the corpora write both
ways: «oui» beside « oui », and ‘.
"""

import re
import unicodedata
from collections.abc import Callable

from transformer.support.errors import UserError

PLAIN = "plain"
BY_LANGUAGE = {"de": "german", "en": "english", "fr": "french"}
_APOSTROPHES = str.maketrans(dict.fromkeys("\u2019\u02bc\u2032\u00b4", "'"))  # ’ ʼ ′ ´
_QUOTES = str.maketrans(dict.fromkeys("\u201c\u201d\u201e", '"'))  # “ ” „


def tidy(line: str) -> str:
    """Make every blank of a line a plain, single one (tab, no-break, thin), none at its edges.

    Raises:
        UserError: it has half of a pair of UTF-16 (a lone surrogate).
    """
    if re.search("[\ud800-\udfff]", line):
        raise UserError(
            f"{line[:40]!r} holds half a letter (a lone surrogate): read its file as UTF-8, "
            "without errors='surrogateescape'"
        )
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
