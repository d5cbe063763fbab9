"""Sentences of one main clause in the embedded corpus: statements, questions, relative clauses."""

from data.corpus.generator.clauses import ClauseSampler, suits
from data.corpus.generator.phrases import HUMAN, pronoun
from data.corpus.generator.tree import NO_NOUN, Clause, Phrase, Tree

QUESTIONS = ("yes_no", "yes_no", "what", "where", "when", "why", "who", "how many")


class SentenceSampler(ClauseSampler):
    """Draws sentences of one main clause; the same seed draws the same ones."""

    def statement(self, negated: bool = False) -> Tree | None:
        """Draw "The man reads a book." and what can be added to it; or its denial."""
        clause = self.activity(negated=negated)
        return Tree(clause) if clause else None

    def description(self) -> Tree | None:
        """Draw "The soup is hot."."""
        clause = self.state()
        return Tree(clause) if clause else None

    def question(self) -> Tree | None:
        """Draw a question of one of seven kinds."""
        verb = self.rng.choice(self.verbs)
        ask = self.rng.choice(QUESTIONS)
        subject = self.subject(verb.subjects, definite=True)
        if subject.pronoun in ("I", "we"):
            subject = Phrase(pronoun="you")
        subject.det = "your" if subject.det in ("my", "our") else subject.det
        if ask == "who":
            if verb.subjects.isdisjoint(HUMAN):
                return None
            subject = Phrase(pronoun="he")
        tense = "past" if ask == "when" else ""
        must = frozenset({"must"})
        clause = self.activity(subject, verb, tense, besides=must, bare=ask != "yes_no")
        if clause is None or not _askable(clause, ask):
            return None
        clause.ask, clause.fronted = ask, ""
        if ask in ("where", "when"):
            clause.place = clause.time = None
        if clause.time is not None and not clause.time.at_end:
            clause.time = None
        return Tree(clause)

    def with_relative(self) -> Tree | None:
        """Draw a statement, one of whose nouns has a relative clause."""
        clause = self.state() if self.chance(0.3) else self.activity()
        return Tree(clause) if clause and self.relate(clause) else None

    def relate(self, clause: Clause) -> bool:
        """Add a relative clause to the object or the subject of a clause, if one fits."""
        for phrase in (clause.object, clause.subject):
            if phrase is None or phrase.noun is NO_NOUN or phrase.count or phrase.of("mass"):
                continue
            if phrase.det not in ("the", "a") or (phrase is clause.object and not _last(clause)):
                continue
            living = not _thing(phrase)
            if living and not phrase.of(*HUMAN):
                continue
            relative = self._who_clause(phrase) if living else self._that_clause(phrase, clause)
            if relative is None or _repeats(clause, relative):
                continue
            phrase.relative = relative
            if not living:
                phrase.det = "the"
            return not (living and phrase is clause.object and clause.negated)
        return False

    def _who_clause(self, head: Phrase) -> Clause | None:
        """Draw "who is wearing a red hat", "who repaired the car"."""
        done = [verb.name for verb in self.verbs if verb.result]
        verb = self.lexicon.verbs[self.rng.choice(["wear", "have"] if self.chance(0.4) else done)]
        if not head.of(*verb.subjects):
            return None
        clause = self.activity(head, verb, "past" if verb.result else "present", bare=True)
        if clause is None or (clause.object is not None and clause.object.det == "own"):
            return None
        clause.gap = "subject"
        return clause

    def _that_clause(self, head: Phrase, outer: Clause) -> Clause | None:
        """Draw "that the woman bought yesterday"."""
        pool = [v for v in self.verbs if v.result and head.of(*v.objects) and v is not outer.verb]
        if not pool:
            return None
        verb = self.rng.choice(pool)
        besides = outer.subject if outer.subject is not head else None
        subject = self.subject(verb.subjects, definite=True, besides=besides)
        if not suits(verb, subject, "past"):
            return None
        if besides is not None and (
            subject.pronoun in ("he", "she") or subject.noun is besides.noun or subject.joined
        ):
            return None
        clause = Clause(subject=subject, verb=verb, object=head, tense="past", gap="object")
        if verb.recipient:
            clause.recipient = pronoun(self.rng.choice(("I", "we")))
            if subject.person != 3:
                return None
        if self.chance(0.25) and outer.time is None and not verb.timeless:
            clause.time = self.time("past", verb)
        return clause


def _askable(clause: Clause, ask: str) -> bool:
    """Return whether the question can be asked of the clause."""
    verb, said = clause.verb, clause.object
    if ask in ("where", "when", "why") and said is not None and said.det == "a":
        return False
    if ask == "where":
        return bool(verb.places) and not verb.direction and not verb.en_prep
    if ask == "why":
        return bool(verb.reasons) and clause.modal is None
    if ask == "who":
        return not (said is not None and said.det == "own") and not clause.negated
    if ask == "what":
        direct = not verb.en_prep and verb.de_case == "accusative"
        return _thing(said) and direct and not verb.definite
    if ask == "how many":
        if said is None or not _thing(said) or not said.noun.en_plural:
            return False
        if verb.singular or verb.en_prep:
            return False
        said.det, said.plural, said.adjectives, said.count = "a", True, (), 2
        return verb.present == "never" or clause.past
    return True


def _thing(phrase: Phrase | None) -> bool:
    if phrase is None or phrase.noun is NO_NOUN:
        return False
    return not phrase.of(*HUMAN, "kin", "name", "animal", "baby")


def _last(clause: Clause) -> bool:
    """Return whether the object ends the clause, so that what follows is said of it."""
    late = clause.place if clause.fronted != "place" else None
    later = clause.time if clause.fronted != "time" else None
    return not (late or later or clause.recipient or clause.second or clause.verb.timeless)


def _repeats(clause: Clause, relative: Clause) -> bool:
    """Return whether the relative clause says again what the clause has."""
    head = relative.subject if relative.gap == "subject" else relative.object
    nouns = {phrase.noun for _, phrase in clause.roles()}
    said = {phrase.noun for _, phrase in relative.roles() if phrase is not head}
    return clause.verb is relative.verb or bool(nouns & said - {NO_NOUN})
