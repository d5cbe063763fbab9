"""Noun phrases of the embedded corpus, drawn at random from what the word lists allow."""

from collections.abc import Iterable
from functools import cached_property
from random import Random

from experiments.grammar.lexicon import Adjective, Lexicon, Noun, Verb
from experiments.grammar.tree import Phrase

HUMAN = frozenset({"adult", "child"})
COUNTS = (2, 2, 2, 3, 3, 3, 4, 4, 5, 5, 6, 7, 8, 9, 10)


class PhraseSampler:
    """Draws noun phrases; the same seed draws the same ones."""

    def __init__(self, lexicon: Lexicon, rng: Random) -> None:
        self.lexicon = lexicon
        self.rng = rng
        self._nouns: dict[frozenset[str], tuple[Noun, ...]] = {}

    @cached_property
    def attributes(self) -> dict[Noun, tuple[Adjective, ...]]:
        """The adjectives that can stand beside each noun."""
        return {
            noun: tuple(
                a for a in self.lexicon.adjectives if not a.attributes.isdisjoint(noun.classes)
            )
            for noun in self.lexicon.nouns
        }

    def chance(self, probability: float) -> bool:
        """Draw yes or no."""
        return self.rng.random() < probability

    def nouns(self, classes: frozenset[str]) -> tuple[Noun, ...]:
        """Every noun of one of the classes."""
        if classes not in self._nouns:
            every = (n for n in self.lexicon.nouns if not n.classes.isdisjoint(classes))
            self._nouns[classes] = tuple(every)
        return self._nouns[classes]

    def noun(self, classes: Iterable[str], besides: Phrase | None = None) -> Noun | None:
        """Draw a noun of one of the classes, other than that of a given phrase."""
        taken = None if besides is None else besides.noun
        pool = [noun for noun in self.nouns(frozenset(classes)) if noun is not taken]
        return self.rng.choice(pool) if pool else None

    def describe(self, phrase: Phrase, probability: float = 0.35) -> Phrase:
        """Give a phrase an adjective, at times a second one of the kind that French puts after."""
        assert phrase.noun is not None
        fitting = self.attributes[phrase.noun]
        if fitting and self.chance(probability):
            first = self.rng.choice(fitting)
            phrase.adjectives = (first,)
            colours = [a for a in fitting if "coloured" in a.attributes]
            if first.en in ("small", "big") and colours and self.chance(0.3):
                phrase.adjectives = (first, self.rng.choice(colours))
        return phrase

    def plain(self, noun: Noun, det: str = "the", plural: bool = False, number: int = 0) -> Phrase:
        """Build the phrase of a noun without drawing anything."""
        return Phrase(
            noun=noun,
            det=det,
            plural=plural,
            count=number,
            gender=noun.fr_gender,
            sex=noun.sex,
        )

    def name(self) -> Phrase:
        """Draw a person's name."""
        return self.plain(self.rng.choice(self.lexicon.names), det="")

    def pronoun(self) -> Phrase:
        """Draw a subject pronoun, "they" not among them: its gender would be unknown."""
        text = self.rng.choice(("I", "you", "he", "she", "we"))
        sex = {"he": "male", "she": "female"}.get(text)
        gender = "f" if text == "she" else "m"
        return Phrase(pronoun=text, plural=text == "we", gender=gender, sex=sex)

    def relative_of_mine(self) -> Phrase:
        """Draw "my mother", "our uncles" and the like."""
        noun = self.rng.choice(self.nouns(frozenset({"kin"})))
        plural = bool(noun.en_plural) and self.chance(0.2)
        return self.plain(noun, self.rng.choice(("my", "my", "our", "your")), plural)

    def subject(
        self, classes: frozenset[str], definite: bool = False, besides: Phrase | None = None
    ) -> Phrase:
        """Draw a subject of one of the classes.

        Args:
            definite: Leave out "a man" and "two men", which questions and denials seldom have.
            besides: A phrase whose noun is taken.
        """
        draw = self.rng.random()
        if not classes.isdisjoint(HUMAN) and draw < 0.45:
            if draw < 0.15:
                return self.pronoun()
            if draw < 0.29 and "adult" in classes:
                return self.relative_of_mine()
            if draw < 0.40:
                return self.name()
            return self._pair(classes)
        noun = self.noun(classes, besides)
        assert noun is not None
        kind = self.rng.random()
        if definite:
            kind *= 0.75
        if kind < 0.55:
            return self.describe(self.plain(noun, "this" if kind < 0.04 else "the"))
        if kind < 0.75:
            number = self.rng.choice((0, 0, 0, 2, 3)) if not definite else 0
            return self.describe(self.plain(noun, plural=True, number=number), 0.2)
        if kind < 0.88:
            return self.describe(self.plain(noun, "a"), 0.5)
        return self.describe(self.plain(noun, "a", True, self.rng.randint(2, 6)), 0.2)

    def _pair(self, classes: frozenset[str]) -> Phrase:
        """Draw two people joined by "and": two names, or two nouns."""
        if self.chance(0.5):
            first, last = self.name(), self.name()
        else:
            one = self.noun(classes & HUMAN)
            assert one is not None
            first = self.plain(one)
            other = self.noun(classes & HUMAN, first)
            assert other is not None
            last = self.plain(other)
        if first.noun is last.noun:
            return first
        gender = "f" if first.gender == last.gender == "f" else "m"
        return Phrase(plural=True, gender=gender, joined=(first, last))

    def refer(self, phrase: Phrase) -> Phrase | None:
        """Build the pronoun for a phrase; None where the three languages would not agree on one."""
        if phrase.pronoun:
            text = phrase.pronoun
        elif phrase.plural:
            text = "they"
        elif phrase.noun is not None and phrase.sex and phrase.noun.de_gender != "n":
            text = "he" if phrase.sex == "male" else "she"
        else:
            return None
        return Phrase(pronoun=text, plural=phrase.plural, gender=phrase.gender, sex=phrase.sex)

    def object(self, verb: Verb, subject: Phrase, negated: bool = False) -> Phrase | None:
        """Draw a sensible object for a verb; None where the draw finds none."""
        if "pronoun" in verb.objects and self.chance(0.25):
            return None
        if "name" in verb.objects and self.chance(0.15):
            return self.name()
        noun = self.noun(verb.objects, subject)
        if noun is None:
            return None
        if "kin" in noun.classes:
            plural = bool(noun.en_plural) and self.chance(0.2)
            return self._owned(noun, subject, plural, self.chance(0.7))
        if "owned" in noun.classes and not verb.indefinite and self.chance(0.45):
            return self._owned(noun, subject, subject.plural, True)
        if (
            "womens" in noun.classes
            and subject.sex == "male"
            and (verb.distributive or verb.indefinite)
        ):
            return None
        if verb.distributive and subject.plural:
            return self.describe(self.plain(noun, "a", True), 0.6)
        if "mass" in noun.classes:
            bare = self.chance(0.75) and not verb.definite
            return self.describe(self.plain(noun, "a" if bare else "the"), 0.25)
        return self._free(noun, verb, negated)

    def _free(self, noun: Noun, verb: Verb, negated: bool) -> Phrase:
        """Draw the determiner and number of an object that belongs to nobody in particular."""
        draw = self.rng.random()
        adjective = 0.0 if negated else 0.45
        living = not noun.classes.isdisjoint(HUMAN)
        if (
            verb.singular
            or verb.distributive
            or draw < 0.7
            or "single" in noun.classes
            or not noun.en_plural
        ):
            known = verb.definite or (negated and not noun.classes.isdisjoint(HUMAN | {"animal"}))
            indefinite = verb.indefinite or (not known and self.chance(0.5))
            det = "a" if indefinite else "this" if self.chance(0.12) else "the"
            return self.describe(self.plain(noun, det), adjective)
        if verb.indefinite or (draw < 0.88 and not verb.definite):
            if negated and (living or "food" not in noun.classes):
                return self.plain(noun, plural=True)
            number = 0 if not living and self.chance(0.35) else self.rng.choice(COUNTS)
            return self.describe(self.plain(noun, "a", True, number), adjective * 0.6)
        return self.describe(self.plain(noun, plural=True), adjective)

    def _owned(self, noun: Noun, subject: Phrase, plural: bool, own: bool) -> Phrase:
        """Build "his key" or "my mother" as an object."""
        reference = self.refer(subject)
        if own and reference is not None:
            phrase = self.plain(noun, "own", plural)
            phrase.owner = reference
            return phrase
        mine = "kin" in noun.classes and subject.person == 3
        return self.plain(
            noun, "my" if mine else "the" if "kin" not in noun.classes else "our", plural
        )
