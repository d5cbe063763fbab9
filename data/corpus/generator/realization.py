"""What the realizations of a tree in the three languages of the corpus have in common."""

import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from data.corpus.generator.tree import Clause, Key, Tree
from lessonkit.analysis.lexicon import read_embedded_corpus_tsv

# Pronouns, auxiliaries and what melts together, by language.
FORMS: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("forms.toml").read_text(encoding="utf-8")
)


class Word(NamedTuple):
    """A token and the meanings it carries; tokens of two languages that share one are linked."""

    text: str
    keys: frozenset[int]


def word(text: str, *keys: int) -> Word:
    """Build a word from its text and the meanings it carries."""
    return Word(text, frozenset(keys))


def split_words(text: str, *keys: int) -> list[Word]:
    """Build the words of a text, clause of which carries all of the meanings."""
    return [word(part, *keys) for part in text.split()]


def comma(clause: Clause) -> Word:
    """Build the comma beside a clause."""
    return word(",", clause.key + Key.FRONT)


def mark(tree: Tree) -> Word:
    """Build the mark that ends a sentence."""
    return word("?" if tree.main.ask else ".", tree.key)


def function_words(name: str, lang: str, *keys: int) -> list[Word]:
    """Render conjunctions ("and that"), a question word or a number ("2")."""
    table = _function_words(lang)
    parts = [name] if name in table else name.split()
    return split_words(" ".join(table[part] for part in parts), *keys)


@cache
def _function_words(lang: str) -> dict[str, str]:
    return {row["name"]: row[lang] for row in read_embedded_corpus_tsv("function_words.tsv")}


def clauses(tree: Tree, lang: str, render_clause: Callable[[Clause], list[Word]]) -> list[Word]:
    """Render the clauses of a sentence in order, as English and French do, and its mark."""
    words: list[Word] = []
    if (lead := tree.leading) is not None:
        words += function_words("while", lang, lead.key + Key.RELATIVE)
        words += [*render_clause(lead), comma(lead)]
    words += render_clause(tree.main)
    for conjunction, linked in tree.links:
        words += [comma(linked)] if conjunction == "but" else []
        words += function_words(conjunction, lang, linked.key + Key.RELATIVE)
        words += render_clause(linked)
    return [*words, mark(tree)]


def asking(clause: Clause, lang: str) -> list[Word]:
    """Render the words that open a question, of "how many" with the noun that is counted."""
    if clause.ask in ("", "yes_no"):
        return []
    words = function_words(clause.ask, lang, clause.key + Key.FRONT)
    if clause.ask == "how many" and clause.object is not None:
        plural = getattr(clause.object.noun, f"{lang}_plural")
        words.append(word(plural, clause.object.key + Key.NOUN))
    return words


def place(
    clause: Clause, lang: str, articles: Mapping[str, str], front: bool = False
) -> list[Word]:
    """Render the place, or the direction if the verb is of motion, as `time` does the time.

    The definite articles are by gender; English has one, of "m".
    """
    where, key = clause.place, clause.key + Key.PLACE
    if where is None or (clause.fronted == "place") != front:
        return []
    preposition = getattr(where, f"{lang}_to" if clause.verb.direction else f"{lang}_at")
    article = articles["m" if lang == "en" else getattr(where, f"{lang}_gender")]
    words = [word(preposition, key), word(article, key + 1)]
    return words + split_words(getattr(where, lang), key + 2)


def time(clause: Clause, lang: str, front: bool = False) -> list[Word]:
    """Render the time; nothing if there is none, or if it is not in the place asked for."""
    if clause.time is None or (clause.fronted == "time") != front:
        return []
    start = clause.key + Key.TIME
    return [
        word(text, *(start + mark for mark in marks)) for text, marks in clause.time.words[lang]
    ]
