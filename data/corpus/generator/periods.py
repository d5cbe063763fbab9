"""Sentences of several clauses in the embedded corpus: subordination and coordination."""

from collections.abc import Callable
from functools import partial

from data.corpus.generator.phrases import plain, refer
from data.corpus.generator.sentences import SentenceSampler
from data.corpus.generator.tree import TO_BE, Clause, Phrase, Tree

MOODS = {"happy", "sad", "tired", "sick"}


class PeriodSampler(SentenceSampler):
    """Draws sentences of one clause or several; the same seed draws the same ones."""

    def ordinary(self) -> Tree | None:
        """Draw a sentence of any of the patterns; None if the parts do not fit."""
        patterns: dict[Callable[[], Tree | None], int] = {
            self.statement: 30,
            partial(self.statement, negated=True): 10,
            self.description: 11,
            self.question: 16,
            self.with_relative: 20,
            self.with_that: 8,
            self.with_because: 8,
            self.with_while: 4,
            self.coordinated: 7,
        }
        return self.rng.choices([*patterns], [*patterns.values()])[0]()

    def long(self) -> Tree | None:
        """Draw a sentence of several clauses; None if the parts do not fit."""
        return self.rng.choice((self._long_that, self._long_while, self._long_and))()

    def with_that(self) -> Tree | None:
        """Draw "Anna says that ..." or "Anna does not know whether ..."."""
        conjunction = "whether" if self.chance(0.35) else "that"
        outer = self._thinker(conjunction)
        if outer.verb.name == "hope":
            modals = frozenset(self.lexicon.modals) - {"can"}
            tense = self.rng.choice(("past", "modal"))
            inner = self.activity(tense=tense, besides=modals, bare=True)
        else:
            inner = self.state(bare=True) if self.chance(0.3) else self.activity(bare=True)
        if inner is None or _same(outer.subject, inner.subject):
            return None
        return Tree(outer, [(conjunction, inner)])

    def _thinker(self, conjunction: str) -> Clause:
        """Draw "Anna thinks" before "that"; "she asks", "he wants to know" before "whether"."""
        verbs = [v for v in self.lexicon.verbs.values() if conjunction in v.complement]
        verb = self.rng.choice(verbs)
        subject = self.subject(verb.subjects, definite=True)
        clause = Clause(subject=subject, verb=verb)
        if conjunction == "that":
            if subject.pronoun == "you" or (subject.pronoun == "I" and verb.name == "say"):
                clause.subject = self.name()
        elif "that" in verb.complement:
            if self.chance(0.5):
                clause.negated = True
            else:
                clause.modal = self.lexicon.modals["want"]
        return clause

    def with_because(self) -> Tree | None:
        """Draw "The child is sleeping because he is tired." and purposes of going somewhere."""
        return self._purpose() if self.chance(0.35) else self._reason()

    def _reason(self) -> Tree | None:
        pool = [verb for verb in self.verbs if verb.reasons]
        denied = self.chance(0.35)
        verb = self.rng.choice(self.durative if denied else pool)
        tense = "present" if denied or self.chance(0.6) else "past"
        clause = self.activity(verb=verb, tense=tense, negated=denied, bare=True)
        if clause is None:
            return None
        if denied:
            if (clause.object and clause.object.pronoun) or "can" not in verb.modals:
                return None
            clause.modal = self.lexicon.modals["can"]
        reason = self.rng.choice(("tired", "sick") if denied else sorted(verb.reasons))
        adjective = next(a for a in self.lexicon.adjectives if a.en == reason)
        reference = refer(clause.subject)
        if reference is None or MOODS & {each.en for each in clause.subject.adjectives}:
            return None
        if reference.person != 3 and adjective.fr != adjective.fr_feminine:
            return None
        why = Clause(subject=reference, predicate=adjective, tense=tense)
        return Tree(clause, [("because", why)])

    def _purpose(self) -> Tree | None:
        """Draw "Anna is going to the market because she wants to buy apples."."""
        place = self.rng.choice([place for place in self.lexicon.places if place.purposes])
        name, _, kind = self.rng.choice(place.purposes.split()).partition(":")
        subject = self.subject(frozenset({"adult"}))
        reference = refer(subject)
        verb = next(v for v in self.verbs if name in (v.name, v.name.split()[0]))
        if reference is None or "adult" not in verb.subjects or "want" not in verb.modals:
            return None
        go = Clause(subject=subject, verb=self.lexicon.verbs["go"], place=place)
        want = Clause(subject=reference, verb=verb, modal=self.lexicon.modals["want"])
        if kind:
            noun = self.noun({kind})
            mass = "mass" in noun.classes
            want.object = plain(noun, "a") if mass else self.nobodys(noun, verb, False)
        return Tree(go, [("because", want)])

    def with_while(self) -> Tree | None:
        """Draw "While the father is reading, the children are playing."."""
        if (pair := self._two(("present",))) is None:
            return None
        first, last = pair
        return Tree(last, leading=first) if self.chance(0.5) else Tree(first, [("while", last)])

    def _two(self, tenses: tuple[str, ...]) -> tuple[Clause, Clause] | None:
        """Draw two clauses at the same time, of different people and different verbs."""
        tense = self.rng.choice(tenses)
        verbs = self.rng.sample(self.durative, 2)
        first, last = (
            self.activity(self.subject(verb.subjects, definite=True), verb, tense, bare=True)
            for verb in verbs
        )
        if first is None or last is None or _same(first.subject, last.subject):
            return None
        if any(each.subject.pronoun in ("he", "she") for each in (first, last)):
            return None
        return first, last

    def coordinated(self) -> Tree | None:
        """Draw two clauses, or two verb phrases of one subject, joined by "and" or "but"."""
        if self.chance(0.5):
            clause = self._two_verbs()
            return Tree(clause) if clause else None
        if (pair := self._two(("present", "past"))) is None:
            return None
        first, last = pair
        return Tree(first, [("and" if self.chance(0.5) else "but", last)])

    def _two_verbs(self) -> Clause | None:
        """Draw "The man is reading a book and drinking coffee."."""
        pool = [verb for verb in self.durative if verb.objects and not verb.en_prep]
        first, last = self.rng.sample(pool, 2)
        tense = self.rng.choice(("present", "past", "modal"))
        clause = self.activity(verb=first, tense=tense, bare=True)
        if clause is None or clause.place is not None or last.subjects != first.subjects:
            return None
        told = "past" if tense == "past" else "present"
        second = self.activity(clause.subject, last, told, bare=True)
        if second is None or second.place or (clause.object and clause.object.pronoun):
            return None
        if clause.modal is not None:
            if clause.modal.name not in last.modals:
                return None
            second.modal, second.tense = clause.modal, clause.tense
        second.gap = "subject"
        clause.second = second
        return clause

    def _long_that(self) -> Tree | None:
        if (tree := self.with_that()) is None:
            return None
        _, inner = tree.links[0]
        if inner.verb is TO_BE or (not self.relate(inner) and not self.chance(0.3)):
            return None
        return self._extend(tree, inner)

    def _extend(self, tree: Tree, last: Clause) -> Tree | None:
        """Add a reason, or a contrast, to a sentence whose last clause is given."""
        verb = self.rng.choice(self.verbs)
        subject = self.subject(verb.subjects, definite=True)
        other = self.activity(subject, verb, "past" if last.past else "present", bare=True)
        if other is None or other.subject.pronoun in ("he", "she"):
            return None
        if any(_same(clause.subject, other.subject) for clause in tree.clauses()):
            return None
        before = tree.links[-1][0] if tree.links else ""
        if before == "while" or self.chance(0.5):
            conjunction = "but"
        else:
            conjunction = f"and {before}" if before in ("that", "whether") else "and"
        tree.links.append((conjunction, other))
        return tree

    def _long_while(self) -> Tree | None:
        if (tree := self.with_while()) is None:
            return None
        clauses = [tree.main, *(clause for _, clause in tree.links)]
        related = [self.relate(clause) for clause in clauses]
        return tree if any(related) else self._extend(tree, clauses[-1])

    def _long_and(self) -> Tree | None:
        if (tree := self.coordinated()) is None:
            return None
        if tree.links and self.chance(0.5):
            self.relate(tree.main)
            return tree
        return self._extend(tree, tree.links[-1][1] if tree.links else tree.main)


def _same(one: Phrase, other: Phrase) -> bool:
    """Return whether two subjects could be taken for one another."""
    if one.pronoun and other.pronoun:
        return (one.person, one.sex) == (other.person, other.sex)
    nouns = [part.noun for phrase in (one, other) for part in phrase.parts]
    return not one.pronoun and not other.pronoun and len({*nouns}) < len(nouns)
