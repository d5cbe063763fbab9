"""A sentence's tree of phrases, and what of it stands where. Not in the paper."""

from typing import NamedTuple


class Phrase(NamedTuple):
    """A phrase of words start to end - 1, and which phrase it is part of (-1: of none)."""

    label: str
    start: int
    end: int
    parent: int

    def contains_word(self, word: int) -> bool:
        """Return whether a word stands in the phrase."""
        return self.start <= word < self.end


class ConstituencyTree:
    """A sentence's phrases, outer ones first, and the part of speech of each word.

    The parse is bracketed as in "(S (NP DT NN )NP (VP VB )VP . )S".
    """

    def __init__(self, parse: str) -> None:
        self.phrases: list[Phrase] = []
        self.tags: list[str] = []
        open_phrases: list[int] = []
        for token in parse.split():
            if token.startswith("("):
                parent = open_phrases[-1] if open_phrases else -1
                open_phrases.append(len(self.phrases))
                self.phrases.append(Phrase(token[1:], len(self.tags), -1, parent))
            elif token.startswith(")"):
                index = open_phrases.pop()
                self.phrases[index] = self.phrases[index]._replace(end=len(self.tags))
            else:
                self.tags.append(token)

    def child_phrases(self, phrase: int, *labels: str) -> list[int]:
        """Return the phrases right inside another that have one of the labels."""
        return [
            index
            for index, child in enumerate(self.phrases)
            if child.parent == phrase and child.label in labels
        ]

    def innermost_phrase(self, word: int, label: str) -> int:
        """Return the innermost phrase of a label that a word stands in; -1 if there is none."""
        innermost = -1
        for index, phrase in enumerate(self.phrases):
            if phrase.label == label and phrase.contains_word(word):
                innermost = index
        return innermost

    def head_nouns(self, phrase: int) -> tuple[int, ...]:
        """Return the nouns a phrase is about, not those of a clause or a place inside it."""
        inside = [self.phrases[child] for child in self.child_phrases(phrase, "SBAR", "PP")]
        words = range(self.phrases[phrase].start, self.phrases[phrase].end)
        return tuple(
            word
            for word in words
            if self.tags[word] == "NN" and not any(child.contains_word(word) for child in inside)
        )

    def subject_nouns(self, clause: int) -> tuple[int, ...]:
        """Return the nouns of a clause's own subject; none if it is a pronoun or left out."""
        noun_phrases = self.child_phrases(clause, "NP")
        return self.head_nouns(noun_phrases[0]) if noun_phrases else ()

    def noun_before(self, word: int, besides: tuple[int, ...]) -> tuple[int, ...]:
        """Return the last noun before a word that is not one of some others, if there is one."""
        nouns = [i for i in range(word) if self.tags[i] == "NN" and i not in besides]
        return tuple(nouns[-1:])
