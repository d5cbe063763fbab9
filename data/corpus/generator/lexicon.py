"""The word lists of the embedded corpus, read from `data/corpus/`: one class a table.

Its columns are the class's fields, texts, sets of names between blanks, or forms between commas.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, get_type_hints

from lessonkit.analysis.lexicon import read_embedded_corpus_tsv
from transformer.support.folders import embedded_corpus_folder

Forms = tuple[str, ...]
Names = frozenset[str]
NONE: Names = frozenset()


@dataclass(frozen=True, eq=False, slots=True)
class Noun:
    """A noun in three languages; `classes` says what it is, for verbs and adjectives to choose by.

    Without a plural its fields are empty. `de_oblique`: "Jungen" beside "Junge".
    """

    en: str = ""
    en_plural: str = ""
    fr: str = ""
    fr_plural: str = ""
    fr_gender: str = "m"
    de: str = ""
    de_oblique: str = ""
    de_plural: str = ""
    de_gender: str = "m"
    classes: Names = NONE

    @property
    def sex(self) -> str | None:
        """Return "male" or "female" for people of whom it is known, else None."""
        return next((sex for sex in ("male", "female") if sex in self.classes), None)


@dataclass(frozen=True, eq=False, slots=True)
class Adjective:
    """An adjective; `fr_before_vowel` is "vieil", `de_stem` takes the endings."""

    en: str
    fr: str
    fr_feminine: str
    fr_before_vowel: str
    fr_position: str
    de: str
    de_stem: str
    attributes: Names
    predicates: Names


@dataclass(frozen=True, eq=False, slots=True)
class Verb:
    """A verb with its forms and with what it can be said of (`data/corpus/README.md`)."""

    name: str
    en: Forms = ()  # base, third person singular, -ing form, past
    fr: Forms = ()  # infinitive, je, tu, il, nous, ils, past participle
    de: Forms = ()  # infinitive, du, er, past participle
    subjects: Names = NONE
    objects: Names = NONE
    recipient: Names = NONE
    habit: Names = NONE
    places: Names = NONE
    reasons: Names = NONE
    modals: Names = frozenset({"can", "must", "should", "want", "would_like"})
    present: str = "progressive"
    past: bool = True
    definite: bool = False
    indefinite: bool = False
    singular: bool = False
    distributive: bool = False
    timeless: bool = False
    moment: bool = False
    durative: bool = False
    result: bool = False
    direction: bool = False
    needs_place: bool = False
    complement: Names = NONE
    en_prep: str = ""
    fr_aux: str = "avoir"
    de_aux: str = "haben"
    de_prep: str = ""
    de_case: str = "accusative"
    de_particle: str = ""
    de_ich: str = ""
    de_reflexive: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class Modal:
    """A modal verb: English base, third person and past, five French and four German forms."""

    name: str
    en: Forms
    fr: Forms
    de: Forms
    fr_past: Forms = ()
    de_past: Forms = ()
    to: bool = False
    lexical: bool = False
    negated: bool = True


@dataclass(frozen=True, eq=False, slots=True)
class Place:
    """A place, the prepositions for being there (`_at`) and going there (`_to`), and its uses."""

    en: str
    fr: str
    fr_gender: str
    de: str
    de_gender: str
    en_at: str
    fr_at: str
    de_at: str
    en_to: str
    fr_to: str
    de_to: str
    de_to_case: str
    tags: Names
    purposes: str  # verbs, perhaps with the class of their object: "read:text"


@dataclass(frozen=True, eq=False, slots=True)
class Time:
    """An expression of time: for each language its words with the meanings that link them."""

    words: dict[str, list[tuple[str, list[int]]]]
    when: Names
    at_end: bool


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Every table of the lexicon, in the order of its file."""

    nouns: tuple[Noun, ...]
    names: tuple[Noun, ...]
    adjectives: tuple[Adjective, ...]
    verbs: dict[str, Verb]
    modals: dict[str, Modal]
    places: tuple[Place, ...]
    times: tuple[Time, ...]


def _fields(kind: type, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row's values for the fields of a class: texts into sets and forms."""
    values = dict(row)
    for name, hint in get_type_hints(kind).items():
        if name in row and hint == Names:
            values[name] = frozenset(row[name].split())
        elif name in row and hint == Forms:
            values[name] = tuple(form.strip() for form in row[name].split(","))
    return values


def _toml(name: str, kind: type) -> dict[str, Any]:
    entries = tomllib.loads((embedded_corpus_folder() / name).read_text(encoding="utf-8"))
    return {name: kind(name=name, **_fields(kind, entry)) for name, entry in entries.items()}


def _noun(row: dict[str, str]) -> Noun:
    singular, _, oblique = row["de"].partition("/")
    return Noun(**_fields(Noun, row | {"de": singular, "de_oblique": oblique or singular}))


def _name(row: dict[str, str]) -> Noun:
    name, sex = row["name"], row["sex"]
    gender, kinds = "f" if sex == "female" else "m", frozenset({"name", sex})
    return Noun(name, "", name, "", gender, name, name, "", gender, kinds)


def _adjective(row: dict[str, str]) -> Adjective:
    vowel, stem = row["fr_before_vowel"] or row["fr"], row["de_stem"] or row["de"]
    return Adjective(**_fields(Adjective, row | {"fr_before_vowel": vowel, "de_stem": stem}))


def _place(row: dict[str, str]) -> Place:
    values = _fields(Place, row)
    return Place(**values | {"tags": values["tags"] | {row["en"]}})


def _time(row: dict[str, str]) -> Time:
    """Read "every:1 day:2" as words with the meanings they carry; without a mark, meaning 1."""
    words = {}
    for lang in ("en", "fr", "de"):
        parts = (part.partition(":") for part in row[lang].split())
        words[lang] = [(text, [*map(int, (marks or "1").split(","))]) for text, _, marks in parts]
    return Time(words, frozenset(row["when"].split()), row["end"] == "yes")


@cache
def lexicon() -> Lexicon:
    """Read every table of the lexicon once."""
    return Lexicon(
        nouns=tuple(map(_noun, read_embedded_corpus_tsv("nouns.tsv"))),
        names=tuple(map(_name, read_embedded_corpus_tsv("names.tsv"))),
        adjectives=tuple(map(_adjective, read_embedded_corpus_tsv("adjectives.tsv"))),
        verbs=_toml("verbs.toml", Verb),
        modals=_toml("modals.toml", Modal),
        places=tuple(map(_place, read_embedded_corpus_tsv("places.tsv"))),
        times=tuple(map(_time, read_embedded_corpus_tsv("times.tsv"))),
    )
