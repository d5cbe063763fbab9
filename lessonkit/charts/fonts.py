"""Fonts that have the letters of a chart, whatever its script, and what to install where none has.

Not in the paper. matplotlib draws a box for a letter that its font does not have, although another
font that is installed may have it. Since 3.11 it shapes Arabic and Indic text, and writes Arabic
and Hebrew from right to left, by libraqm; browsers and vl-convert do so too.
"""

import json
import unicodedata
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import matplotlib
from matplotlib import font_manager, ft2font
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.text import Text

# What matplotlib falls back to by itself: a picture of the script for every letter there is.
LAST_RESORT_PREFIX = "Last Resort"
# The first words of letters' names in Unicode whose fonts Debian has in a package of its own.
CJK_UNICODE_NAME_WORDS = frozenset(
    ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO", "IDEOGRAPHIC", "FULLWIDTH", "HALFWIDTH")
)
MAX_LETTERS_NAMED = 8
RIGHT_TO_LEFT_CLASSES = ("R", "AL")  # Unicode's bidirectional classes of Hebrew and of Arabic


def save_figure(figure: Figure, file: Any, **options: Any) -> None:
    """Save a figure in fonts that have its letters; warn once of those that no font here has.

    `options` are those of `Figure.savefig`.
    """
    use_fonts_with_letters(figure)
    with warnings.catch_warnings():
        # It says so for every letter.
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from", UserWarning)
        figure.savefig(file, **options)


def use_fonts_with_letters(figure: Figure) -> None:
    """Let each text of a figure fall back to fonts that are installed and have its letters."""
    for ax in figure.axes:
        # The texts of ticks are made when they are first asked for.
        ax.get_xticklabels()
        ax.get_yticklabels()
    texts = [text for text in figure.findobj(Text) if isinstance(text, Text)]
    drawn = "".join(text.get_text() for text in texts)
    _warn_of_reversed_text(drawn)
    lacking = [
        (text, letters)
        for text in texts
        if (letters := letters_missing_from(text.get_fontfamily(), text.get_text()))
    ]
    wanted = {letter for _, letters in lacking for letter in letters}
    families, nowhere = find_font_families(wanted)
    for text, letters in lacking:
        if not letters <= nowhere:
            text.set_fontfamily([*text.get_fontfamily(), *families])
    warn_of_letters_without_font(nowhere)


def letters_missing_from(families: Iterable[str], text: str) -> set[str]:
    """Return the letters of a text that none of these font families has."""
    letters = {letter for letter in text if _is_visible_letter(letter)}
    for family in families:
        if all(letter.isascii() for letter in letters):
            return set()
        font = font_manager.get_font(font_manager.findfont(FontProperties(family=[family])))
        letters = {letter for letter in letters if not font.get_char_index(ord(letter))}
    return letters


def _is_visible_letter(letter: str) -> bool:
    """Return whether a font needs a glyph for a letter: not for blanks and for format characters.

    The variation selectors, which choose the look of an emoji, are marks by their category.
    """
    return unicodedata.category(letter)[0] in "LMNPS" and not "\ufe00" <= letter <= "\ufe0f"


def find_font_families(letters: Iterable[str]) -> tuple[list[str], set[str]]:
    """Return families of installed fonts that together have letters, and what is in none of them.

    Of a family, one font is looked at: the one that comes first.
    """
    missing = set(letters)
    if not missing:
        return [], missing
    _add_fonts_installed_since()
    covered_by_family = dict(_covered_letters_by_family(missing))
    families: list[str] = []
    while missing and covered_by_family:
        best = max(covered_by_family, key=lambda family: len(covered_by_family[family] & missing))
        if not covered_by_family[best] & missing:
            break
        missing -= covered_by_family.pop(best)
        families.append(best)
    return families, missing


def _add_fonts_installed_since() -> None:
    """Tell matplotlib of fonts that were installed after it listed them, which it does once."""
    known = {entry.fname for entry in font_manager.fontManager.ttflist}
    for path in font_manager.findSystemFonts():
        if path not in known:
            try:
                font_manager.fontManager.addfont(path)
            except (OSError, RuntimeError):  # It is no font that matplotlib can draw.
                continue


def _covered_letters_by_family(letters: set[str]) -> Iterator[tuple[str, set[str]]]:
    """Yield the families of fonts that have some of these letters, with the letters."""
    seen = set()
    for entry in font_manager.fontManager.ttflist:
        if entry.name in seen or entry.name.startswith(LAST_RESORT_PREFIX):
            continue
        seen.add(entry.name)
        try:
            font = font_manager.get_font(entry.fname)
        except (OSError, RuntimeError):
            continue
        if covered := {letter for letter in letters if font.get_char_index(ord(letter))}:
            yield entry.name, covered


def warn_of_spec_letters_without_font(spec: dict[str, Any]) -> None:
    """Warn of letters of a Vega-Lite chart that no font here has: its picture shows boxes there."""
    text = json.dumps(spec, ensure_ascii=False, default=str)
    family = matplotlib.rcParams["font.family"]
    _, nowhere = find_font_families(letters_missing_from(family, text))
    warn_of_letters_without_font(nowhere)


def warn_of_letters_without_font(letters: set[str]) -> None:
    """Warn in one line that no font here has these letters, and name what to install."""
    if not letters:
        return
    shown = " ".join(sorted(letters)[:MAX_LETTERS_NAMED])
    more = f" and {len(letters) - MAX_LETTERS_NAMED} more" * (len(letters) > MAX_LETTERS_NAMED)
    are_cjk = {
        unicodedata.name(letter, "?").split()[0] in CJK_UNICODE_NAME_WORDS for letter in letters
    }
    packages = [
        package
        for package, is_cjk in (("fonts-noto-cjk", True), ("fonts-noto-core", False))
        if is_cjk in are_cjk
    ]
    warnings.warn(
        f"no font here has {shown}{more}, and pictures show boxes instead: install one that has "
        f"(Debian, Ubuntu, Colab: apt install {' '.join(packages)}; elsewhere Noto fonts, from "
        "fonts.google.com/noto)",
        stacklevel=2,
    )


def _warn_of_reversed_text(text: str) -> None:
    """Warn where this matplotlib is too old to write from right to left."""
    if hasattr(ft2font, "__libraqm_version__"):
        return
    if any(unicodedata.bidirectional(letter) in RIGHT_TO_LEFT_CLASSES for letter in text):
        warnings.warn(
            f"matplotlib {matplotlib.__version__} writes Arabic and Hebrew in the wrong direction: "
            "pip install 'matplotlib>=3.11'",
            stacklevel=2,
        )
