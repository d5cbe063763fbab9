"""What a sentence of the embedded corpus shows of grammar, and which words it combines."""

from collections.abc import Iterator

from experiments.grammar.tree import Clause, Phrase, Tree
from transformer.data.embedded import Phenomenon


def phenomena(tree: Tree) -> frozenset[Phenomenon]:
    """Name what a sentence shows of the grammar of its languages.

    Not in the paper: the course's own corpus.
    """
    found: set[Phenomenon] = set()
    for clause in tree.clauses():
        found |= _of_clause(clause)
    for phrase in tree.phrases():
        found |= _of_phrase(phrase)
    if tree.leading is not None:
        found |= {Phenomenon.VERB_SECOND, Phenomenon.VERB_FINAL}
    for conjunction, _ in tree.links:
        if conjunction.startswith(("and", "but")):
            found.add(Phenomenon.COORDINATION)
        if conjunction not in ("and", "but"):
            found.add(Phenomenon.VERB_FINAL)
    return frozenset(found)


def _of_clause(clause: Clause) -> set[Phenomenon]:
    verb, said = clause.verb, dict(clause.roles()).get("object")
    joined = any(phrase.joined is not None for _, phrase in clause.roles())
    reflexive = verb is not None and (verb.fr_aux == "se" or verb.de_reflexive)
    agreeing = verb is not None and verb.fr_aux != "avoir" and clause.tense == "past"
    before = clause.gap == "object" or clause.ask == "how many"
    marked = said is not None and said.noun is not None and bool(said.det) and not said.plural
    accusative = (
        marked and said is not None and said.noun is not None and said.noun.de_gender == "m"
    )
    dative = verb is not None and verb.de_case == "dative"
    checks = {
        Phenomenon.AGREEMENT: clause.predicate is not None or agreeing or before,
        Phenomenon.NEGATION: clause.negated,
        Phenomenon.VERB_SECOND: bool(clause.fronted),
        Phenomenon.SEPARABLE: verb is not None and bool(verb.de_particle),
        Phenomenon.MODAL: clause.modal is not None,
        Phenomenon.PAST: clause.tense == "past",
        Phenomenon.CASE: accusative or dative or clause.recipient is not None,
        Phenomenon.REFLEXIVE: reflexive,
        Phenomenon.RELATIVE: clause.gap == "object" or clause.subject.relative is clause,
        Phenomenon.VERB_FINAL: clause.gap == "object" or clause.subject.relative is clause,
        Phenomenon.QUESTION: bool(clause.ask),
        Phenomenon.COORDINATION: joined or clause.second is not None,
    }
    return {phenomenon for phenomenon, shown in checks.items() if shown}


def _of_phrase(phrase: Phrase) -> set[Phenomenon]:
    checks = {
        Phenomenon.ADJECTIVE: bool(phrase.adjectives),
        Phenomenon.AGREEMENT: bool(phrase.adjectives),
        Phenomenon.NUMBER: bool(phrase.count),
        Phenomenon.PRONOUN: bool(phrase.pronoun),
        Phenomenon.POSSESSIVE: phrase.det in ("my", "your", "our", "own"),
    }
    return {phenomenon for phenomenon, shown in checks.items() if shown}


def combinations(tree: Tree) -> Iterator[tuple[str, str]]:
    """List the pairs of words that go together: adjective and noun, verb and object."""
    for phrase in tree.phrases():
        if phrase.noun is not None:
            for adjective in phrase.adjectives:
                yield adjective.en, phrase.noun.en
    for clause in tree.clauses():
        if clause.predicate is not None:
            for phrase in clause.subject.joined or (clause.subject,):
                if phrase.noun is not None:
                    yield clause.predicate.en, phrase.noun.en
        if clause.verb is not None and clause.object is not None and clause.ask != "what":
            for phrase in clause.object.joined or (clause.object,):
                if phrase.noun is not None:
                    yield clause.verb.en[0], phrase.noun.en
