"""Reads the word lists of the embedded corpus from `data/corpus/`."""

import csv
import tomllib
from functools import cache
from typing import Any

from lessonkit.analysis.lexicon import Adjective, Lexicon, Modal, Noun, Place, Time, Verb
from transformer.support.paths import corpus_folder


def _rows(name: str) -> list[dict[str, str]]:
    lines = (corpus_folder() / name).read_text(encoding="utf-8").splitlines()
    table = (line for line in lines if line and not line.startswith("#"))
    return list(csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE))


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
        nouns=tuple(map(_noun, _rows("nouns.tsv"))),
        names=tuple(map(_name, _rows("names.tsv"))),
        adjectives=tuple(map(_adjective, _rows("adjectives.tsv"))),
        verbs=_verbs(),
        modals=_modals(),
        places=tuple(map(_place, _rows("places.tsv"))),
        times=tuple(map(_time, _rows("times.tsv"))),
    )
