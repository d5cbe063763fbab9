"""French for the trees of the embedded corpus: verb forms, negation, clitics, elision."""

from experiments.grammar.french_nouns import (
    contract,
    inflect,
    noun_phrase,
    opens_with_vowel,
)
from experiments.grammar.tree import Clause, Key, Phrase, Tree, Word, word

OBJECT = {"I": "me", "you": "te", "he": "le", "she": "la", "we": "nous"}
REFLEXIVE = ("me", "te", "se", "nous", "se")
AVOIR = ("ai", "as", "a", "avons", "ont")
ETRE = ("suis", "es", "est", "sommes", "sont")
ETAIT = ("étais", "étais", "était", "étions", "étaient")
CONJUNCTIONS = {
    "that": ("que",),
    "because": ("parce", "que"),
    "whether": ("si",),
    "while": ("pendant", "que"),
    "and": ("et",),
    "but": ("mais",),
    "and that": ("et", "que"),
    "and whether": ("et", "si"),
}
ASKING = {
    "yes_no": (),
    "where": ("où",),
    "when": ("quand",),
    "why": ("pourquoi",),
    "how many": ("combien", "de"),
}
ELIDED = {"le", "la", "je", "me", "te", "se", "ne", "de", "que"}


def french(tree: Tree) -> list[Word]:
    """Say a sentence in French, elided and contracted; words in one token share its meanings.

    Not in the paper: the course's own corpus.
    """
    words: list[Word] = []
    if tree.leading is not None:
        lead = tree.leading
        words += [*_conjunction("while", lead), *clause(lead), word(",", lead.key + Key.FRONT)]
    words += clause(tree.main)
    for conjunction, linked in tree.links:
        if conjunction == "but":
            words.append(word(",", linked.key + Key.FRONT))
        words += [*_conjunction(conjunction, linked), *clause(linked)]
    words.append(word("?" if tree.main.ask else ".", tree.key))
    return _elide(words)


def _conjunction(name: str, linked: Clause) -> list[Word]:
    return [word(text, linked.key + Key.RELATIVE) for text in CONJUNCTIONS[name]]


def _elide(words: list[Word]) -> list[Word]:
    """Join "le homme" to "l'homme", "si il" to "s'il", and the like."""
    joined: list[Word] = []
    for each in reversed(words):
        after = joined[-1] if joined else None
        if after is not None and (
            (each.text in ELIDED and opens_with_vowel(after.text))
            or (each.text == "si" and after.text in ("il", "ils"))
        ):
            joined[-1] = Word(f"{each.text[:-1]}'{after.text}", each.keys | after.keys)
        else:
            joined.append(each)
    return joined[::-1]


def _relative(phrase: Phrase) -> list[Word]:
    """Say the relative clause of a phrase, if it has one."""
    relative = phrase.relative
    if relative is None:
        return []
    pronoun = "qui" if relative.gap == "subject" else "que"
    return [word(pronoun, relative.key + Key.RELATIVE), *clause(relative)]


def _participle(each: Clause) -> str:
    """The past participle: it agrees with the subject after être, and with an object before it."""
    assert each.verb is not None
    form, leader = each.verb.fr[6], None
    if each.verb.fr_aux != "avoir":
        leader = each.subject
    elif each.object is not None and (
        each.gap == "object" or each.ask == "how many" or each.object.pronoun
    ):
        leader = each.object
    if leader is None:
        return form
    form += "e" * (leader.gender == "f")
    return form + "s" * (leader.plural and not form.endswith("s"))


def _clitics(each: Clause) -> list[Word]:
    words = []
    if each.verb is not None and each.verb.fr_aux == "se":
        words.append(word(REFLEXIVE[each.subject.slot], each.key + Key.SELF))
    if each.recipient is not None and each.recipient.pronoun:
        keys = (each.recipient.key + Key.NOUN, each.recipient.key + Key.PREP)
        words.append(word(OBJECT[each.recipient.pronoun], *keys))
    if each.object is not None and each.object.pronoun:
        words.append(word(OBJECT[each.object.pronoun], each.object.key + Key.NOUN))
    return words


