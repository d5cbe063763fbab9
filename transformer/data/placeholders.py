"""The placeholders and mnemonics of a program's messages: where they stand, and text without them.

Not in the paper. A placeholder is what a program replaces before it shows a message, as in
"%s: cannot open"; a translation has to keep it. A mnemonic is the letter that a key chooses in a
menu, marked by "_" or "&" ("_File", "&File"); a translation marks a letter of its own.
"""

import re

_PLACEHOLDER = re.compile(
    r"""
    (?P<escape> %% )                                       # a per cent sign, no placeholder
    | \{\{ \s* [\w.-]+ \s* \}\}                            # {{name}}: Mustache, i18next
    | [%$]? \{ [\w.-]+ \}                                  # {name}, ${name}, Ruby's %{name}
    | \{ [\w.\[\]]* (?:![rsa])? (?::[^\s{}]*)? \}          # {}, {0[x]!r:>9}: str.format
    | (?<!\w) \$ [A-Za-z_]\w*                              # $name: shells, PHP, string.Template
    | % [<(] [\w.-]+ [>)] [-+\#0]* [\d.]* [A-Za-z]         # %(name)s: Python; %<name>d: Ruby
    | % L? \d+ (?![\d$.A-Za-z]) %?                          # %1, %L2: Qt; %1%: Boost
    | % (?:\d+\$)? [-+\#0']*                               # %s, %2$-9.3f, %*d, %lu: printf;
      (?:\d+|\*(?:\d+\$)?)? (?:\.(?:\d+|\*)?)?             # %Y: strftime; %qE: GCC; %pB: binutils
      (?:hh|ll|[hlqjzt](?=[A-Za-z])|L(?=[A-Za-z])|p(?=[A-Z]\b))? [A-Za-z]
    """,
    re.VERBOSE,
)
# The letter that is marked; in "&lt;" none is.
_MNEMONIC_BY_MARK = {mark: re.compile(rf"{mark}(?=[^\W_])(?!#?\w{{1,8}};)") for mark in ("_", "&")}
_MNEMONIC_IN_PARENTHESES = re.compile(r"\s*[(（][_&][^\W_][)）]")


def find_placeholders(text: str) -> list[str]:
    """Return the placeholders of a message as they are written, in their order.

    Those of printf, strftime, Python, Ruby, Qt, Boost, shells and Mustache. A blank is no flag
    here, so that "50% of" has none; nor has "100%ig" or an escaped "%%".
    """
    return [
        found[0]
        for found in _PLACEHOLDER.finditer(text)
        if not found["escape"] and not _is_percentage(text, found)
    ]


def _is_percentage(text: str, found: re.Match[str]) -> bool:
    """Return whether a number stands before a per cent sign, and a word goes on after it."""
    before, after = text[: found.start()][-1:], text[found.end() :][:1]
    return found[0][:1] == "%" and found[0][1:].isalpha() and before.isdigit() and after.isalpha()


def without_keyboard_mnemonic_marks(source: str, translation: str) -> tuple[str, str]:
    """Return a message and its translation without the marks of their mnemonics.

    "E_xit" becomes "Exit", and "文件(_F)", as Chinese and Japanese have it, becomes "文件". A mark
    is removed only where each side has one, of the same kind, and the marked words differ, so that
    names ("file_name", "AT&T"), which a translation keeps, stay.
    """
    for mnemonic in _MNEMONIC_BY_MARK.values():
        words = [_words_containing_pattern(mnemonic, side) for side in (source, translation)]
        if all(len(marked) == 1 for marked in words) and words[0] != words[1]:
            source, translation = (
                mnemonic.sub("", _MNEMONIC_IN_PARENTHESES.sub("", side))
                for side in (source, translation)
            )
    return source, translation


def _words_containing_pattern(pattern: re.Pattern[str], text: str) -> list[str]:
    """Return for each match of a pattern the word, between blanks, that it is in."""
    starts = [found.start() for found in pattern.finditer(text)]
    return [text[:start].split(" ")[-1] + text[start:].split(" ")[0] for start in starts]
