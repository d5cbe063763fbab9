"""What a sentence of the embedded corpus means, before any language has put it into words."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

from data.corpus.generator.lexicon import Adjective, Modal, Noun, Place, Time, Verb

_keys = count(0, 32)
NO_NOUN = Noun()  # of pronouns and joined phrases
TO_BE = Verb("be")  # with an adjective or a place


class Key:
    """Offsets of a part's meanings from its own key; links arise where two words share one."""

    DET, NOUN, COUNT, PREP, JOIN, ADJECTIVE = range(6)  # of a phrase; adjectives count on
    TENSE, VERB, NOT, MODAL, VERB_PREP, SELF, RELATIVE, ASK, FRONT, COPULA, TIME = range(11)
    PLACE = TIME + 6  # preposition, article, noun


@dataclass(eq=False, slots=True)
class Phrase:
    """A noun phrase: a noun with its determiner, a name, a pronoun, or two phrases joined.

    "own" is his, her, their: the owner is the clause's subject. "a" is bare in the plural and with
    mass nouns.
    """

    noun: Noun = NO_NOUN
    det: str = ""  # the, a, this, my, your, our, own; none for names
    plural: bool = False
    count: int = 0
    adjectives: tuple[Adjective, ...] = ()
    pronoun: str = ""  # I, you, he, she, we, they; none where there is a noun
    gender: str = "m"  # in French
    sex: str | None = None  # where it is known
    owner: "Phrase | None" = None
    joined: "tuple[Phrase, ...]" = ()  # two phrases that "and" joins
    relative: "Clause | None" = None  # which says more about the noun
    key: int = field(default_factory=lambda: next(_keys))

    @property
    def parts(self) -> "tuple[Phrase, ...]":
        """The phrases that are joined, or itself alone."""
        return self.joined or (self,)

    @property
    def person(self) -> int:
        """Grammatical person: 1, 2 or 3."""
        return {"I": 1, "we": 1, "you": 2}.get(self.pronoun, 3)

    @property
    def slot(self) -> int:
        """Which of five French or English verb forms it takes: I, you, he, we, they."""
        if self.person == 3:
            return 4 if self.plural else 2
        return 1 if self.person == 2 else 3 if self.plural else 0

    def of(self, *classes: str) -> bool:
        """Return whether its noun is of one of these classes."""
        return not self.noun.classes.isdisjoint(classes)


@dataclass(eq=False, slots=True)
class Clause:
    """A verb, or "to be" with an adjective or a place, and what goes with it."""

    subject: Phrase
    verb: Verb = TO_BE
    object: Phrase | None = None
    recipient: Phrase | None = None
    tense: str = "present"  # "habit" (English simple present), "past"
    modal: Modal | None = None
    negated: bool = False
    predicate: Adjective | None = None
    place: Place | None = None
    time: Time | None = None
    fronted: str = ""  # "time" or "place", where that part opens the clause
    ask: str = ""  # of a question: yes_no, who, what, where, when, why, how many
    gap: str = ""  # "subject" or "object", where a relative pronoun stands for it
    second: "Clause | None" = None  # a further verb phrase of the subject, joined by "and"
    key: int = field(default_factory=lambda: next(_keys))

    @property
    def past(self) -> bool:
        """Whether it is in the past."""
        return self.tense == "past"

    @property
    def simple(self) -> bool:
        """Whether English uses the simple present: with habits and with verbs of state."""
        return self.tense == "habit" or self.verb.present == "simple"

    @property
    def follows(self) -> bool:
        """Whether it is the second verb phrase of another clause, whose auxiliary it shares."""
        return self.gap == "subject" and self.subject.relative is not self

    @property
    def inverted(self) -> bool:
        """Whether it is a question that does not ask for its subject."""
        return self.ask not in ("", "who")

    @property
    def said_object(self) -> Phrase | None:
        """The object where it stands behind the verb, not in front of the clause."""
        return None if self.gap == "object" or self.ask in ("what", "how many") else self.object

    def roles(self) -> Iterator[tuple[str, Phrase]]:
        """The noun phrases said in words with their roles, not the one that the gap stands for."""
        roles = (("subject", self.subject), ("object", self.object), ("recipient", self.recipient))
        for role, phrase in roles:
            asked = {"who": "subject", "what": "object"}.get(self.ask) == role
            if phrase is not None and self.gap != role and not asked:
                yield role, phrase


@dataclass(eq=False, slots=True)
class Tree:
    """A sentence: a main clause, clauses that a conjunction adds to it, perhaps one in front."""

    main: Clause
    links: list[tuple[str, Clause]] = field(default_factory=list)  # "because", "and that"
    leading: Clause | None = None  # "while ..."
    key: int = field(default_factory=lambda: next(_keys))

    def clauses(self) -> Iterator[Clause]:
        """Every clause, relative ones included."""
        pending = [self.main, *(clause for _, clause in self.links)]
        pending += [self.leading] if self.leading else []
        while pending:
            clause = pending.pop()
            yield clause
            pending += [clause.second] if clause.second else []
            pending += [phrase.relative for _, phrase in clause.roles() if phrase.relative]

    def phrases(self) -> Iterator[Phrase]:
        """Every noun phrase said in words, those of joined phrases one by one."""
        for clause in self.clauses():
            for _, phrase in clause.roles():
                yield from phrase.parts
