"""Gettext's PO files, which people translate, as pairs of two languages.

Not in the paper. translate-toolkit reads them, the extra [formats]. Compiled ones (*.mo) are
catalogs.py's.
"""

import re
from collections import Counter
from pathlib import Path
from typing import Any

from transformer.data.catalogs import MULTI_LINE_REASON, matched_forms
from transformer.data.grouping import Pair
from transformer.data.mo_files import BYTE_ORDERS, CatalogMessage, singular_form_of_header
from transformer.data.placeholders import without_keyboard_mnemonic_marks
from transformer.data.source_text import MISSING_TRANSLATION_REASON
from transformer.data.text_files import read_nonempty_bytes
from transformer.data.xml_formats import UNFINISHED_REASON, PairsAndLeftOut, language_matches
from transformer.support.errors import UserError, require

OBSOLETE_REASON = "obsolete"
UTF_8 = "UTF-8"
UNSET_CHARSET = "CHARSET"  # of a template
KEYWORD_PATTERN = re.compile(r"^(msg(?:ctxt|id|str))", re.MULTILINE)
CHARSET_PATTERN = re.compile(rb'"Content-Type:[^"]*charset=([^\s"\\;]+)', re.IGNORECASE)


def read_po_file(path: Path, languages: tuple[str, str]) -> PairsAndLeftOut:
    """Return the messages of a PO file that fit one line, with their translations.

    Fuzzy and obsolete ones are left out, and so are mnemonics; plurals are as `matched_forms` has
    them. If the header's Language is the first of the two, the msgid is in the second. A UserError
    names the file and the line that cannot be read.
    """
    pairs: list[Pair] = []
    left_out: Counter[str] = Counter()
    messages, header = _read_messages(path, left_out)
    turned = _is_turned(header, path, languages)
    singular_form = singular_form_of_header(header.encode(), path)
    for sources, translations in messages:
        message = CatalogMessage(sources, translations, singular_form)
        for source, translation in matched_forms([message]):
            if not translation:
                left_out[MISSING_TRANSLATION_REASON] += 1
            elif "\n" in source or "\n" in translation:
                left_out[MULTI_LINE_REASON] += 1
            else:
                pair = without_keyboard_mnemonic_marks(source, translation)
                pairs.append(pair[::-1] if turned else pair)
    return pairs, left_out


def _read_messages(
    path: Path, left_out: Counter[str]
) -> tuple[list[tuple[tuple[str, ...], tuple[str, ...]]], str]:
    """Return the finished messages of a PO file with their forms, and its header."""
    from translate.storage.pypo import pofile

    text = _read_po_text(path)
    store = pofile()
    try:
        store.parse(text.encode())
    except (ValueError, LookupError) as error:
        reason, _, place = str(error).partition(" on line ")
        where = f"line {place.partition(':')[0]} of {path}" if place else str(path)
        raise UserError(f"{where} is no PO ({reason}): mend it, or export it anew") from error
    # translate-toolkit drops a last entry without a msgstr; elsewhere it is no PO.
    keywords = KEYWORD_PATTERN.findall(text)
    if keywords and keywords[-1] != "msgstr":
        left_out[MISSING_TRANSLATION_REASON] += 1
    messages = []
    header = ""
    for unit in store.units:
        if unit.isheader():
            header = str(unit.target)
        elif unit.isobsolete():
            left_out[OBSOLETE_REASON] += 1
        elif unit.isfuzzy():
            left_out[UNFINISHED_REASON] += 1
        elif not unit.isblank():
            messages.append((_forms(unit.source), _forms(unit.target)))
    return messages, header


def _read_po_text(path: Path) -> str:
    """Return the text of a PO file, whose header names UTF-8 then, whatever it named before.

    translate-toolkit 3.20.4 reads a file whose header is plain ASCII as UTF-8 in any case.
    """
    content = read_nonempty_bytes(path)
    message = (
        f"{path} is a compiled catalog: give its folder, --catalogs LANGUAGE --catalog-folder "
        f"{path.parent}, or make a PO file of it, msgunfmt {path} -o {path.stem}_text.po"
    )
    require(content[:4] not in BYTE_ORDERS, message)
    named = CHARSET_PATTERN.search(content)
    charset = named[1].decode("ascii", "replace") if named else UTF_8
    is_utf8 = charset.upper() in (UTF_8, "UTF8", UNSET_CHARSET)
    try:
        # A byte order mark is no text.
        text = content.decode("utf-8-sig" if is_utf8 else charset)
    except LookupError as error:
        message = f"the header of {path} names an unknown encoding, {charset!r}"
        raise UserError(f"{message}: mend it") from error
    except UnicodeDecodeError as error:
        number = content.count(b"\n", 0, content.find(error.object[error.start :])) + 1
        message = f"line {number} of {path} is not {error.encoding}, as its header says"
        raise UserError(f"{message}: convert the file, or mend the header") from error
    number = text[: text.find("\0")].count("\n") + 1
    require("\0" not in text, f"line {number} of {path} holds U+0000: convert the file to UTF-8")
    return text.replace(f"charset={charset}", f"charset={UTF_8}", 1)


def _forms(text: Any) -> tuple[str, ...]:
    """Return the forms of a plural, or the one text of another message."""
    return tuple(str(form) for form in getattr(text, "strings", [text]))


def _is_turned(header: str, path: Path, languages: tuple[str, str]) -> bool:
    """Return whether a PO file's translations are in the first of two languages."""
    named = re.search(r"^Language:[ \t]*(\S+)", header, re.MULTILINE)
    if named is None:
        return False
    matching = [language_matches(lang, named[1]) for lang in languages]
    if not any(matching):
        raise UserError(
            f"the header of {path} says Language: {named[1]}: give --languages with {named[1]}, or "
            "mend the header"
        )
    return not matching[1]
