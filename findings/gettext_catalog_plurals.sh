#!/usr/bin/env bash
# gettext of Python's standard library, seen with Python 3.11.7.
#
# 1. GNUTranslations keeps of a message with a plural its singular alone, with the number of each form:
#    the plural that the program wrote ("%d files") is nowhere, so pairs that are read from it join a
#    singular source with plural targets.
# 2. A context stays in the message, before a character U+0004: "menu\x04Open".
# 3. The empty message has the catalog's header for its translation: gettext("") returns it.
#
# Seen: as listed, in a catalog of three messages.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat > plurals.py <<'PY'
import gettext
import io
import struct

HEADER = "Content-Type: text/plain; charset=UTF-8\nPlural-Forms: nplurals=2; plural=n != 1;\n"
MESSAGES = {
    "": HEADER,
    "%d file\0%d files": "%d Datei\0%d Dateien",
    "menu\x04Open": "Öffnen",
}


def catalog_bytes(messages):
    pairs = sorted((one.encode(), other.encode()) for one, other in messages.items())
    at = 28 + 16 * len(pairs)
    tables, texts = [], b""
    for column in zip(*pairs, strict=True):
        for text in column:
            tables.append(struct.pack("<2I", len(text), at + len(texts)))
            texts += text + b"\0"
    first = struct.pack(
        "<7I", 0x950412DE, 0, len(pairs), 28, 28 + 8 * len(pairs), 0, 28 + 16 * len(pairs)
    )
    return first + b"".join(tables) + texts


translations = gettext.GNUTranslations(io.BytesIO(catalog_bytes(MESSAGES)))
kept = translations._catalog
print(kept)
assert kept == {
    "": HEADER,
    ("%d file", 0): "%d Datei",
    ("%d file", 1): "%d Dateien",
    "menu\x04Open": "Öffnen",
}, "CHANGED"
assert translations.ngettext("%d file", "%d files", 2) == "%d Dateien"
assert translations.gettext("") == HEADER, "CHANGED"
PY
python3 plurals.py
echo "as described: the plural's source is lost, contexts and the header stay"
