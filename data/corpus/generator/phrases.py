"""Noun phrases of the embedded corpus, drawn at random from what the word lists allow."""

from collections.abc import Iterable
from random import Random

from data.corpus.generator.lexicon import Lexicon, Noun, Verb
from data.corpus.generator.tree import Phrase

HUMAN = frozenset({"adult", "child"})
COUNTS = (2, 2, 2, 3, 3, 3, 4, 4, 5, 5, 6, 7, 8, 9, 10)


def plain(noun: Noun, det: str = "the", plural: bool = False, number: int = 0) -> Phrase:
    """Build the phrase of a noun, which gives it gender and sex."""
    return Phrase(noun, det, plural, number, gender=noun.fr_gender, sex=noun.sex)


def pronoun(text: str) -> Phrase:
    """Build the phrase of a personal pronoun other than "they"."""
    sex = {"he": "male", "she": "female"}.get(text)
    gender = "f" if text == "she" else "m"
    return Phrase(pronoun=text, plural=text == "we", gender=gender, sex=sex)


def refer(phrase: Phrase) -> Phrase | None:
    """Build the pronoun for a phrase; None if the three languages would not agree on one."""
    text = phrase.pronoun or ("they" if phrase.plural else "")
    if not text and phrase.sex and phrase.noun.de_gender != "n":
        text = "he" if phrase.sex == "male" else "she"
    if not text:
        return None
    return Phrase(pronoun=text, plural=phrase.plural, gender=phrase.gender, sex=phrase.sex)


class PhraseSampler:
    """Draws noun phrases; the same seed draws the same ones."""

    def __init__(self, lexicon: Lexicon, rng: Random) -> None:
        self.lexicon = lexicon
        self.rng = rng

    def chance(self, probability: float) -> bool:
        """Draw yes or no."""
        return self.rng.random() < probability

    def noun(self, classes: Iterable[str], besides: Phrase | None = None) -> Noun:
        """Draw a noun of one of the classes, other than that of a given phrase."""
        taken, kinds = besides and besides.noun, frozenset(classes)
        nouns = (n for n in self.lexicon.nouns if not n.classes.isdisjoint(kinds))
        return self.rng.choice([noun for noun in nouns if noun is not taken])

    def describe(self, phrase: Phrase, probability: float = 0.35) -> Phrase:
        """Add an adjective to a phrase, at times a second that French puts after the noun."""
        fitting = [a for a in self.lexicon.adjectives if phrase.of(*a.attributes)]
        if fitting and self.chance(probability):
            first = self.rng.choice(fitting)
            phrase.adjectives = (first,)
            colours = [a for a in fitting if "coloured" in a.attributes]
            if first.en in ("small", "big") and colours and self.chance(0.3):
                phrase.adjectives = (first, self.rng.choice(colours))
        return phrase

    def name(self) -> Phrase:
        """Draw a person's name."""
        return plain(self.rng.choice(self.lexicon.names), det="")

    def subject(
        self, classes: frozenset[str], definite: bool = False, besides: Phrase | None = None
    ) -> Phrase:
        """Draw a subject of one of the classes, with another noun than that of `besides`.

        A definite one is not "a man" or "two men", which questions and denials seldom have.
        """
        draw = self.rng.random()
        if not classes.isdisjoint(HUMAN) and draw < 0.45:
            if draw < 0.15:  # not "they", whose gender would be unknown
                return pronoun(self.rng.choice(("I", "you", "he", "she", "we")))
            if draw < 0.29 and "adult" in classes:
                return self._relative_of_mine()
            return self.name() if draw < 0.40 else self._pair(classes & HUMAN)
        noun = self.noun(classes, besides)
        kind = self.rng.random() * (0.75 if definite else 1)
        if kind < 0.55:
            return self.describe(plain(noun, "this" if kind < 0.04 else "the"))
        if kind < 0.75:
            number = self.rng.choice((0, 0, 0, 2, 3)) if not definite else 0
            return self.describe(plain(noun, plural=True, number=number), 0.2)
        if kind < 0.88:
            return self.describe(plain(noun, "a"), 0.5)
        return self.describe(plain(noun, "a", True, self.rng.randint(2, 6)), 0.2)

    def _relative_of_mine(self) -> Phrase:
        """Draw "my mother", "our uncles" and the like."""
        noun = self.noun({"kin"})
        plural = bool(noun.en_plural) and self.chance(0.2)
        return plain(noun, self.rng.choice(("my", "my", "our", "your")), plural)

    def _pair(self, classes: frozenset[str]) -> Phrase:
        """Draw two people joined by "and": two names, or two nouns."""
        if self.chance(0.5):
            first, last = self.name(), self.name()
        else:
            first = plain(self.noun(classes))
            last = plain(self.noun(classes, first))
        if first.noun is last.noun:
            return first
        gender = "f" if first.gender == last.gender == "f" else "m"
        return Phrase(plural=True, gender=gender, joined=(first, last))

    def object(self, verb: Verb, subject: Phrase, negated: bool = False) -> Phrase | None:
        """Draw a sensible object for a verb; None if the draw finds none."""
        if "pronoun" in verb.objects and self.chance(0.25):
            return None
        if "name" in verb.objects and self.chance(0.15):
            return self.name()
        noun = self.noun(verb.objects, subject)
        if "kin" in noun.classes:
            plural = bool(noun.en_plural) and self.chance(0.2)
            return self.owned(noun, subject, plural, self.chance(0.7))
        if "owned" in noun.classes and not verb.indefinite and self.chance(0.45):
            return self.owned(noun, subject, subject.plural, True)
        each_has_one = verb.distributive or verb.indefinite
        if "womens" in noun.classes and subject.sex == "male" and each_has_one:
            return None
        if verb.distributive and subject.plural:
            return self.describe(plain(noun, "a", True), 0.6)
        if "mass" in noun.classes:
            bare = self.chance(0.75) and not verb.definite
            return self.describe(plain(noun, "a" if bare else "the"), 0.25)
        return self.nobodys(noun, verb, negated)

    def nobodys(self, noun: Noun, verb: Verb, negated: bool) -> Phrase:
        """Draw the determiner and number of an object that belongs to nobody in particular."""
        draw = self.rng.random()
        adjective = 0.0 if negated else 0.45
        living = not noun.classes.isdisjoint(HUMAN)
        single = verb.singular or verb.distributive or "single" in noun.classes
        if single or draw < 0.7 or not noun.en_plural:
            known = verb.definite or (negated and (living or "animal" in noun.classes))
            indefinite = verb.indefinite or (not known and self.chance(0.5))
            det = "a" if indefinite else "this" if self.chance(0.12) else "the"
            return self.describe(plain(noun, det), adjective)
        if verb.indefinite or (draw < 0.88 and not verb.definite):
            if negated and (living or "food" not in noun.classes):
                return plain(noun, plural=True)
            number = 0 if not living and self.chance(0.35) else self.rng.choice(COUNTS)
            return self.describe(plain(noun, "a", True, number), adjective * 0.6)
        return self.describe(plain(noun, plural=True), adjective)

    def owned(self, noun: Noun, subject: Phrase, plural: bool, own: bool) -> Phrase:
        """Build "his key" or "my mother" as an object."""
        reference = refer(subject)
        if own and reference is not None:
            phrase = plain(noun, "own", plural)
            phrase.owner = reference
            return phrase
        if "kin" not in noun.classes:
            return plain(noun, "the", plural)
        return plain(noun, "my" if subject.person == 3 else "our", plural)
