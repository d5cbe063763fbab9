"""The tables of the embedded corpus, and its nouns with their gender. Not in the paper."""

import csv
from functools import cache
from typing import NamedTuple

from transformer.support.folders import embedded_corpus_folder


class Noun(NamedTuple):
    """A noun of the embedded corpus; `classes` says what it can be said of, and its sex."""

    en: str
    fr: str
    gender: str  # in French
    classes: frozenset[str]


def read_embedded_corpus_tsv(name: str) -> list[dict[str, str]]:
    """Read a table of `data/corpus/`, a row for each line; lines that open with # are remarks."""
    lines = (embedded_corpus_folder() / name).read_text(encoding="utf-8").splitlines()
    table = (line for line in lines if line and not line.startswith("#"))
    return list(csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE))


@cache
def french_nouns_by_english() -> dict[str, Noun]:
    """Read the nouns of the embedded corpus, by their English."""
    table = {}
    for row in read_embedded_corpus_tsv("nouns.tsv"):
        classes = frozenset(row["classes"].split())
        table[row["en"]] = Noun(row["en"], row["fr"], row["fr_gender"], classes)
    return table
