"""German realization of the trees: cases, endings, and where the verbs stand."""

from functools import cache

from data.corpus.generator import realization
from data.corpus.generator.realization import FORMS, Word, word
from data.corpus.generator.tree import TO_BE, Clause, Key, Phrase, Tree
from lessonkit.analysis.lexicon import read_embedded_corpus_tsv

DE = FORMS["de"]


def german(tree: Tree) -> list[Word]:
    """Render a sentence in German, subordinate clauses between commas."""
    words: list[Word] = []
    if tree.leading is not None:
        lead = tree.leading
        words += [
            word("während", lead.key + Key.RELATIVE),
            *render_clause(lead, "final"),
            realization.comma(lead),
        ]
    first = tree.leading is not None or tree.main.ask == "yes_no"
    words += render_clause(tree.main, "first" if first else "second")
    for conjunction, linked in tree.links:
        *before, last = conjunction.split()
        key = linked.key + Key.RELATIVE
        if not before and last != "and":
            words.append(realization.comma(linked))
        words += realization.function_words(conjunction, "de", key)
        words += render_clause(linked, "second" if last in ("and", "but") else "final")
    words.append(realization.mark(tree))
    return [
        token
        for token, after in zip(words, [*words[1:], word("")], strict=True)
        if token.text != "," or after.text not in (",", ".", "?")
    ]


@cache
def _endings() -> dict[tuple[str, str], dict[str, str]]:
    return {
        (row["kind"], row["case"]): row for row in read_embedded_corpus_tsv("german_endings.tsv")
    }


def _ending(kind: str, case: str, phrase: Phrase) -> str:
    return _endings()[kind, case]["plural" if phrase.plural else phrase.noun.de_gender]


def noun_phrase(phrase: Phrase, case: str, negated: bool = False, *extra: int) -> list[Word]:
    """Render a noun phrase in a case; `negated` makes an indefinite one "kein".

    The first word carries `extra` meanings: of a preposition that German has not.
    """
    key = phrase.key
    if phrase.joined:
        first, last = (noun_phrase(part, case, False, *extra) for part in phrase.joined)
        return [*first, word("und", key + Key.JOIN), *last]
    if phrase.pronoun:
        return [word(DE["pronouns"][case][phrase.pronoun], key + Key.NOUN, *extra)]
    determiner, endings = _determiner(phrase, case, negated)
    words = [word(determiner, key + Key.DET)] if determiner else []
    if phrase.count:
        words += realization.function_words(str(phrase.count), "de", key + Key.COUNT)
    for index, adjective in enumerate(phrase.adjectives):
        text = adjective.de_stem + _ending(endings, case, phrase)
        words.append(word(text, key + Key.ADJECTIVE + index))
    bare = () if determiner or phrase.count else (key + Key.DET,)
    words.append(word(_noun_form(phrase, case), key + Key.NOUN, *bare))
    words[0] = word(words[0].text, *words[0].keys, *extra)
    return words


def _noun_form(phrase: Phrase, case: str) -> str:
    noun = phrase.noun
    if not phrase.plural:
        return noun.de if case == "nominative" else noun.de_oblique
    takes_n = case == "dative" and noun.de_plural[-1] not in "ns"
    return f"{noun.de_plural}n" if takes_n else noun.de_plural


def _determiner(phrase: Phrase, case: str, negated: bool) -> tuple[str, str]:
    """The determiner, "" for none, and the endings that adjectives take after it."""
    det, ein = phrase.det, _ending("ein", case, phrase)
    if det == "the":
        return _ending("definite", case, phrase), "weak"
    if det == "this":
        return "dies" + _ending("strong", case, phrase), "weak"
    if det == "a" and not phrase.count:
        if negated:
            return "kein" + ein, "mixed"
        if not phrase.plural and not phrase.of("mass"):
            return "ein" + ein, "mixed"
    if det in ("my", "your", "our", "own"):
        return _possessive(phrase) + ein, "mixed"
    return "", "strong"


def _possessive(phrase: Phrase) -> str:
    owner = phrase.owner
    if owner is None or owner.person < 3:
        owned_by = phrase.det if owner is None else owner.pronoun
        return {"my": "mein", "I": "mein", "your": "dein", "you": "dein"}.get(owned_by, "unser")
    return "sein" if owner.sex == "male" and not owner.plural else "ihr"


def _relative(phrase: Phrase | None) -> list[Word]:
    """Render the relative clause of a phrase between commas, if it has one."""
    relative = phrase.relative if phrase is not None else None
    if phrase is None or relative is None:
        return []
    case = relative.verb.de_case if relative.gap == "object" else "nominative"
    article = _ending("definite", case, phrase)
    pronoun = "denen" if case == "dative" and phrase.plural else article
    key = relative.key + Key.RELATIVE
    return [word(","), word(pronoun, key), *render_clause(relative, "final"), word(",")]


