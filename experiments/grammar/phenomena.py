"""What a sentence of the embedded corpus shows of grammar, and which words it combines."""

from collections.abc import Iterator

from experiments.grammar.tree import NO_NOUN, Clause, Phrase, Tree


def phenomena(tree: Tree) -> frozenset[str]:
    """Name what a sentence shows of grammar, by the names of `data/corpus/phenomena.tsv`."""
    conjunctions = [conjunction for conjunction, _ in tree.links]
    checks = {
        "VERB_SECOND": tree.leading is not None,
        "VERB_FINAL": bool(tree.leading or {*conjunctions} - {"and", "but"}),
        "COORDINATION": any(each.startswith(("and", "but")) for each in conjunctions),
    }
    shown = [checks, *map(_of_clause, tree.clauses()), *map(_of_phrase, tree.phrases())]
    return frozenset(name for each in shown for name, there in each.items() if there)


def _of_clause(clause: Clause) -> dict[str, bool]:
    verb, roles = clause.verb, dict(clause.roles())
    said = roles.get("object")
    accusative = bool(said and said.det and said.noun.de_gender == "m" and not said.plural)
    agreeing = verb.fr_aux != "avoir" and clause.past
    relative = clause.gap == "object" or clause.subject.relative is clause
    early = clause.gap == "object" or clause.ask == "how many"
    return {
        "AGREEMENT": clause.predicate is not None or agreeing or early,
        "NEGATION": clause.negated,
        "VERB_SECOND": bool(clause.fronted),
        "SEPARABLE": bool(verb.de_particle),
        "MODAL": clause.modal is not None,
        "PAST": clause.past,
        "CASE": accusative or verb.de_case == "dative" or clause.recipient is not None,
        "REFLEXIVE": verb.fr_aux == "se" or verb.de_reflexive,
        "RELATIVE": relative,
        "VERB_FINAL": relative,
        "QUESTION": bool(clause.ask),
        "COORDINATION": bool(clause.second or any(each.joined for each in roles.values())),
    }


def _of_phrase(phrase: Phrase) -> dict[str, bool]:
    return {
        "ADJECTIVE": bool(phrase.adjectives),
        "AGREEMENT": bool(phrase.adjectives),
        "NUMBER": bool(phrase.count),
        "PRONOUN": bool(phrase.pronoun),
        "POSSESSIVE": phrase.det in ("my", "your", "our", "own"),
    }


def combinations(tree: Tree) -> Iterator[tuple[str, str]]:
    """List the pairs of words that go together: adjective and noun, verb and object."""
    pairs = [(each.en, phrase) for phrase in tree.phrases() for each in phrase.adjectives]
    for clause in tree.clauses():
        if clause.predicate is not None:
            pairs += [(clause.predicate.en, phrase) for phrase in clause.subject.parts]
        if clause.object is not None and clause.ask != "what":
            pairs += [(clause.verb.en[0], phrase) for phrase in clause.object.parts]
    return ((first, phrase.noun.en) for first, phrase in pairs if phrase.noun is not NO_NOUN)
