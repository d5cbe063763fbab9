"""English for the trees of the embedded corpus: word order, verb forms, determiners."""

from experiments.grammar.tree import Clause, Key, Phrase, Tree, Word, word

NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
OBJECT_PRONOUNS = {"I": "me", "you": "you", "he": "him", "she": "her", "we": "us"}
POSSESSIVES = {"I": "my", "you": "your", "we": "our", "my": "my", "your": "your", "our": "our"}
BE = {"present": ("am", "are", "is", "are", "are"), "past": ("was", "were", "was", "were", "were")}
ASKING = {"what": "What", "where": "Where", "when": "When", "why": "Why"}


def english(tree: Tree) -> list[Word]:
    """Say a sentence in English, with a capital and its final mark.

    Not in the paper: the course's own corpus.
    """
    words: list[Word] = []
    if tree.leading is not None:
        lead = tree.leading
        words += [word("while", lead.key + Key.RELATIVE), *clause(lead)]
        words.append(word(",", lead.key + Key.FRONT))
    words += clause(tree.main)
    for conjunction, linked in tree.links:
        if conjunction == "but":
            words.append(word(",", linked.key + Key.FRONT))
        words += [*(word(text, linked.key + Key.RELATIVE) for text in conjunction.split())]
        words += clause(linked)
    words.append(word("?" if tree.main.ask else ".", tree.key))
    return _articles(words)


def _articles(words: list[Word]) -> list[Word]:
    """Turn "a" into "an" where the next word opens with a vowel."""
    following = [*words[1:], words[-1]]
    return [
        Word("an", each.keys) if each.text == "a" and after.text[0] in "aeiou" else each
        for each, after in zip(words, following, strict=True)
    ]


def noun_phrase(phrase: Phrase, subject: bool = False) -> list[Word]:
    """Say a noun phrase; a pronoun takes the form that its role asks for."""
    key = phrase.key
    if phrase.joined is not None:
        first, last = phrase.joined
        return [*noun_phrase(first), word("and", key + Key.JOIN), *noun_phrase(last)]
    if phrase.pronoun:
        text = phrase.pronoun if subject else OBJECT_PRONOUNS[phrase.pronoun]
        return [word(text, key + Key.NOUN)]
    noun = phrase.noun
    assert noun is not None
    keys = {key + Key.NOUN}
    words = []
    determiner = _determiner(phrase)
    if determiner:
        words.append(word(determiner, key + Key.DET))
    elif not phrase.count:
        keys.add(key + Key.DET)
    if phrase.count:
        words.append(word(NUMBERS[phrase.count - 2], key + Key.COUNT))
    for index, adjective in enumerate(phrase.adjectives):
        words.append(word(adjective.en, key + Key.ADJECTIVE + index))
    text = noun.en_plural if phrase.plural else noun.en
    words += [Word(part, frozenset(keys)) for part in text.split()]
    if phrase.relative is not None:
        subject_gap = phrase.relative.gap == "subject"
        pronoun = "who" if subject_gap and phrase.animate else "that"
        words += [word(pronoun, phrase.relative.key + Key.RELATIVE), *clause(phrase.relative)]
    return words


def _determiner(phrase: Phrase) -> str:
    if phrase.det == "this":
        return "these" if phrase.plural else "this"
    if phrase.det == "a":
        assert phrase.noun is not None
        return "" if phrase.plural or "mass" in phrase.noun.classes else "a"
    if phrase.det == "own":
        owner = phrase.owner
        assert owner is not None
        if owner.person == 3:
            return "their" if owner.plural else "his" if owner.sex == "male" else "her"
        return POSSESSIVES[owner.pronoun]
    return POSSESSIVES.get(phrase.det, phrase.det)


def _verb_words(each: Clause) -> tuple[Word | None, list[Word]]:
    """The auxiliary that questions put first and "not" follows, if any; the other verb words."""
    key, slot, asks = each.key, each.subject.slot, each.ask not in ("", "who")
    tense = word("", key + Key.TENSE).keys
    tense |= {key + Key.ASK} if asks else frozenset()
    be = BE["past" if each.tense == "past" else "present"][slot]
    do = "did" if each.tense == "past" else "does" if slot == 2 else "do"
    if each.modal is not None:
        return _modal_words(each, do, tense)
    if each.verb is None:
        return Word(be, tense | {key + Key.COPULA}), []
    base, third, gerund, past = each.verb.en
    if each.tense != "past" and not each.simple:
        return Word(be, tense), _content(each, gerund)
    if each.negated or asks:
        return Word(do, tense), _content(each, base)
    form = past if each.tense == "past" else third if slot == 2 else base
    return None, _content(each, form, key + Key.TENSE)


