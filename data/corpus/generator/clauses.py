"""Clauses of the embedded corpus, drawn at random from what the word lists allow."""

from random import Random

from data.corpus.generator.lexicon import Lexicon, Place, Time, Verb
from data.corpus.generator.phrases import HUMAN, PhraseSampler, plain, pronoun
from data.corpus.generator.tree import NO_NOUN, Clause, Phrase

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
        kinds = {when, "moment"} if verb and verb.moment else {when}
        return self.rng.choice([time for time in self.lexicon.times if kinds <= time.when])

    def place(self, tags: frozenset[str], clause: Clause) -> Place | None:
        """Draw a place of one of the tags: wild animals in the forest, farm animals outdoors."""
        kinds = frozenset[str]().union(*(phrase.noun.classes for _, phrase in clause.roles()))
        where = "forest" if "wild" in kinds else "outdoors" if "farm" in kinds else ""
        pool = [each for each in self.lexicon.places if not tags.isdisjoint(each.tags)]
        pool = [each for each in pool if each.en_to or not clause.verb.direction]
        pool = [each for each in pool if not where or where in each.tags]
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
        """Draw a clause about someone doing something; None if the parts do not fit.

        What is not given is drawn; `besides` are modals that do not fit, and a `bare` clause has
        no time and seldom a place.
        """
        verb = verb or self.rng.choice(self.verbs)
        subject = subject or self.subject(verb.subjects, definite=negated)
        tense = tense or self.rng.choice(TENSES)
        if not suits(verb, subject, tense):
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
        self._give_place_and_time(clause, bare)
        return clause

    def _give_object(self, clause: Clause, tense: str) -> bool:
        verb, subject = clause.verb, clause.subject
        said = self.object(verb, subject, clause.negated)
        said = said or self._object_pronoun(verb, subject, tense)
        if said is None or (clause.negated and said.count):
            return False
        if "food" in verb.objects and self.chance(0.12):
            said = self._two_foods(verb, said, clause.negated)
        clause.object = said
        return True

    def _two_foods(self, verb: Verb, first: Phrase, negated: bool) -> Phrase:
        """Join a second object of the same kind: "an apple and a pear"."""
        noun = self.noun(verb.objects & {"food"}, first)
        described = first.det != "a" or first.adjectives or first.plural
        if negated or described or not first.of("food"):
            return first
        return Phrase(plural=True, joined=(first, plain(noun, "a")))

    def _object_pronoun(self, verb: Verb, subject: Phrase, tense: str) -> Phrase | None:
        """Draw an object pronoun whose gender French shows: "l'a vue", not "l'aime"."""
        if "pronoun" not in verb.objects or subject.joined:
            return None
        elides = verb.fr[0][0] in VOWELS
        third = () if elides and tense != "past" else ("he", "she")
        first = ("I", "you", "we") if tense != "past" else ()
        taken = {"I", "we"} if subject.person == 1 else {subject.pronoun}
        pool = [text for text in (*third, *first) if text not in taken]
        return pronoun(self.rng.choice(pool))

    def _give_recipient(self, clause: Clause) -> bool:
        verb, subject = clause.verb, clause.subject
        if self.chance(0.25):
            texts = ("you",) if subject.person == 1 else ("I", "we", "you")
            pool = [text for text in texts if text != subject.pronoun]
            clause.recipient = pronoun(self.rng.choice(pool))
            return True
        if self.chance(0.2):
            clause.recipient = self.name()
            return subject.noun is not clause.recipient.noun and not subject.joined
        noun = self.noun(verb.recipient, subject)
        if "kin" in noun.classes:
            clause.recipient = self.owned(noun, subject, False, self.chance(0.7))
        else:
            clause.recipient = self.describe(plain(noun, "the", self.chance(0.25)), 0.25)
        return True

    def _give_place_and_time(self, clause: Clause, bare: bool) -> None:
        """Add time and place to a clause, at its end or in front."""
        verb = clause.verb
        placed = verb.needs_place or verb.direction
        likely = 0.1 if bare else 0.35
        if placed or (verb.places and not clause.negated and self.chance(likely)):
            said = clause.object
            known = said is not None and said.noun is not NO_NOUN
            # markets and supermarkets sell food
            fits = "shop" not in verb.places or not known or (said is not None and said.of("food"))
            clause.place = self.place(verb.places, clause) if fits else None
        if bare:
            return
        if not verb.timeless:
            self._give_time(clause)
        draw = self.rng.random()
        if clause.time is not None and (draw < 0.4 or not clause.time.at_end):
            clause.fronted = "time"
        elif clause.place is not None and draw < 0.25 and not placed:
            clause.fronted = "place" if not clause.past and clause.modal is None else ""

    def _give_time(self, clause: Clause) -> None:
        verb, said = clause.verb, clause.object
        if clause.modal is not None:
            expected = clause.past or clause.modal.name != "can"
            if expected and self.chance(0.4):
                clause.time = self.time("past" if clause.past else "modal", verb)
        elif clause.past:
            clause.time = self.time("past", verb) if self.chance(0.55) else None
        elif verb.present == "progressive":
            usual = "yes" in verb.habit or (said is not None and said.of(*verb.habit))
            if usual and not clause.negated and _general(said) and self.chance(0.4):
                clause.tense, clause.time = "habit", self.time("habit")
            elif self.chance(0.25) and not clause.negated:
                clause.time = self.time("present", verb)

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
                subject = plain(noun, "this" if self.chance(0.15) else "the", plural)
        clause = Clause(subject=subject, negated=self.chance(0.2))
        if self.chance(0.3):
            clause.tense = "past"
        if not self._give_state(clause):
            return None
        said = clause.predicate
        passing = said is None or said.en in ("tired", "sick", "happy", "sad", "dirty")
        if clause.past and not bare and self.chance(0.5) and passing:
            clause.time, clause.fronted = self.time("past"), "time"
        return clause

    def _give_state(self, clause: Clause) -> bool:
        """Add a place or an adjective that fits its subject to a clause."""
        subject = clause.subject
        head = subject.parts[0]
        kinds = {"adult"} if head.pronoun else head.noun.classes
        living = head.pronoun or head.of(*HUMAN, "animal", "kin", "name")
        if (living or head.of("small_thing")) and self.chance(0.35):
            tags = {"home"} | ({"outdoors"} if living else set())
            tags |= {"town"} if living and not head.of("animal") else set()
            clause.place = self.place(frozenset(tags), clause)
            return clause.place is not None
        pool = [a for a in self.lexicon.adjectives if not a.predicates.isdisjoint(kinds)]
        pool = [a for a in pool if a not in subject.adjectives]
        if subject.person != 3:
            pool = [a for a in pool if a.fr == a.fr_feminine]
        if not pool:
            return False
        clause.predicate = self.rng.choice(pool)
        return True


def suits(verb: Verb, subject: Phrase, tense: str) -> bool:
    """Return whether the verb can be said of the subject in the tense, alike in three languages."""
    if tense == "past":
        unclear = verb.en[0] == verb.en[3] and subject.slot != 2
        unknown = verb.fr_aux != "avoir" and subject.person != 3
        return verb.past and not unclear and not unknown
    return bool(verb.modals) if tense == "modal" else verb.present != "never"


def _general(said: Phrase | None) -> bool:
    """Return whether an object is one of which something can be done every day."""
    if said is None or said.adjectives or said.count:
        return said is None
    known = said.of("transport", "pet", "farm", "paper")
    return said.det in ("a", "own", "my") or (said.det == "the" and known)
