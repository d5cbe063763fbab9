"""Sentences of several clauses in the embedded corpus: subordination and coordination."""

from collections.abc import Callable

from experiments.grammar.lexicon import Verb
from experiments.grammar.sentences import SentenceSampler
from experiments.grammar.tree import Clause, Phrase, Tree

Draw = Callable[[], Tree | None]


class PeriodSampler(SentenceSampler):
    """Draws sentences of one clause or several; the same seed draws the same ones."""

    def ordinary(self) -> Tree | None:
        """Draw a sentence of any of the patterns; None where the parts do not fit."""
        patterns: tuple[tuple[Draw, int], ...] = (
            (self.statement, 30),
            (self.denial, 10),
            (self.description, 11),
            (self.question, 16),
            (self.with_relative, 20),
            (self.with_that, 8),
            (self.with_because, 8),
            (self.with_while, 4),
            (self.coordinated, 7),
        )
        draws, weights = zip(*patterns, strict=True)
        draw: Draw = self.rng.choices(draws, weights)[0]
        return draw()

    def long(self) -> Tree | None:
        """Draw a sentence of several clauses; None where the parts do not fit."""
        draw: Draw = self.rng.choice((self._long_that, self._long_while, self._long_and))
        return draw()

    def _thinker(self) -> Clause:
        """Draw "Anna thinks", "my mother knows"."""
        pool = [verb for verb in self.lexicon.verbs.values() if "that" in verb.complement]
        verb = self.rng.choice(pool)
        subject = self.subject(verb.subjects, definite=True)
        if subject.pronoun == "you" or (subject.pronoun == "I" and verb.name == "say"):
            subject = self.name()
        return Clause(subject=subject, verb=verb)

    def _wonderer(self) -> Clause:
        """Draw "Anna asks", "she does not know", "he wants to know" before "whether"."""
        pool = [verb for verb in self.lexicon.verbs.values() if "whether" in verb.complement]
        verb = self.rng.choice(pool)
        clause = Clause(subject=self.subject(verb.subjects, definite=True), verb=verb)
        if "that" in verb.complement:
            if self.chance(0.5):
                clause.negated = True
            else:
                clause.modal = self.lexicon.modals["want"]
        return clause

    def with_that(self) -> Tree | None:
        """Draw "Anna says that ..." or "Anna does not know whether ..."."""
        whether = self.chance(0.35)
        outer = self._wonderer() if whether else self._thinker()
        assert outer.verb is not None
        if outer.verb.name == "hope":
            modals = frozenset(self.lexicon.modals) - {"can"}
            inner = self.activity(
                tense=self.rng.choice(("past", "modal")), besides=modals, bare=True
            )
        else:
            inner = self.state(bare=True) if self.chance(0.3) else self.activity(bare=True)
        if inner is None or self._same(outer.subject, inner.subject):
            return None
        return Tree(outer, [("whether" if whether else "that", inner)])

    @staticmethod
    def _same(one: Phrase, other: Phrase) -> bool:
        """Whether two subjects could be taken for one another."""
        people = {p.noun for phrase in (one, other) for p in (phrase.joined or (phrase,))}
        many = sum(len(phrase.joined or (phrase,)) for phrase in (one, other))
        both = one.pronoun and other.pronoun
        pronouns = bool(both) and (one.person, one.sex) == (other.person, other.sex)
        return pronouns or (not one.pronoun and not other.pronoun and len(people) < many)

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
            if clause.object is not None and clause.object.pronoun:
                return None
            if "can" not in verb.modals:
                return None
            clause.modal = self.lexicon.modals["can"]
        reasons = ("tired", "sick") if denied else sorted(verb.reasons)
        return self._because(clause, self.rng.choice(reasons), tense)

    def _because(self, clause: Clause, reason: str, tense: str) -> Tree | None:
        adjective = next(a for a in self.lexicon.adjectives if a.en == reason)
        reference = self.refer(clause.subject)
        moods = {adjective.en for adjective in clause.subject.adjectives}
        if reference is None or not moods.isdisjoint({"happy", "sad", "tired", "sick"}):
            return None
        if reference.person != 3 and adjective.fr != adjective.fr_feminine:
            return None
        why = Clause(subject=reference, predicate=adjective, tense=tense)
        return Tree(clause, [("because", why)])

    def _purpose(self) -> Tree | None:
        """Draw "Anna is going to the market because she wants to buy apples."."""
        place = self.rng.choice([place for place in self.lexicon.places if place.purposes])
        name, kind = self.rng.choice(place.purposes)
        subject = self.subject(frozenset({"adult"}))
        reference = self.refer(subject)
        verb = self._named(name, subject)
        if reference is None or verb is None or "want" not in verb.modals:
            return None
        go = Clause(subject=subject, verb=self.lexicon.verbs["go"], place=place)
        want = Clause(subject=reference, verb=verb, modal=self.lexicon.modals["want"])
        if kind:
            noun = self.noun({kind})
            if noun is None:
                return None
            want.object = (
                self._free(noun, verb, False)
                if "mass" not in noun.classes
                else self.plain(noun, "a")
            )
        return Tree(go, [("because", want)])

    def _named(self, name: str, subject: Phrase) -> Verb | None:
        verb = next((v for v in self.verbs if name in (v.name, v.name.split()[0])), None)
        return verb if verb is not None and "adult" in verb.subjects else None

    def with_while(self) -> Tree | None:
        """Draw "While the father is reading, the children are playing."."""
        pair = self._two(("present",))
        if pair is None:
            return None
        first, last = pair
        if self.chance(0.5):
            return Tree(last, leading=first)
        return Tree(first, [("while", last)])

    def _two(self, tenses: tuple[str, ...]) -> tuple[Clause, Clause] | None:
        """Draw two clauses at the same time, of different people and different verbs."""
        tense = self.rng.choice(tenses)
        verbs = self.rng.sample(self.durative, 2)
        first, last = (
            self.activity(self.subject(verb.subjects, definite=True), verb, tense, bare=True)
            for verb in verbs
        )
        if first is None or last is None or self._same(first.subject, last.subject):
            return None
        if any(each.subject.pronoun in ("he", "she") for each in (first, last)):
            return None
        return first, last

    def coordinated(self) -> Tree | None:
        """Draw two clauses, or two verb phrases of one subject, joined by "and" or "but"."""
        if self.chance(0.5):
            clause = self._two_verbs()
            return Tree(clause) if clause else None
        pair = self._two(("present", "past"))
        if pair is None:
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
        second = self.activity(
            clause.subject, last, "present" if tense == "modal" else tense, bare=True
        )
        if second is None or second.place is not None:
            return None
        if clause.object is not None and clause.object.pronoun:
            return None
        if tense == "modal":
            if clause.modal is None or clause.modal.name not in last.modals:
                return None
            second.modal, second.tense = clause.modal, clause.tense
        second.gap = "subject"
        clause.second = second
        return clause

    def _long_that(self) -> Tree | None:
        tree = self.with_that()
        if tree is None or tree.links[0][1].verb is None:
            return None
        inner = tree.links[0][1]
        if not self._relate(inner) and not self.chance(0.3):
            return None
        return self._extend(tree, inner)

    def _extend(self, tree: Tree, last: Clause) -> Tree | None:
        """Add a reason, or a contrast, to a sentence whose last clause is given."""
        verb = self.rng.choice(self.verbs)
        subject = self.subject(verb.subjects, definite=True)
        tense = "past" if last.tense == "past" else "present"
        other = self.activity(subject, verb, tense, bare=True)
        if other is None or other.subject.pronoun in ("he", "she"):
            return None
        if any(self._same(c.subject, other.subject) for c in tree.clauses()):
            return None
        before = tree.links[-1][0] if tree.links else ""
        if before == "while" or self.chance(0.5):
            conjunction = "but"
        else:
            conjunction = f"and {before}" if before in ("that", "whether") else "and"
        tree.links.append((conjunction, other))
        return tree

    def _long_while(self) -> Tree | None:
        tree = self.with_while()
        if tree is None:
            return None
        clauses = [tree.main, *(clause for _, clause in tree.links)]
        related = [self._relate(clause) for clause in clauses]
        return tree if any(related) else self._extend(tree, clauses[-1])

    def _long_and(self) -> Tree | None:
        tree = self.coordinated()
        if tree is None:
            return None
        last = tree.links[-1][1] if tree.links else tree.main
        if tree.links and self.chance(0.5):
            self._relate(tree.main)
            return tree
        return self._extend(tree, last)