def _verb_words(each: Clause) -> list[Word]:
    """Everything from "ne" to the last verb word, clitics included."""
    key, slot, verb = each.key, each.subject.slot, each.verb
    before = [word("ne", key + Key.NOT)] if each.negated else []
    after = [word("pas", key + Key.NOT)] if each.negated else []
    if verb is None:
        copula = ETAIT if each.tense == "past" else ETRE
        return [*before, word(copula[slot], key + Key.TENSE, key + Key.COPULA), *after]
    content = {key + Key.VERB, key + Key.VERB_PREP}
    content |= {key + Key.SELF} if verb.fr_aux != "se" else set()
    if each.modal is not None:
        modal = each.modal
        forms = modal.fr_past if each.tense == "past" else modal.fr
        finite = word(forms[slot], key + Key.TENSE, key + Key.MODAL)
        infinitive = [*_clitics(each), word(verb.fr[0], *content)]
        return infinitive if each.follows else [*before, finite, *after, *infinitive]
    if each.tense == "past":
        auxiliary = word((AVOIR if verb.fr_aux == "avoir" else ETRE)[slot], key + Key.TENSE)
        participle = word(_participle(each), *content)
        return (
            [participle]
            if each.follows
            else [*before, *_clitics(each), auxiliary, *after, participle]
        )
    finite = word(verb.fr[1 + slot], key + Key.TENSE, *content)
    return [*before, *_clitics(each), finite, *after]


def clause(each: Clause) -> list[Word]:
    """Say a clause: subject, ne, clitics, verb, pas, object, recipient, place, time."""
    key = each.key
    words = _front(each)
    if each.ask == "who":
        words.append(word("qui", key + Key.FRONT))
    elif each.ask == "what":
        words += [word(text, key + Key.FRONT) for text in ("qu'est-ce", "que")]
    elif each.ask:
        words += [word(text, key + Key.FRONT) for text in ASKING[each.ask]]
        if each.ask == "how many":
            assert each.object is not None and each.object.noun is not None
            words.append(word(each.object.noun.fr_plural, each.object.key + Key.NOUN))
        words += [word(text, key + Key.ASK) for text in ("est-ce", "que")]
    if each.gap != "subject" and each.ask != "who":
        words += [*noun_phrase(each.subject), *_relative(each.subject)]
    return [*words, *_verb_words(each), *_after_verb(each)]


def _front(each: Clause) -> list[Word]:
    if not each.fronted:
        return []
    part = time_words(each) if each.fronted == "time" else place_words(each)
    return [*part, word(",", each.key + Key.FRONT)]


def _after_verb(each: Clause) -> list[Word]:
    words: list[Word] = []
    each_object, recipient = each.object, each.recipient
    unsaid = each.gap == "object" or each.ask in ("what", "how many")
    if each_object is not None and not each_object.pronoun and not unsaid:
        words += [*noun_phrase(each_object, each.negated), *_relative(each_object)]
    if recipient is not None and not recipient.pronoun:
        said = noun_phrase(recipient)
        following = said[1].text if len(said) > 1 else ""
        words += contract("à", said, following, recipient.key + Key.PREP)
    if each.predicate is not None:
        subject = each.subject
        form = inflect(each.predicate, subject.gender, subject.plural)
        words.append(word(form, each.key + Key.VERB))
    if each.place is not None and each.fronted != "place":
        words += place_words(each)
    if each.time is not None and each.fronted != "time":
        words += time_words(each)
    if each.second is not None:
        words.append(word("et", each.second.key + Key.RELATIVE))
        words += [*_verb_words(each.second), *_after_verb(each.second)]
    return words


def place_words(each: Clause) -> list[Word]:
    """Say where, or where to when the verb means going."""
    place, key = each.place, each.key + Key.TIME + 6
    assert place is not None
    going = each.verb is not None and each.verb.direction
    preposition = (place.to if going else place.at)["fr"]
    noun = place.noun
    article = word("la" if noun.fr_gender == "f" else "le", key + 1)
    return contract(preposition, [article, word(noun.fr, key + 2)], noun.fr, key)


def time_words(each: Clause) -> list[Word]:
    """Say when."""
    assert each.time is not None
    start = each.key + Key.TIME
    return [
        Word(text, frozenset(start + mark for mark in marks))
        for text, marks in each.time.words["fr"]
    ]
