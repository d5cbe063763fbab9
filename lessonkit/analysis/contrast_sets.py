"""The table of sentences that differ in one thing: `data/corpus/contrasts.tsv`, read (no torch).

Not in the paper.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from transformer.data.treatment import tidy
from transformer.support.errors import UserError
from transformer.support.paths import corpus_folder

LANGUAGES = ("de", "en", "fr")
PHENOMENA = ("negation", "gender", "number", "roles")
COLUMNS = ("corpus", "phenomenon", *LANGUAGES)

Cue = frozenset[str]  # words of which any will do


class Side(NamedTuple):
    """One of two sentences, in one language.

    Attributes:
        accepted: Every way to put it; the first is the one given to a model to read.
        cues: For each of them what an output must hold, in this order; none at all where
            the sentence is the one that lacks something (a negation).
    """

    accepted: tuple[str, ...]
    cues: tuple[tuple[Cue, ...], ...]


class Contrast(NamedTuple):
    """Two sentences that differ in one thing.

    Attributes:
        corpus: Whose words they are made of.
        phenomenon: One of `PHENOMENA`.
        sides: By language, the first and the second sentence.
    """

    corpus: str
    phenomenon: str
    sides: dict[str, tuple[Side, Side]]


def load_contrasts(file: Path | None = None) -> list[Contrast]:
    """Read the table of pairs.

    Args:
        file: None means the course's own; `contrast_cues.tsv` must lie beside it.

    Raises:
        UserError: a file is missing, or a line is not as `data/corpus/README.md` says.
    """
    file = file or corpus_folder() / "contrasts.tsv"
    alike = _read_cues(file.with_name("contrast_cues.tsv"))
    contrasts = []
    for place, row in _rows(file, COLUMNS):
        corpus, phenomenon, *texts = row
        if phenomenon not in PHENOMENA:
            raise UserError(f"{place}: {phenomenon!r} is none of {', '.join(PHENOMENA)}")
        sides = {
            lang: _read_sides(place, lang, text, alike)
            for lang, text in zip(LANGUAGES, texts, strict=True)
        }
        contrasts.append(Contrast(corpus, phenomenon, sides))
    return contrasts


def _rows(file: Path, columns: Sequence[str]) -> Iterable[tuple[str, list[str]]]:
    """Give each row of a table with its place, for messages; lines that open with # are remarks."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {file}: {error}; get it again with git checkout") from error
    head, *rows = [
        (f"{file.name}, line {number}", line.split("\t"))
        for number, line in enumerate(lines, start=1)
        if line and not line.startswith("#")
    ] or [(file.name, [])]
    for place, row in [head, *rows]:
        if len(row) != len(columns) or not all(row):
            raise UserError(f"{place}: {len(row)} columns, none empty: give {', '.join(columns)}")
    if tuple(head[1]) != tuple(columns):
        raise UserError(f"{head[0]}: the first line must name the columns: {', '.join(columns)}")
    return rows


def _read_cues(file: Path) -> dict[tuple[str, str], Cue]:
    """Read which words count as one, by language and word."""
    alike = {}
    for place, (lang, text) in _rows(file, ("language", "words")):
        for word in text.split():
            if (lang, word) in alike:
                raise UserError(f"{place}: {word!r} stands twice: a word belongs to one line")
            alike[lang, word] = frozenset(text.split())
    return alike


def _read_sides(
    place: str, lang: str, text: str, alike: dict[tuple[str, str], Cue]
) -> tuple[Side, Side]:
    """Take a cell apart: "A man is {/*not} here. | ..." is two sentences, each in several ways."""
    first, second = (
        _make_side(place, lang, [_choose(place, way, option) for way in text.split("|")], alike)
        for option in (0, 1)
    )
    if not all(a or b for a, b in zip(first.cues, second.cues, strict=True)):
        raise UserError(f"{place}: {text!r} has no cue: put * before the word that tells")
    for side in (first, second):
        if any(side.cues) and not all(side.cues):
            raise UserError(f"{place}: {text!r} has cues for some translations only")
    if set(first.accepted) & set(second.accepted):
        raise UserError(f"{place}: {text!r} says the same twice: the two must differ")
    return first, second


def _choose(place: str, way: str, option: int) -> str:
    """Take the first or the second part of every {a/b}."""
    for braces in re.findall(r"\{([^}]*)\}", way):
        if braces.count("/") != 1:
            raise UserError(f"{place}: {{{braces}}} must have two parts: write {{a/b}}")
    return re.sub(r"\{([^}/]*)/([^}/]*)\}", lambda found: found[option + 1], way)


def _make_side(
    place: str, lang: str, ways: Sequence[str], alike: dict[tuple[str, str], Cue]
) -> Side:
    for way in ways:
        if re.search(r"\*(?!\w)", way):
            raise UserError(f"{place}: no word after * in {way!r}: put it before the cue")
    marked = [[split_words(lang, part)[0] for part in way.split("*")[1:]] for way in ways]
    cues = [tuple(alike.get((lang, word), frozenset((word,))) for word in row) for row in marked]
    return Side(tuple(tidy(way.replace("*", "")) for way in ways), tuple(cues))


def split_words(lang: str, text: str) -> list[str]:
    """Cut a text into lower-cased words: isn't is one, l'homme is two, l' and homme."""
    pattern = r"\w+'?" if lang == "fr" else r"\w+(?:'\w+)?"
    return re.findall(pattern, text.lower().replace("\u2019", "'"))