def _modal_words(each: Clause, do: str, tense: frozenset[int]) -> tuple[Word, list[Word]]:
    modal, key, verb = each.modal, each.key, each.verb
    assert modal is not None and verb is not None
    keys = frozenset({key + Key.MODAL})
    rest = [Word("to", keys)] if modal.to and not each.follows else []
    rest += _content(each, verb.en[0])
    if each.follows:
        return Word("", keys), rest
    if not modal.lexical:
        auxiliary, *more = modal.en[0].split()
        return Word(auxiliary, tense | keys), [*(Word(text, keys) for text in more), *rest]
    if each.negated or each.ask not in ("", "who"):
        return Word(do, tense), [Word(modal.en[0], keys), *rest]
    form = modal.en[2] if each.tense == "past" else modal.en[each.subject.slot == 2]
    return Word(form, tense | keys), rest


def _content(each: Clause, form: str, *more: int) -> list[Word]:
    """The verb itself, in one word or more ("turn off")."""
    verb, key = each.verb, each.key
    assert verb is not None
    keys = frozenset({key + Key.VERB, key + Key.SELF, *more})
    if not verb.en_prep:
        keys |= {key + Key.VERB_PREP}
    return [Word(text, keys) for text in form.split()]


def clause(each: Clause) -> list[Word]:
    """Say a clause: subject, verb, object, recipient, place, time."""
    key = each.key
    auxiliary, verbs = _verb_words(each)
    subject = [] if each.gap == "subject" else noun_phrase(each.subject, subject=True)
    words: list[Word] = []
    if each.ask == "who":
        subject = [word("Who", key + Key.FRONT)]
    elif each.ask in ASKING:
        words = [word(ASKING[each.ask], key + Key.FRONT)]
    elif each.ask == "how many":
        assert each.object is not None and each.object.noun is not None
        words = [word(text, key + Key.FRONT) for text in ("How", "many")]
        words.append(word(each.object.noun.en_plural, each.object.key + Key.NOUN))
    negation = [word("not", key + Key.NOT)] if each.negated else []
    if auxiliary is not None and auxiliary.text == "can" and negation and not each.ask:
        auxiliary, negation = Word("cannot", auxiliary.keys | {key + Key.NOT}), []
    first = [auxiliary] if auxiliary is not None else []
    if each.ask not in ("", "who"):
        words += [*first, *subject, *negation, *verbs]
    else:
        words += [*_front(each), *subject, *first, *negation, *verbs]
    return words + _after_verb(each)


def _front(each: Clause) -> list[Word]:
    if not each.fronted:
        return []
    part = time_words(each) if each.fronted == "time" else place_words(each)
    return [*part, word(",", each.key + Key.FRONT)]


def _after_verb(each: Clause) -> list[Word]:
    key = each.key
    words: list[Word] = []
    if each.verb is not None and each.verb.en_prep:
        words.append(word(each.verb.en_prep, key + Key.VERB_PREP))
    if each.object is not None and each.gap != "object" and each.ask not in ("what", "how many"):
        words += noun_phrase(each.object)
    if each.recipient is not None:
        words += [word("to", each.recipient.key + Key.PREP), *noun_phrase(each.recipient)]
    if each.predicate is not None:
        words.append(word(each.predicate.en, key + Key.VERB))
    if each.place is not None and each.fronted != "place":
        words += place_words(each)
    if each.time is not None and each.fronted != "time":
        words += time_words(each)
    if each.second is not None:
        _, verbs = _verb_words(each.second)
        words += [word("and", each.second.key + Key.RELATIVE), *verbs, *_after_verb(each.second)]
    return words


def place_words(each: Clause) -> list[Word]:
    """Say where, or where to when the verb means going."""
    place, key = each.place, each.key + Key.TIME + 6
    assert place is not None
    going = each.verb is not None and each.verb.direction
    prepositions = place.to if going else place.at
    noun = [word(text, key + 2) for text in place.noun.en.split()]
    return [word(prepositions["en"], key), word("the", key + 1), *noun]


def time_words(each: Clause) -> list[Word]:
    """Say when."""
    assert each.time is not None
    start = each.key + Key.TIME
    return [
        Word(text, frozenset(start + mark for mark in marks))
        for text, marks in each.time.words["en"]
    ]
