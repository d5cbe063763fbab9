"""English for the trees of the embedded corpus: word order, verb forms, determiners."""

from data.corpus.generator import realization
from data.corpus.generator.realization import FORMS, Word, split_words, word
from data.corpus.generator.tree import TO_BE, Clause, Key, Phrase, Tree

EN, THE = FORMS["en"], {"m": "the"}


def english(tree: Tree) -> list[Word]:
    """Render a sentence in English; the first letter is as inside a sentence."""
    words = realization.clauses(tree, "en", render_clause)
    following = [*words[1:], words[-1]]
    return [
        Word("an", token.keys) if token.text == "a" and after.text[0] in "aeiou" else token
        for token, after in zip(words, following, strict=True)
    ]


def noun_phrase(phrase: Phrase, subject: bool = False) -> list[Word]:
    """Render a noun phrase; a pronoun takes the form that its role asks for."""
    key = phrase.key
    if phrase.joined:
        first, last = phrase.joined
        return [*noun_phrase(first), word("and", key + Key.JOIN), *noun_phrase(last)]
    if phrase.pronoun:
        text = phrase.pronoun if subject else EN["objects"][phrase.pronoun]
        return [word(text, key + Key.NOUN)]
    determiner = _determiner(phrase)
    words = [word(determiner, key + Key.DET)] if determiner else []
    if phrase.count:
        words += realization.function_words(str(phrase.count), "en", key + Key.COUNT)
    for index, adjective in enumerate(phrase.adjectives):
        words.append(word(adjective.en, key + Key.ADJECTIVE + index))
    bare = () if determiner or phrase.count else (key + Key.DET,)
    text = phrase.noun.en_plural if phrase.plural else phrase.noun.en
    words += split_words(text, key + Key.NOUN, *bare)
    if phrase.relative is not None:
        person = phrase.of("adult", "child", "kin", "name")
        pronoun = "who" if person and phrase.relative.gap == "subject" else "that"
        words += [
            word(pronoun, phrase.relative.key + Key.RELATIVE),
            *render_clause(phrase.relative),
        ]
    return words


def _determiner(phrase: Phrase) -> str:
    if phrase.det == "this":
        return "these" if phrase.plural else "this"
    if phrase.det == "a":
        return "" if phrase.plural or phrase.of("mass") else "a"
    owner = phrase.owner
    if owner is None:
        return phrase.det
    if owner.person == 3:
        return "their" if owner.plural else "his" if owner.sex == "male" else "her"
    return str(EN["possessives"][owner.pronoun])


def _verb_words(clause: Clause) -> tuple[list[Word], list[Word]]:
    """The auxiliary that questions put first and "not" follows, if any; the other verb words."""
    key, slot = clause.key, clause.subject.slot
    tense = {key + Key.TENSE} | ({key + Key.ASK} if clause.inverted else set())
    be = EN["past" if clause.past else "present"][slot]
    do = word("did" if clause.past else "does" if slot == 2 else "do", *tense)
    if clause.modal is not None:
        return _modal_words(clause, do)
    if clause.verb is TO_BE:
        return [word(be, *tense, key + Key.COPULA)], []
    base, third, gerund, past = clause.verb.en
    if not clause.past and not clause.simple:
        return [word(be, *tense)], _content(clause, gerund)
    if clause.negated or clause.inverted:
        return [do], _content(clause, base)
    form = past if clause.past else third if slot == 2 else base
    return [], _content(clause, form, key + Key.TENSE)


def _modal_words(clause: Clause, do: Word) -> tuple[list[Word], list[Word]]:
    modal, key = clause.modal, clause.key + Key.MODAL
    assert modal is not None
    rest = [word("to", key)] if modal.to and not clause.follows else []
    rest += _content(clause, clause.verb.en[0])
    if clause.follows:
        return [], rest
    if not modal.lexical:
        auxiliary, *more = modal.en[0].split()
        return [Word(auxiliary, do.keys | {key})], [*(word(text, key) for text in more), *rest]
    if clause.negated or clause.inverted:
        return [do], [word(modal.en[0], key), *rest]
    base, third, past = modal.en
    form = past if clause.past else third if clause.subject.slot == 2 else base
    return [Word(form, do.keys | {key})], rest


def _content(clause: Clause, form: str, *more: int) -> list[Word]:
    """The verb itself, in one word or more ("turn off")."""
    alone = () if clause.verb.en_prep else (clause.key + Key.VERB_PREP,)
    return split_words(form, clause.key + Key.VERB, clause.key + Key.SELF, *alone, *more)


def render_clause(clause: Clause) -> list[Word]:
    """Render a clause: subject, verb, object, recipient, place, time."""
    auxiliary, verbs = _verb_words(clause)
    said = clause.gap != "subject" and clause.ask != "who"
    subject = noun_phrase(clause.subject, subject=True) if said else []
    negation = [word("not", clause.key + Key.NOT)] if clause.negated else []
    if clause.negated and not clause.ask and auxiliary[0].text == "can":
        auxiliary = [Word("cannot", auxiliary[0].keys | negation[0].keys)]
        negation = []
    front = realization.time(clause, "en", front=True) + realization.place(
        clause, "en", THE, front=True
    )
    front += [realization.comma(clause)] if front else []
    words = realization.asking(clause, "en") + front
    words += [*auxiliary, *subject] if clause.inverted else [*subject, *auxiliary]
    return [*words, *negation, *verbs, *_after_verb(clause)]


def _after_verb(clause: Clause) -> list[Word]:
    words = split_words(clause.verb.en_prep, clause.key + Key.VERB_PREP)
    if clause.said_object is not None:
        words += noun_phrase(clause.said_object)
    if clause.recipient is not None:
        words += [word("to", clause.recipient.key + Key.PREP), *noun_phrase(clause.recipient)]
    if clause.predicate is not None:
        words.append(word(clause.predicate.en, clause.key + Key.VERB))
    words += realization.place(clause, "en", THE) + realization.time(clause, "en")
    if clause.second is not None:
        _, verbs = _verb_words(clause.second)
        words += [
            word("and", clause.second.key + Key.RELATIVE),
            *verbs,
            *_after_verb(clause.second),
        ]
    return words
