"""Sentences of one main clause in the embedded corpus: statements, questions, relative clauses."""

from experiments.grammar.clauses import ClauseSampler
from experiments.grammar.phrases import HUMAN
from experiments.grammar.tree import Clause, Phrase, Tree


class SentenceSampler(ClauseSampler):
    """Draws sentences of one main clause; the same seed draws the same ones."""

    def statement(self) -> Tree | None:
        """Draw "The man reads a book." and what can be added to it."""
        clause = self.activity()
        return Tree(clause) if clause else None

    def denial(self) -> Tree | None:
        """Draw "The man does not read the book."."""
        clause = self.activity(negated=True)
        return Tree(clause) if clause else None

    def description(self) -> Tree | None:
        """Draw "The soup is hot."."""
        clause = self.state()
        return Tree(clause) if clause else None

    def question(self) -> Tree | None:
        """Draw a question of one of seven kinds."""
        verb = self.rng.choice(self.verbs)
        ask = self.rng.choice(
            ("yes_no", "yes_no", "what", "where", "when", "why", "who", "how many")
        )
        subject = self.subject(verb.subjects, definite=True)
        if subject.pronoun in ("I", "we"):
            subject = Phrase(pronoun="you")
        subject.det = "your" if subject.det in ("my", "our") else subject.det
        if ask == "who":
            if verb.subjects.isdisjoint(HUMAN):
                return None
            subject = Phrase(pronoun="he", sex=None)
        tense = "past" if ask == "when" else ""
        must = frozenset({"must"})
        clause = self.activity(subject, verb, tense, besides=must, bare=ask != "yes_no")
        if clause is None or not self._askable(clause, ask):
            return None
        clause.ask, clause.fronted = ask, ""
        if ask in ("where", "when"):
            clause.place = clause.time = None
        if clause.time is not None and not clause.time.at_end:
            clause.time = None
        return Tree(clause)

    def _askable(self, clause: Clause, ask: str) -> bool:
        """Whether the question can be asked of the clause."""
        verb, said = clause.verb, clause.object
        assert verb is not None
        if ask in ("where", "when", "why") and said is not None and said.det == "a":
            return False
        if ask == "where":
            return bool(verb.places) and not verb.direction and not verb.en_prep
        if ask == "why":
            return bool(verb.reasons) and clause.modal is None
        if ask == "what":
            things = said is not None and said.noun is not None and self._thing(said)
            return (
                things and not verb.en_prep and verb.de_case == "accusative" and not verb.definite
            )
        if ask == "how many":
            counted = said is not None and said.noun is not None and bool(said.noun.en_plural)
            if not counted or verb.singular or verb.en_prep or not self._thing(said):
                return False
            assert said is not None and said.noun is not None
            said.det, said.plural, said.adjectives, said.count = "a", True, (), 2
            return verb.present == "never" or clause.tense == "past"
        if ask == "who":
            return not (said is not None and said.det == "own") and not clause.negated
        return True

    @staticmethod
    def _thing(phrase: Phrase | None) -> bool:
        noun = phrase.noun if phrase is not None else None
        living = HUMAN | {"kin", "name", "animal", "baby"}
        return noun is not None and noun.classes.isdisjoint(living)

    def with_relative(self) -> Tree | None:
        """Draw a statement, one of whose nouns has a relative clause."""
        clause = self.state() if self.chance(0.3) else self.activity()
        if clause is None or not self._relate(clause):
            return None
        return Tree(clause)

    def _relate(self, clause: Clause) -> bool:
        """Give the object or the subject of a clause a relative clause, if one fits."""
        for phrase in (clause.object, clause.subject):
            if phrase is None or phrase.noun is None or phrase.joined or phrase.count:
                continue
            if phrase is clause.object and not self._last(clause):
                continue
            if phrase.det not in ("the", "a") or "mass" in phrase.noun.classes:
                continue
            living = not self._thing(phrase)
            if living and phrase.noun.classes.isdisjoint(HUMAN):
                continue
            relative = self._who_clause(phrase) if living else self._that_clause(phrase, clause)
            if relative is None or self._repeats(clause, relative):
                continue
            phrase.relative = relative
            if not living:
                phrase.det = "the"
            return not (living and phrase is clause.object and clause.negated)
        return False

    @staticmethod
    def _last(clause: Clause) -> bool:
        """Whether the object ends the clause, so that what follows is said of it."""
        late = clause.place if clause.fronted != "place" else None
        later = clause.time if clause.fronted != "time" else None
        timeless = clause.verb is not None and clause.verb.timeless
        return not (late or later or clause.recipient or clause.second or timeless)

    @staticmethod
    def _repeats(clause: Clause, relative: Clause) -> bool:
        """Whether the relative clause says again what the clause has."""
        nouns = {phrase.noun for _, phrase in clause.roles() if phrase.noun is not None}
        head = relative.subject if relative.gap == "subject" else relative.object
        said = {p.noun for _, p in relative.roles() if p is not head and p.noun is not None}
        return clause.verb is relative.verb or not nouns.isdisjoint(said)

    def _who_clause(self, head: Phrase) -> Clause | None:
        """Draw "who is wearing a red hat", "who repaired the car"."""
        assert head.noun is not None
        names = (
            ("wear", "have") if self.chance(0.4) else tuple(v.name for v in self.verbs if v.result)
        )
        verb = self.lexicon.verbs[self.rng.choice(names)]
        if verb.subjects.isdisjoint(head.noun.classes):
            return None
        tense = "past" if verb.result else "present"
        clause = self.activity(head, verb, tense, bare=True)
        if clause is None or (clause.object is not None and clause.object.det == "own"):
            return None
        clause.gap = "subject"
        return clause

    def _that_clause(self, head: Phrase, outer: Clause) -> Clause | None:
        """Draw "that the woman bought yesterday"."""
        assert head.noun is not None
        kinds = head.noun.classes
        pool = [v for v in self.verbs if v.result and not v.objects.isdisjoint(kinds)]
        pool = [v for v in pool if v is not outer.verb]
        if not pool:
            return None
        verb = self.rng.choice(pool)
        besides = outer.subject if outer.subject is not head else None
        subject = self.subject(verb.subjects, definite=True, besides=besides)
        if besides is not None and subject.pronoun in ("he", "she"):
            return None
        if subject.relative is not None or not self._suits(verb, subject, "past"):
            return None
        if besides is not None and (subject.noun is besides.noun or subject.joined is not None):
            return None
        clause = Clause(subject=subject, verb=verb, object=head, tense="past", gap="object")
        if verb.recipient:
            clause.recipient = Phrase(pronoun=self.rng.choice(("I", "we")))
            clause.recipient.plural = clause.recipient.pronoun == "we"
            if subject.person != 3:
                return None
        if self.chance(0.25) and outer.time is None and not verb.timeless:
            clause.time = self.time("past", verb)
        return clause
