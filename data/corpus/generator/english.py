"""English for the trees of the embedded corpus: word order, verb forms, determiners."""

from data.corpus.generator import realization
from data.corpus.generator.realization import FORMS, Word, split_words, word
from data.corpus.generator.tree import TO_BE, Clause, Key, Phrase, Tree

EN, THE = FORMS["en"], {"m": "the"}


def english(tree: Tree) -> list[Word]:
    """Render a sentence in English; the first letter is as inside a sentence."""
    words = realization.clauses(tree, "en", clause)
    following = [*words[1:], words[-1]]
    return [
        Word("an", each.keys) if each.text == "a" and after.text[0] in "aeiou" else each
        for each, after in zip(words, following, strict=True)
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
        words += [word(pronoun, phrase.relative.key + Key.RELATIVE), *clause(phrase.relative)]
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


def _verb_words(each: Clause) -> tuple[list[Word], list[Word]]:
    """The auxiliary that questions put first and "not" follows, if any; the other verb words."""
    key, slot = each.key, each.subject.slot
    tense = {key + Key.TENSE} | ({key + Key.ASK} if each.inverted else set())
    be = EN["past" if each.past else "present"][slot]
    do = word("did" if each.past else "does" if slot == 2 else "do", *tense)
    if each.modal is not None:
        return _modal_words(each, do)
    if each.verb is TO_BE:
        return [word(be, *tense, key + Key.COPULA)], []
    base, third, gerund, past = each.verb.en
    if not each.past and not each.simple:
        return [word(be, *tense)], _content(each, gerund)
    if each.negated or each.inverted:
        return [do], _content(each, base)
    form = past if each.past else third if slot == 2 else base
    return [], _content(each, form, key + Key.TENSE)


def _modal_words(each: Clause, do: Word) -> tuple[list[Word], list[Word]]:
    modal, key = each.modal, each.key + Key.MODAL
    assert modal is not None
    rest = [word("to", key)] if modal.to and not each.follows else []
    rest += _content(each, each.verb.en[0])
    if each.follows:
        return [], rest
    if not modal.lexical:
        auxiliary, *more = modal.en[0].split()
        return [Word(auxiliary, do.keys | {key})], [*(word(text, key) for text in more), *rest]
    if each.negated or each.inverted:
        return [do], [word(modal.en[0], key), *rest]
    form = modal.en[2] if each.past else modal.en[each.subject.slot == 2]
    return [Word(form, do.keys | {key})], rest


def _content(each: Clause, form: str, *more: int) -> list[Word]:
    """The verb itself, in one word or more ("turn off")."""
    alone = () if each.verb.en_prep else (each.key + Key.VERB_PREP,)
    return split_words(form, each.key + Key.VERB, each.key + Key.SELF, *alone, *more)


def clause(each: Clause) -> list[Word]:
    """Render a clause: subject, verb, object, recipient, place, time."""
    auxiliary, verbs = _verb_words(each)
    said = each.gap != "subject" and each.ask != "who"
    subject = noun_phrase(each.subject, subject=True) if said else []
    negation = [word("not", each.key + Key.NOT)] if each.negated else []
    if each.negated and not each.ask and auxiliary[0].text == "can":
        auxiliary = [Word("cannot", auxiliary[0].keys | negation[0].keys)]
        negation = []
    front = realization.time(each, "en", front=True) + realization.place(
        each, "en", THE, front=True
    )
    front += [realization.comma(each)] if front else []
    words = realization.asking(each, "en") + front
    words += [*auxiliary, *subject] if each.inverted else [*subject, *auxiliary]
    return [*words, *negation, *verbs, *_after_verb(each)]


def _after_verb(each: Clause) -> list[Word]:
    words = split_words(each.verb.en_prep, each.key + Key.VERB_PREP)
    if each.said_object is not None:
        words += noun_phrase(each.said_object)
    if each.recipient is not None:
        words += [word("to", each.recipient.key + Key.PREP), *noun_phrase(each.recipient)]
    if each.predicate is not None:
        words.append(word(each.predicate.en, each.key + Key.VERB))
    words += realization.place(each, "en", THE) + realization.time(each, "en")
    if each.second is not None:
        _, verbs = _verb_words(each.second)
        words += [word("and", each.second.key + Key.RELATIVE), *verbs, *_after_verb(each.second)]
    return words
