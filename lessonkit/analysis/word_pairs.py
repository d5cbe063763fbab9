"""Which words of an English sentence belong together, read from its tree of phrases.

Not in the paper, which shows such pairs in one sentence each (appendix, Figures 3 to 5). The
sentences are the embedded corpus's, and so are their trees (see `experiments.grammar.parse`).
"""

from collections.abc import Iterator
from typing import NamedTuple

from transformer.data.embedded import Sentence

NEXT, BEFORE, ITSELF = "any word: the next word", "any word: the word before", "any word: itself"
NEGATED = "not: the next word"
NOUN, PAST_ADJECTIVE = "determiner: its noun", "... with an adjective between: the noun"
ADJECTIVE = "... control: the adjective"
OWNED, OWNER = "his, her, their: what is owned", "his, her, their: the owner"
MEANT, NOT_MEANT = "he, she, they: who is meant", "... control: the nearest other noun"
SUBJECT, NOT_SUBJECT = "verb past a clause: its subject", "... control: the nearest noun"
OF_ADJECTIVE, OF_VERB, OBJECT = "adjective: its noun", "verb: its subject", "verb: its object"
QUESTIONS = (
    *(NEXT, BEFORE, ITSELF, NEGATED, NOUN, PAST_ADJECTIVE, ADJECTIVE),
    *(OWNED, OWNER, MEANT, NOT_MEANT, SUBJECT, NOT_SUBJECT),
)


class Pair(NamedTuple):
    """A word, and where the question says that it looks; words count from 0.

    Attributes:
        question: One of the constants above.
        query: The word that attends.
        keys: The words that it is said to attend to; several where two subjects are joined.
    """

    question: str
    query: int
    keys: tuple[int, ...]


class _Phrase(NamedTuple):
    """A phrase of words start to end - 1, and which phrase it is part of (-1: of none)."""

    label: str
    start: int
    end: int
    parent: int


class _Tree:
    """A sentence's phrases, outer ones first, and the part of speech of each word."""

    def __init__(self, parse: str) -> None:
        self.phrases: list[_Phrase] = []
        self.tags: list[str] = []
        open_phrases: list[int] = []
        for token in parse.split():
            if token.startswith("("):
                parent = open_phrases[-1] if open_phrases else -1
                open_phrases.append(len(self.phrases))
                self.phrases.append(_Phrase(token[1:], len(self.tags), -1, parent))
            elif token.startswith(")"):
                at = open_phrases.pop()
                self.phrases[at] = self.phrases[at]._replace(end=len(self.tags))
            else:
                self.tags.append(token)

    def parts(self, phrase: int, *labels: str) -> list[int]:
        """Give the phrases right inside another that have one of the labels."""
        return [i for i, p in enumerate(self.phrases) if p.parent == phrase and p.label in labels]

    def around(self, word: int, label: str) -> int:
        """Give the innermost phrase of a label that a word stands in; -1 if there is none."""
        found = [
            i for i, p in enumerate(self.phrases) if p.label == label and p.start <= word < p.end
        ]
        return found[-1] if found else -1

    def nouns(self, phrase: int) -> tuple[int, ...]:
        """Give the nouns a phrase is about, not those of a clause or a place inside it."""
        start, end = self.phrases[phrase].start, self.phrases[phrase].end
        inside = [self.phrases[part] for part in self.parts(phrase, "SBAR", "PP")]
        return tuple(
            word
            for word in range(start, end)
            if self.tags[word] == "NN" and not any(p.start <= word < p.end for p in inside)
        )

    def heads(self, phrase: int) -> tuple[int, ...]:
        """Give the nouns a phrase is about; the pronoun where it is one."""
        place = self.phrases[phrase]
        return self.nouns(phrase) or tuple(
            word for word in range(place.start, place.end) if self.tags[word] == "PRP"
        )

    def subject(self, clause: int) -> tuple[int, ...]:
        """Give the nouns of a clause's own subject; none if it is a pronoun or left out."""
        return next((self.nouns(part) for part in self.parts(clause, "NP")), ())

    def nearest(self, word: int, besides: tuple[int, ...]) -> tuple[int, ...]:
        """Give the last noun before a word that is not one of some others."""
        found = [i for i in range(word) if self.tags[i] == "NN" and i not in besides]
        return tuple(found[-1:])


