"""What a sentence of the embedded corpus means, before any language has put it into words."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

from experiments.grammar.lexicon import Adjective, Modal, Noun, Place, Time, Verb

_keys = count(0, 32)


class Word(NamedTuple):
    """A token and the meanings it carries; tokens of two languages that share one are linked."""

    text: str
    keys: frozenset[int]


def word(text: str, *keys: int) -> Word:
    """Build a word from its text and the meanings it carries."""
    return Word(text, frozenset(keys))


class Key:
    """Offsets of a part's meanings from its own key; links arise where two words share one."""

    DET, NOUN, COUNT, PREP, JOIN, ADJECTIVE = range(6)  # of a phrase; adjectives count on
    TENSE, VERB, NOT, MODAL, VERB_PREP, SELF, RELATIVE, ASK, FRONT, COPULA, TIME = range(11)


@dataclass(eq=False, slots=True)
class Phrase:
    """A noun phrase: a noun with its determiner, a name, a pronoun, or two phrases joined.

    Attributes:
        det: "the", "a" (bare in the plural and with mass nouns), "this", "my", "your", "our",
            "own" (his, her, their: the owner is the clause's subject) or "" (names).
        pronoun: "I", "you", "he", "she", "we", "they", or "" where there is a noun.
        gender: French gender, "m" or "f"; `sex` is None where it is not known.
        joined: The two phrases that "and" joins.
        relative: A clause that says more about the noun.
    """

    noun: Noun | None = None
    det: str = ""
    plural: bool = False
    count: int = 0
    adjectives: tuple[Adjective, ...] = ()
    pronoun: str = ""
    gender: str = "m"
    sex: str | None = None
    owner: "Phrase | None" = None
    joined: "tuple[Phrase, Phrase] | None" = None
    relative: "Clause | None" = None
    key: int = field(default_factory=lambda: next(_keys))

    @property
    def person(self) -> int:
        """Grammatical person: 1, 2 or 3."""
        return {"I": 1, "we": 1, "you": 2}.get(self.pronoun, 3)

    @property
    def animate(self) -> bool:
        """Whether it is a person, for whom English says "who"."""
        return self.noun is not None and not self.noun.classes.isdisjoint(
            {"adult", "child", "kin", "name"}
        )

    @property
    def slot(self) -> int:
        """Which of five French or English verb forms it takes: I, you, he, we, they."""
        if self.person == 3:
            return 4 if self.plural else 2
        return 1 if self.person == 2 else 3 if self.plural else 0


@dataclass(eq=False, slots=True)
class Clause:
    """A verb, or "to be" with an adjective or a place, and what goes with it.

    Attributes:
        tense: "present", "habit" (English simple present) or "past".
        fronted: "time" or "place" where that part opens the clause.
        ask: "" for a statement, or "yes_no", "who", "what", "where", "when", "why", "how many".
        gap: "subject" or "object" where a relative pronoun stands for it.
        second: A further verb phrase with the same subject, joined by "and".
    """

    subject: Phrase
    verb: Verb | None = None
    object: Phrase | None = None
    recipient: Phrase | None = None
    tense: str = "present"
    modal: Modal | None = None
    negated: bool = False
    predicate: Adjective | None = None
    place: Place | None = None
    time: Time | None = None
    fronted: str = ""
    ask: str = ""
    gap: str = ""
    second: "Clause | None" = None
    key: int = field(default_factory=lambda: next(_keys))

    @property
    def simple(self) -> bool:
        """Whether English uses the simple present: with habits and with verbs of state."""
        return self.tense == "habit" or (self.verb is not None and self.verb.present == "simple")

    @property
    def follows(self) -> bool:
        """Whether it is the second verb phrase of another clause, whose auxiliary it shares."""
        return self.gap == "subject" and self.subject.relative is not self

    def roles(self) -> Iterator[tuple[str, Phrase]]:
        """The noun phrases said in words with their roles, not the one that the gap stands for."""
        roles = (("subject", self.subject), ("object", self.object), ("recipient", self.recipient))
        for role, phrase in roles:
            asked = {"who": "subject", "what": "object"}.get(self.ask) == role
            if phrase is not None and self.gap != role and not asked:
                yield role, phrase


@dataclass(eq=False, slots=True)
class Tree:
    """A sentence: a main clause, clauses that a conjunction adds to it, perhaps one in front.

    Attributes:
        links: Pairs of conjunction and clause: "that", "because", "whether", "while", "and", "but",
            "and that", "and whether".
        leading: A "while" clause that opens the sentence.
    """

    main: Clause
    links: list[tuple[str, Clause]] = field(default_factory=list)
    leading: Clause | None = None
    key: int = field(default_factory=lambda: next(_keys))

    def clauses(self) -> Iterator[Clause]:
        """Every clause, relative ones included."""
        pending = [self.main, *(clause for _, clause in self.links)]
        pending += [self.leading] if self.leading else []
        while pending:
            clause = pending.pop()
            yield clause
            pending += [clause.second] if clause.second else []
            for _, phrase in clause.roles():
                if phrase.relative is not None:
                    pending.append(phrase.relative)

    def phrases(self) -> Iterator[Phrase]:
        """Every noun phrase said in words, those of joined phrases one by one."""
        for clause in self.clauses():
            for _, phrase in clause.roles():
                yield from phrase.joined or (phrase,)
