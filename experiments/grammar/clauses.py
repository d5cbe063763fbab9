"""Clauses of the embedded corpus, drawn at random from what the word lists allow."""

from random import Random

from experiments.grammar.lexicon import Adjective, Lexicon, Noun, Place, Time, Verb
from experiments.grammar.phrases import HUMAN, PhraseSampler
from experiments.grammar.tree import Clause, Phrase

TENSES = ("present", "present", "past", "modal")
VOWELS = "aeéêèiouhœ"


class ClauseSampler(PhraseSampler):
    """Draws clauses; the same seed draws the same ones."""

    def __init__(self, lexicon: Lexicon, rng: Random) -> None:
        super().__init__(lexicon, rng)
        self.verbs = tuple(verb for verb in lexicon.verbs.values() if not verb.complement)
        self.durative = tuple(verb for verb in self.verbs if verb.durative)

    def time(self, when: str, verb: Verb | None = None) -> Time:
        """Draw an expression of time for a tense: "present", "past", "habit" or "modal"."""
        kinds = {when, "moment"} if verb is not None and verb.moment else {when}
        return self.rng.choice([time for time in self.lexicon.times if kinds <= time.when])

    def place(self, verb: Verb, clause: Clause) -> Place | None:
        """Draw a place where, or to which, a verb can be done."""
        said = clause.object.noun if clause.object is not None else None
        if "shop" in verb.places and said is not None and "food" not in said.classes:
            return None  # markets and supermarkets sell food
        return self._fitting_place(verb.places, clause, verb.direction)

    def _fitting_place(
        self, tags: frozenset[str], clause: Clause, direction: bool = False
    ) -> Place | None:
        """Draw a place of one of the tags: wild animals in the forest, farm animals outdoors."""
        heads = [phrase.noun.classes for _, phrase in clause.roles() if phrase.noun is not None]
        kinds = frozenset().union(*heads)
        where = "forest" if "wild" in kinds else "outdoors" if "farm" in kinds else ""
        pool = [
            place
            for place in self.lexicon.places
            if not tags.isdisjoint(place.tags)
            and (place.to["en"] or not direction)
            and (not where or where in place.tags)
        ]
        return self.rng.choice(pool) if pool else None

    def activity(
        self,
        subject: Phrase | None = None,
        verb: Verb | None = None,
        tense: str = "",
        negated: bool = False,
        besides: frozenset[str] = frozenset(),
        bare: bool = False,
    ) -> Clause | None:
        """Draw a clause about someone doing something; None where the parts do not fit.

        Args:
            tense: "present", "past" or "modal"; drawn where empty.
            besides: Modals that do not fit.
            bare: Leave out time and most places.
        """
        verb = verb or self.rng.choice(self.verbs)
        subject = subject or self.subject(verb.subjects, definite=negated)
        tense = tense or self.rng.choice(TENSES)
        if not self._suits(verb, subject, tense):
            return None
        clause = Clause(subject=subject, verb=verb, negated=negated)
        if verb.objects and not self._give_object(clause, tense):
            return None
        if verb.recipient and not self._give_recipient(clause):
            return None
        if tense == "past":
            clause.tense = "past"
        elif tense == "modal":
            modals = self.lexicon.modals
            fitting = {name for name in verb.modals if modals[name].negated or not negated}
            names = sorted(fitting - besides)
            if not names:
                return None
            clause.modal = modals[self.rng.choice(names)]
            if clause.modal.fr_past and self.chance(0.3):
                clause.tense = "past"
        self._settle(clause, bare)
        return clause

    def _suits(self, verb: Verb, subject: Phrase, tense: str) -> bool:
        """Whether the verb can be said of the subject in the tense, alike in three languages."""
        if tense == "present" and verb.present == "never":
            return False
        if tense == "modal":
            return bool(verb.modals)
        if tense == "past":
            unclear = verb.en[0] == verb.en[3] and subject.slot != 2
            unknown = verb.fr_aux != "avoir" and subject.person != 3
            return verb.past and not unclear and not unknown
        return True

    def _give_object(self, clause: Clause, tense: str) -> bool:
        verb, subject = clause.verb, clause.subject
        assert verb is not None
        said = self.object(verb, subject, clause.negated)
        if said is None:
            said = self._object_pronoun(verb, subject, tense)
        if said is None or (clause.negated and said.count):
            return False
        if said.joined is None and "food" in verb.objects and self.chance(0.12):
            said = self._two_foods(verb, said, clause.negated)
        clause.object = said
        return True

    def _two_foods(self, verb: Verb, first: Phrase, negated: bool) -> Phrase:
        """Join a second object of the same kind: "an apple and a pear"."""
        noun = self.noun(verb.objects & {"food"}, first)
        if negated or noun is None or first.noun is None or "food" not in first.noun.classes:
            return first
        if first.det != "a" or first.adjectives or first.plural:
            return first
        return Phrase(plural=True, joined=(first, self.plain(noun, "a")))

    def _object_pronoun(self, verb: Verb, subject: Phrase, tense: str) -> Phrase | None:
        """Draw an object pronoun whose gender French shows: "l'a vue", not "l'aime"."""
        if "pronoun" not in verb.objects or subject.joined is not None:
            return None
        elides = verb.fr[0][0] in VOWELS
        third = () if elides and tense != "past" else ("he", "she")
        first = ("I", "you", "we") if tense != "past" else ()
        pool = [text for text in (*third, *first) if text != subject.pronoun]
        if subject.person == 1:
            pool = [text for text in pool if text not in ("I", "we")]
        if not pool:
            return None
        text = self.rng.choice(pool)
        gender = "f" if text == "she" else "m"
        return Phrase(pronoun=text, plural=text == "we", gender=gender)

    def _give_recipient(self, clause: Clause) -> bool:
        verb, subject = clause.verb, clause.subject
        assert verb is not None
        if self.chance(0.25):
            texts = ("you",) if subject.person == 1 else ("I", "we", "you")
            pool = [text for text in texts if text != subject.pronoun]
            text = self.rng.choice(pool)
            clause.recipient = Phrase(pronoun=text, plural=text == "we")
            return True
        if self.chance(0.2):
            clause.recipient = self.name()
            return subject.noun is not clause.recipient.noun and subject.joined is None
        noun = self.noun(verb.recipient, subject)
        if noun is None:
            return False
        if "kin" in noun.classes:
            clause.recipient = self._owned(noun, subject, False, self.chance(0.7))
            return True
        plural = self.chance(0.25)
        clause.recipient = self.describe(self.plain(noun, "the", plural), 0.25)
        return True

    def _settle(self, clause: Clause, bare: bool) -> None:
        """Give a clause its time and place, at its end or in front."""
        verb = clause.verb
        assert verb is not None
        if verb.places and not clause.negated:
            if verb.needs_place or verb.direction or self.chance(0.1 if bare else 0.35):
                clause.place = self.place(verb, clause)
        elif verb.needs_place or verb.direction:
            clause.place = self.place(verb, clause)
        if bare:
            return
        if not verb.timeless:
            self._give_time(clause)
        draw = self.rng.random()
        if clause.time is not None and (draw < 0.4 or not clause.time.at_end):
            clause.fronted = "time"
        elif clause.place is not None and draw < 0.25 and not (verb.needs_place or verb.direction):
            clause.fronted = "place" if clause.tense != "past" and clause.modal is None else ""

    def _give_time(self, clause: Clause) -> None:
        verb, said = clause.verb, clause.object
        assert verb is not None
        if clause.modal is not None:
            if clause.tense == "present" and clause.modal.name != "can" and self.chance(0.4):
                clause.time = self.time("modal", verb)
            elif clause.tense == "past" and self.chance(0.4):
                clause.time = self.time("past", verb)
        elif clause.tense == "past":
            clause.time = self.time("past", verb) if self.chance(0.55) else None
        elif verb.present == "progressive":
            noun = said.noun if said is not None else None
            usual = "yes" in verb.habit or (
                noun is not None and not noun.classes.isdisjoint(verb.habit)
            )
            if usual and not clause.negated and self._general(said) and self.chance(0.4):
                clause.tense, clause.time = "habit", self.time("habit")
            elif self.chance(0.25) and not clause.negated:
                clause.time = self.time("present", verb)

    @staticmethod
    def _general(said: Phrase | None) -> bool:
        """Whether an object is one of which something can be done every day."""
        if said is None:
            return True
        if said.joined is not None or said.adjectives or said.count or said.noun is None:
            return False
        known = not said.noun.classes.isdisjoint({"transport", "pet", "farm", "paper"})
        return said.det in ("a", "own", "my") or (said.det == "the" and known)

    def predicates(self, noun: Noun) -> tuple[Adjective, ...]:
        """The adjectives that "to be" can join to a noun."""
        kinds = noun.classes
        return tuple(a for a in self.lexicon.adjectives if not a.predicates.isdisjoint(kinds))

    def state(self, subject: Phrase | None = None, bare: bool = False) -> Clause | None:
        """Draw a clause that says what someone or something is like, or where."""
        if subject is None:
            if self.chance(0.4):
                subject = self.subject(HUMAN | {"animal"}, definite=True)
            else:
                noun = self.rng.choice(self.lexicon.nouns)
                if "kin" in noun.classes or ("mass" in noun.classes and self.chance(0.5)):
                    return None
                plural = bool(noun.en_plural) and "single" not in noun.classes and self.chance(0.3)
                det = "this" if self.chance(0.15) else "the"
                subject = self.plain(noun, det, plural)
        clause = Clause(subject=subject, negated=self.chance(0.2))
        if self.chance(0.3):
            clause.tense = "past"
        if not self._give_state(clause):
            return None
        dated = clause.tense == "past" and not bare and self.chance(0.5)
        if dated and self._passing(clause):
            clause.time, clause.fronted = self.time("past"), "time"
        return clause

    def _give_state(self, clause: Clause) -> bool:
        """Give a clause a place or an adjective that fits its subject."""
        subject = clause.subject
        head = subject.joined[0] if subject.joined is not None else subject
        kinds = head.noun.classes if head.noun is not None else HUMAN
        living = not kinds.isdisjoint(HUMAN | {"animal", "kin", "name"})
        if (living or "small_thing" in kinds) and self.chance(0.35):
            human = living and "animal" not in kinds
            tags = (
                {"home", "town", "outdoors"}
                if human
                else {"home", "outdoors"}
                if living
                else {"home"}
            )
            clause.place = self._fitting_place(frozenset(tags), clause)
            return clause.place is not None
        pool: tuple[Adjective, ...]
        if head.noun is not None:
            pool = self.predicates(head.noun)
        else:
            pool = tuple(a for a in self.lexicon.adjectives if "adult" in a.predicates)
        if subject.person != 3:
            pool = tuple(a for a in pool if a.fr == a.fr_feminine)
        pool = tuple(a for a in pool if a not in subject.adjectives)
        if not pool:
            return False
        clause.predicate = self.rng.choice(pool)
        return True

    @staticmethod
    def _passing(clause: Clause) -> bool:
        """Whether a state passes, so that a day can be named for it."""
        predicate = clause.predicate
        return predicate is None or predicate.en in ("tired", "sick", "happy", "sad", "dirty")