def word_pairs(sentence: Sentence) -> Iterator[Pair]:
    """Give every pair that a question asks about, in one English sentence.

    Args:
        sentence: Of the embedded corpus.
    """
    words, tree = sentence.en.split(), _Tree(sentence.parse)
    for word, text in enumerate(words):
        yield Pair(ITSELF, word, (word,))
        if word:
            yield Pair(BEFORE, word, (word - 1,))
        if word + 1 < len(words):
            yield Pair(NEXT, word, (word + 1,))
            if text == "not":
                yield Pair(NEGATED, word, (word + 1,))
    found = [*_determiners(words, tree), *_pronouns(words, tree), *_past_clauses(tree)]
    yield from (pair for pair in found if pair.keys)


def relations(sentence: Sentence) -> Iterator[Pair]:
    """Give the pairs that grammar joins, in one English sentence, all of each kind.

    Args:
        sentence: Of the embedded corpus.
    """
    words, tree = sentence.en.split(), _Tree(sentence.parse)
    for word in range(len(words)):
        phrase = tree.around(word, "NP")
        if tree.tags[word] in ("DT", "JJ") and phrase >= 0:
            noun = tuple(at for at in tree.nouns(phrase) if at > word)[:1]
            question = NOUN if tree.tags[word] == "DT" else OF_ADJECTIVE
            if noun:
                yield Pair(question, word, noun)
        if tree.tags[word] == "VB":
            verb_phrase, clause = tree.around(word, "VP"), tree.around(word, "S")
            subjects = tree.parts(clause, "NP")[:1]
            meant = tuple(at for part in subjects for at in tree.heads(part))
            if meant:
                yield Pair(OF_VERB, word, meant)
            objects = tree.parts(verb_phrase, "NP")[:1]
            taken = tuple(at for part in objects for at in tree.heads(part))
            if taken:
                yield Pair(OBJECT, word, taken)


def _determiners(words: list[str], tree: _Tree) -> Iterator[Pair]:
    """Determiners and their nouns; the owner whom *his*, *her*, *their* stand for."""
    for word, text in enumerate(words):
        if tree.tags[word] != "DT":
            continue
        noun = tuple(i for i in tree.nouns(tree.around(word, "NP")) if i > word)[:1]
        yield Pair(NOUN, word, noun)
        if tree.tags[word + 1] == "JJ" and noun == (word + 2,):
            yield Pair(PAST_ADJECTIVE, word, noun)
            yield Pair(ADJECTIVE, word, (word + 1,))
        if text in ("his", "her", "their"):
            yield Pair(OWNED, word, noun)
            yield Pair(OWNER, word, tree.subject(tree.around(word, "S")))


def _pronouns(words: list[str], tree: _Tree) -> Iterator[Pair]:
    """Pronouns after *because*, which in this corpus mean the subject of the sentence."""
    for word in range(1, len(words)):
        if words[word - 1] == "because" and words[word] in ("he", "she", "they"):
            meant = tree.subject(0)
            if meant:
                yield Pair(MEANT, word, meant)
                yield Pair(NOT_MEANT, word, tree.nearest(word, meant))


def _past_clauses(tree: _Tree) -> Iterator[Pair]:
    """Verbs that a relative clause divides from their subject (as *making ... more difficult*)."""
    for clause, phrase in enumerate(tree.phrases):
        if phrase.label != "S":
            continue
        subjects, verbs = tree.parts(clause, "NP"), tree.parts(clause, "VP")
        if subjects and verbs and tree.parts(subjects[0], "SBAR"):
            verb, nouns = tree.phrases[verbs[0]].start, tree.nouns(subjects[0])
            yield Pair(SUBJECT, verb, nouns)
            yield Pair(NOT_SUBJECT, verb, tree.nearest(verb, nouns))