def _verb_words(clause: Clause) -> tuple[Word, list[Word]]:
    """The finite verb; and the particle, participle or infinitive at the end of a main clause."""
    key, slot, verb, tense = clause.key, clause.subject.slot, clause.verb, clause.key + Key.TENSE
    if verb is TO_BE:
        return word(DE["past" if clause.past else "present"][slot], tense, key + Key.COPULA), []
    content = {key + Key.VERB, key + Key.VERB_PREP, key + Key.SELF}
    content -= {key + Key.VERB_PREP} if verb.de_prep else set()
    content -= {key + Key.SELF} if verb.de_reflexive else set()
    if clause.modal is not None:
        forms = clause.modal.de_past if clause.past else clause.modal.de
        return word(forms[min(slot, 3)], tense, key + Key.MODAL), [word(verb.de[0], *content)]
    if clause.past:
        forms = DE["present" if verb.de_aux == "sein" else "haben"]
        return word(forms[slot], tense), [word(verb.de[3], *content)]
    infinitive = verb.de[0].removeprefix(verb.de_particle)
    first = verb.de_ich or infinitive.removesuffix("n").removesuffix("e") + "e"
    form = (first, verb.de[1], verb.de[2], infinitive, infinitive)[slot]
    particle = [word(verb.de_particle, *content)] if verb.de_particle else []
    return word(form, tense, *content), particle


def render_clause(clause: Clause, order: str) -> list[Word]:
    """Render a clause, its finite verb "second", "first" (the first place is taken) or "final"."""
    finite, rest = _verb_words(clause)
    subject: list[Word] = []
    if clause.gap != "subject" and clause.ask != "who":
        subject = noun_phrase(clause.subject, "nominative") + _relative(clause.subject)
    light, middle = _middle(clause)
    around = [*subject, *light] if clause.subject.pronoun else [*light, *subject]  # nouns come last
    after = _relative(clause.object) if clause.gap != "object" else []
    if order == "final":
        verbs = [*rest, finite]
        if rest and rest[-1].text == clause.verb.de_particle:
            verbs = [Word(rest[-1].text + finite.text, finite.keys)]
        return [*around, *middle, *verbs, *after]
    front = realization.asking(clause, "de")
    front += realization.time(clause, "de", front=True) + _places(clause, front=True)
    opening = [*subject, finite, *light]
    if front or order == "first":
        opening = [*front, finite, *around]
    return [*opening, *middle, *rest, *after, *_second(clause.second)]


def _second(clause: Clause | None) -> list[Word]:
    """A further verb phrase: it shares the auxiliary, or has a finite verb of its own."""
    if clause is None:
        return []
    finite, rest = _verb_words(clause)
    verb = [] if clause.modal is not None or clause.past else [finite]
    light, middle = _middle(clause)
    return [word("und", clause.key + Key.RELATIVE), *verb, *light, *middle, *rest]


def _middle(clause: Clause) -> tuple[list[Word], list[Word]]:
    """What stands between the finite verb and the end: pronouns; time, objects, nicht, place."""
    key, verb = clause.key, clause.verb
    light = (
        [word(DE["reflexive"][clause.subject.slot], key + Key.SELF)] if verb.de_reflexive else []
    )
    pronoun, definite, late = _placed(clause)
    light += pronoun
    recipient: list[Word] = []
    if clause.recipient is not None:
        said = noun_phrase(clause.recipient, "dative", False, clause.recipient.key + Key.PREP)
        light, recipient = (light + said, []) if clause.recipient.pronoun else (light, said)
    objects = [*realization.time(clause, "de"), *recipient, *definite]
    if clause.negated and late and "kein" in late[0].text:
        late[0] = word(late[0].text, *late[0].keys, key + Key.NOT)
    elif clause.negated:
        objects = [
            *recipient,
            *definite,
            *realization.time(clause, "de"),
            word("nicht", key + Key.NOT),
        ]
    place = _places(clause)
    last = [*late, *place] if verb.direction else [*place, *late]
    predicate = [word(clause.predicate.de, key + Key.VERB)] if clause.predicate is not None else []
    return light, [*objects, *last, *predicate]


def _placed(clause: Clause) -> tuple[list[Word], list[Word], list[Word]]:
    """The object in one of three places: as a pronoun, definite before "nicht", or late."""
    said, verb = clause.said_object, clause.verb
    if said is None:
        return [], [], []
    kein = clause.negated and said.det == "a" and not said.count and not verb.de_prep
    words = noun_phrase(said, verb.de_case, kein)
    if verb.de_prep:
        return [], [], [word(verb.de_prep, clause.key + Key.VERB_PREP), *words]
    if said.pronoun:
        return words, [], []
    return ([], [], words) if said.parts[0].det == "a" else ([], words, [])


def _places(clause: Clause, front: bool = False) -> list[Word]:
    """Render the place in the dative, or the direction, mostly in the accusative."""
    case = clause.place.de_to_case if clause.place and clause.verb.direction else "dative"
    words = realization.place(clause, "de", _endings()["definite", case], front)
    merged = DE["merged"].get(" ".join(token.text for token in words[:2]))
    return [Word(merged, words[0].keys | words[1].keys), *words[2:]] if merged else words
