#!/usr/bin/env bash
# translate-toolkit 3.20.4, with lxml 6.1.3.
#
# What its readers make of valid files:
# 1. XLIFF 1.2: a unit counts as translated only with approved="yes". Without it istranslated() is
#    False and isfuzzy() True, whatever the target's state says, "translated", "signed-off" and "final"
#    too; with it "new" counts as translated.
# 2. TMX without a target language given: the target is whichever other variant comes first, so that
#    one file's pairs are of several languages.
# 3. TMX of before version 1.4, which names languages by lang and not xml:lang: no source is found.
# 4. PO: a header that declares ISO-8859-1 is not minded; the file is read as UTF-8, and fails.
# 5. PO: of gettext's escapes in C's style, \x41 and \101 lose their backslash.
#
# Seen: as listed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check translate-toolkit==3.20.4 lxml==6.1.3
cat > formats.py <<'PY'
from translate.storage.pypo import pofile
from translate.storage.tmx import tmxfile
from translate.storage.xliff import xlifffile


def xliff_unit(approved, state):
    text = f"""<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
    <file original="a" source-language="en" target-language="de" datatype="plaintext"><body>
    <trans-unit id="1" {approved}><source>Hello</source><target state="{state}">Hallo</target>
    </trans-unit></body></file></xliff>"""
    (unit,) = xlifffile.parsestring(text.encode()).units
    return unit.istranslated(), unit.isfuzzy()


for state in ("new", "translated", "signed-off", "final"):
    assert xliff_unit("", state) == (False, True), f"CHANGED: {state} is minded"
    assert xliff_unit('approved="yes"', state) == (True, False), f"CHANGED: {state} is minded"
print("XLIFF: translated only where approved, whatever the state")


def variant(language, text, attribute="xml:lang"):
    return f'<tuv {attribute}="{language}"><seg>{text}</seg></tuv>'


def tmx_pairs(*units, **languages):
    settings = 'segtype="sentence" o-tmf="x" creationtool="x" creationtoolversion="1"'
    header = f'<header srclang="en" adminlang="en" datatype="plaintext" {settings}/>'
    body = "".join(f"<tu>{unit}</tu>" for unit in units)
    store = tmxfile(**languages)
    store.parse(f'<tmx version="1.4">{header}<body>{body}</body></tmx>'.encode())
    return [(unit.source, unit.target) for unit in store.units]


three = variant("en", "Three") + variant("fr", "Trois") + variant("de", "Drei")
two = variant("en", "Two") + variant("de", "Zwei")
mixed = tmx_pairs(three, two)
print("TMX without a target language:", mixed)
assert mixed == [("Three", "Trois"), ("Two", "Zwei")], "CHANGED"
languages = {"sourcelanguage": "en", "targetlanguage": "de"}
assert tmx_pairs(three, two, **languages) == [("Three", "Drei"), ("Two", "Zwei")]
old = tmx_pairs(variant("en", "Two", "lang") + variant("de", "Zwei", "lang"), **languages)
print("TMX with lang alone:", old)
assert old == [(None, None)], "CHANGED"


def po_bytes(charset, message):
    header = f'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset={charset}\\n"\n\n'
    return f'{header}msgid "{message}"\nmsgstr "Öl"\n'.encode(charset)


try:
    pofile.parsestring(po_bytes("ISO-8859-1", "oil"))
except UnicodeDecodeError as error:
    print("PO in ISO-8859-1:", error)
else:
    raise SystemExit("CHANGED: the declared charset is minded")
escaped = pofile.parsestring(po_bytes("UTF-8", r"\x41 \101 \t")).units[1].source
print("PO's escapes:", repr(str(escaped)))
assert escaped == "x41 101 \t", "CHANGED"
PY
venv/bin/python formats.py
echo "as described: approved decides, languages mix, Latin-1 fails, escapes lose their backslash"
