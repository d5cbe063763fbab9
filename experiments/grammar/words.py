"""What the three languages of the embedded corpus have in common when they say a sentence."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from experiments.grammar.tree import Clause, Key, Tree


class Word(NamedTuple):
    """A token and the meanings it carries; tokens of two languages that share one are linked."""

    text: str
    keys: frozenset[int]


def word(text: str, *keys: int) -> Word:
    """Build a word from its text and the meanings it carries."""
    return Word(text, frozenset(keys))


def split_words(text: str, *keys: int) -> list[Word]:
    """Build the words of a text, each of which carries all of the meanings."""
    return [word(part, *keys) for part in text.split()]


def comma(each: Clause) -> Word:
    """Build the comma beside a clause."""
    return word(",", each.key + Key.FRONT)


def join_clauses(
    tree: Tree, conjunctions: Mapping[str, str], clause: Callable[[Clause], list[Word]]
) -> list[Word]:
    """Say the clauses of a sentence one after another, as English and French do, and its mark.

    Args:
        tree: The sentence.
        conjunctions: The language's own by those of the tree.
        clause: Says one.
    """
    words: list[Word] = []
    if tree.leading is not None:
        lead = tree.leading
        words += split_words(conjunctions["while"], lead.key + Key.RELATIVE)
        words += [*clause(lead), comma(lead)]
    words += clause(tree.main)
    for conjunction, linked in tree.links:
        words += [comma(linked)] if conjunction == "but" else []
        words += split_words(conjunctions[conjunction], linked.key + Key.RELATIVE)
        words += clause(linked)
    return [*words, mark(tree)]


def mark(tree: Tree) -> Word:
    """Build the mark that ends a sentence."""
    return word("?" if tree.main.ask else ".", tree.key)


def asking_words(each: Clause, asking: Mapping[str, str], lang: str) -> list[Word]:
    """Say the words that open a question, of "how many" with the noun that is counted.

    Args:
        each: The clause.
        asking: The language's words for each kind of question.
        lang: The language, "en", "fr" or "de".
    """
    words = split_words(asking.get(each.ask, ""), each.key + Key.FRONT)
    if each.ask == "how many" and each.object is not None:
        plural = getattr(each.object.noun, f"{lang}_plural")
        words.append(word(plural, each.object.key + Key.NOUN))
    return words


def time_words(each: Clause, lang: str, front: bool = False) -> list[Word]:
    """Say when; nothing where it is not said, or in the other place than is asked for."""
    if each.time is None or (each.fronted == "time") != front:
        return []
    start = each.key + Key.TIME
    return [word(text, *(start + mark for mark in marks)) for text, marks in each.time.words[lang]]
