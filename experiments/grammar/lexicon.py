"""The word lists of the embedded corpus, read from `data/corpus/`: one class a table."""

import tomllib
from dataclasses import dataclass
from functools import cache
from typing import Any

from lessonkit.analysis.articles import corpus_table
from transformer.support.files import corpus_folder


@dataclass(frozen=True, eq=False, slots=True)
class Noun:
    """A noun in three languages; `classes` says what it is, for verbs and adjectives to choose by.

    Where it has no plural (`mass` nouns, parents) the plural fields are empty. `de_oblique` is
    the singular outside the nominative: "Jungen" beside "Junge".
    """

    en: str
    en_plural: str
    fr: str
    fr_plural: str
    fr_gender: str
    de: str
    de_oblique: str
    de_plural: str
    de_gender: str
    classes: frozenset[str]

    @property
    def sex(self) -> str | None:
        """Give "male" or "female" for people of whom it is known, else None."""
        return next((sex for sex in ("male", "female") if sex in self.classes), None)


@dataclass(frozen=True, eq=False, slots=True)
class Adjective:
    """An adjective; `fr_vowel` stands before a vowel ("vieil"), `de_stem` takes the endings."""

    en: str
    fr: str
    fr_feminine: str
    fr_vowel: str
    fr_before: bool
    de: str
    de_stem: str
    attributes: frozenset[str]
    predicates: frozenset[str]


@dataclass(frozen=True, eq=False, slots=True)
class Verb:
    """A verb with its forms and with what it can be said of (`data/corpus/README.md`).

    Attributes:
        en: Base, third person singular, -ing form, past.
        fr: Infinitive, je, tu, il, nous, ils, past participle; `fr_aux` is "avoir", "être" or "se".
        de: Infinitive, du, er, past participle; `de_particle` is the part that separates.
    """

    name: str
    en: tuple[str, ...]
    fr: tuple[str, ...]
    de: tuple[str, ...]
    subjects: frozenset[str]
    objects: frozenset[str] = frozenset()
    recipient: frozenset[str] = frozenset()
    habit: frozenset[str] = frozenset()
    places: frozenset[str] = frozenset()
    reasons: frozenset[str] = frozenset()
    modals: frozenset[str] = frozenset({"can", "must", "should", "want", "would_like"})
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
    complement: frozenset[str] = frozenset()
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
    en: tuple[str, ...]
    fr: tuple[str, ...]
    de: tuple[str, ...]
    fr_past: tuple[str, ...] = ()
    de_past: tuple[str, ...] = ()
    to: bool = False
    lexical: bool = False
    negated: bool = True


@dataclass(frozen=True, eq=False, slots=True)
class Place:
    """A place, the prepositions for being there (`_at`) and going there (`_to`), and its uses."""

    noun: Noun
    at: dict[str, str]
    to: dict[str, str]
    de_to_case: str
    tags: frozenset[str]
    purposes: tuple[tuple[str, str], ...]


@dataclass(frozen=True, eq=False, slots=True)
class Time:
    """An expression of time: for each language its words with the meanings that link them."""

    words: dict[str, tuple[tuple[str, frozenset[int]], ...]]
    when: frozenset[str]
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


def _forms(text: str) -> tuple[str, ...]:
    return tuple(form.strip() for form in text.split(","))


def _noun(row: dict[str, str]) -> Noun:
    singular, _, oblique = row["de"].partition("/")
    return Noun(
        en=row["en"],
        en_plural=row["en_plural"],
        fr=row["fr"],
        fr_plural=row["fr_plural"],
        fr_gender=row["fr_gender"],
        de=singular,
        de_oblique=oblique or singular,
        de_plural=row["de_plural"],
        de_gender=row["de_gender"],
        classes=frozenset(row["classes"].split()),
    )


def _name(row: dict[str, str]) -> Noun:
    name, sex = row["name"], row["sex"]
    gender = "f" if sex == "female" else "m"
    kinds = frozenset({"name", sex})
    return Noun(name, "", name, "", gender, name, name, "", gender, kinds)


def _adjective(row: dict[str, str]) -> Adjective:
    return Adjective(
        en=row["en"],
        fr=row["fr"],
        fr_feminine=row["fr_feminine"],
        fr_vowel=row["fr_before_vowel"] or row["fr"],
        fr_before=row["fr_position"] == "before",
        de=row["de"],
        de_stem=row["de_stem"] or row["de"],
        attributes=frozenset(row["attributes"].split()),
        predicates=frozenset(row["predicates"].split()),
    )


def _verbs() -> dict[str, Verb]:
    sets = {
        "subjects",
        "objects",
        "recipient",
        "habit",
        "places",
        "reasons",
        "modals",
        "complement",
    }
    entries = tomllib.loads((corpus_folder() / "verbs.toml").read_text(encoding="utf-8"))
    verbs = {}
    for name, entry in entries.items():
        for key, value in entry.items():
            if key in sets:
                entry[key] = frozenset(value.split())
            elif key in ("en", "fr", "de"):
                entry[key] = _forms(value)
        verbs[name] = Verb(name=name, **entry)
    return verbs


def _modals() -> dict[str, Modal]:
    entries = tomllib.loads((corpus_folder() / "modals.toml").read_text(encoding="utf-8"))
    modals = {}
    for name, entry in entries.items():
        values: dict[str, Any] = {
            key: _forms(value) if isinstance(value, str) else value for key, value in entry.items()
        }
        modals[name] = Modal(name=name, **values)
    return modals


def _place(row: dict[str, str]) -> Place:
    gender, de_gender = row["fr_gender"], row["de_gender"]
    en, fr, de = row["en"], row["fr"], row["de"]
    purposes = tuple(
        (verb, kind) for verb, _, kind in (p.partition(":") for p in row["purposes"].split())
    )
    return Place(
        noun=Noun(en, "", fr, "", gender, de, de, "", de_gender, frozenset({"place"})),
        at={lang: row[f"{lang}_at"] for lang in ("en", "fr", "de")},
        to={lang: row[f"{lang}_to"] for lang in ("en", "fr", "de")},
        de_to_case=row["de_to_case"],
        tags=frozenset(row["tags"].split()) | {en},
        purposes=purposes,
    )


def _marked(phrase: str) -> tuple[tuple[str, frozenset[int]], ...]:
    """Read "every:1 day:2" as words with the meanings they carry; without a mark, meaning 1."""
    words = []
    for part in phrase.split():
        word, _, marks = part.partition(":")
        words.append((word, frozenset(int(mark) for mark in (marks or "1").split(","))))
    return tuple(words)


def _time(row: dict[str, str]) -> Time:
    return Time(
        words={lang: _marked(row[lang]) for lang in ("en", "fr", "de")},
        when=frozenset(row["when"].split()),
        at_end=row["end"] == "yes",
    )


@cache
def lexicon() -> Lexicon:
    """Read every table of the lexicon once.

    Not in the paper: the course's own corpus.
    """
    return Lexicon(
        nouns=tuple(map(_noun, corpus_table("nouns.tsv"))),
        names=tuple(map(_name, corpus_table("names.tsv"))),
        adjectives=tuple(map(_adjective, corpus_table("adjectives.tsv"))),
        verbs=_verbs(),
        modals=_modals(),
        places=tuple(map(_place, corpus_table("places.tsv"))),
        times=tuple(map(_time, corpus_table("times.tsv"))),
    )
