"""French for the trees of the embedded corpus: agreement, negation, clitics, elision, contraction."""

from transformer.data.grammar_lexicon import Adjective
from transformer.data.grammar_tree import Clause, Key, Phrase, Tree, Word, word

NUMBERS = ("deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf", "dix")
SUBJECT = {"I": "je", "you": "tu", "he": "il", "she": "elle", "we": "nous"}
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
}
ASKING = {
    "yes_no": (),
    "where": ("où",),
    "when": ("quand",),
    "why": ("pourquoi",),
    "how many": ("combien", "de"),
}
ELIDED = {"le", "la", "je", "me", "te", "se", "ne", "de", "que"}
VOWELS = "aàâeéèêëhiîoôuœ"


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


def _vowel(text: str) -> bool:
    """Whether a word opens with a vowel or a silent h (all of ours but "huit")."""
    return text[0].lower() in VOWELS and text != "huit"


def _elide(words: list[Word]) -> list[Word]:
    """Join "le homme" to "l'homme", "si il" to "s'il", and the like."""
    joined: list[Word] = []
    for each in reversed(words):
        after = joined[-1] if joined else None
        if after is not None and (
            (each.text in ELIDED and _vowel(after.text))
            or (each.text == "si" and after.text in ("il", "ils"))
        ):
            joined[-1] = Word(f"{each.text[:-1]}'{after.text}", each.keys | after.keys)
        else:
            joined.append(each)
    return joined[::-1]


def inflect(adjective: Adjective, gender: str, plural: bool, before: str = "") -> str:
    """Give the form of an adjective, or the one before a vowel when `before` opens with one."""
    if gender == "f":
        return adjective.fr_feminine + "s" * plural
    if plural:
        return _plural(adjective.fr)
    return adjective.fr_vowel if before and _vowel(before) else adjective.fr


def _plural(masculine: str) -> str:
    if masculine.endswith(("s", "x")):
        return masculine
    return masculine + ("x" if masculine.endswith("eau") else "s")


def noun_phrase(phrase: Phrase, negated: bool = False) -> list[Word]:
    """Say a noun phrase; `negated` makes an indefinite object "de" after "ne ... pas"."""
    key = phrase.key
    if phrase.joined is not None:
        first, last = phrase.joined
        return [*noun_phrase(first), word("et", key + Key.JOIN), *noun_phrase(last)]
    if phrase.pronoun:
        they = "elles" if phrase.gender == "f" else "ils"
        return [word(SUBJECT.get(phrase.pronoun, they), key + Key.NOUN)]
    noun, plural = phrase.noun, phrase.plural
    assert noun is not None
    before: list[Word] = []
    after: list[Word] = []
    text = noun.fr_plural if plural else noun.fr
    for index, adjective in enumerate(phrase.adjectives):
        form = inflect(adjective, noun.fr_gender, plural, text if adjective.fr_before else "")
        target = before if adjective.fr_before else after
        target.append(word(form, key + Key.ADJECTIVE + index))
    core = [*before, word(text, key + Key.NOUN), *after]
    if phrase.count:
        core.insert(0, word(NUMBERS[phrase.count - 2], key + Key.COUNT))
    words = [*_determiner(phrase, core[0].text, bool(before), negated), *core]
    if phrase.relative is not None:
        pronoun = "qui" if phrase.relative.gap == "subject" else "que"
        words += [word(pronoun, phrase.relative.key + Key.RELATIVE), *clause(phrase.relative)]
    return words


def _determiner(phrase: Phrase, following: str, adjective_first: bool, negated: bool) -> list[Word]:
    noun, det, plural = phrase.noun, phrase.det, phrase.plural
    assert noun is not None
    feminine = noun.fr_gender == "f"
    key = phrase.key + Key.DET
    if det == "a" and not phrase.count:
        if negated:
            return [word("de", key)]
        if "mass" in noun.classes:
            return _contract("de", [word("la" if feminine else "le", key)], following, key)
        text = ("de" if adjective_first else "des") if plural else "une" if feminine else "un"
        return [word(text, key)]
    if det == "the":
        return [word("les" if plural else "la" if feminine else "le", key)]
    if det == "this":
        masculine = "cet" if _vowel(following) else "ce"
        return [word("ces" if plural else "cette" if feminine else masculine, key)]
    if det in ("my", "your", "our", "own"):
        return [word(_possessive(phrase, feminine and not _vowel(following)), key)]
    return []


def _possessive(phrase: Phrase, feminine: bool) -> str:
    owner = phrase.owner
    slot = owner.slot if owner is not None else {"my": 0, "your": 1, "our": 3}[phrase.det]
    if slot >= 3:
        one, many = ("notre", "nos") if slot == 3 else ("leur", "leurs")
        return many if phrase.plural else one
    return "mts"[slot] + ("es" if phrase.plural else "a" if feminine else "on")


def _contract(preposition: str, words: list[Word], following: str, *keys: int) -> list[Word]:
    """Put "à" or "de" before an article: "au", "aux", "du", "des" where they merge."""
    first, *rest = words
    merged = {"à le": "au", "à les": "aux", "de le": "du", "de les": "des"}
    text = merged.get(f"{preposition} {first.text}")
    if text is None or (first.text == "le" and _vowel(following)):
        return [word(preposition, *keys), *words]
    return [Word(text, first.keys | frozenset(keys)), *rest]


def _participle(each: Clause) -> str:
    """The past participle, which agrees with the subject after être and with an object before it."""
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
        forms = ETAIT if each.tense == "past" else ETRE
        return [*before, word(forms[slot], key + Key.TENSE, key + Key.COPULA), *after]
    content = {key + Key.VERB, key + Key.VERB_PREP}
    content |= {key + Key.SELF} if verb.fr_aux != "se" else set()
    shared = each.gap == "subject" and each.subject.relative is not each
    if each.modal is not None:
        modal = each.modal
        forms = modal.fr_past if each.tense == "past" else modal.fr
        finite = word(forms[slot], key + Key.TENSE, key + Key.MODAL)
        infinitive = [*_clitics(each), word(verb.fr[0], *content)]
        return infinitive if shared else [*before, finite, *after, *infinitive]
    if each.tense == "past":
        auxiliary = word((AVOIR if verb.fr_aux == "avoir" else ETRE)[slot], key + Key.TENSE)
        participle = word(_participle(each), *content)
        return [participle] if shared else [*before, *_clitics(each), auxiliary, *after, participle]
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
        words += noun_phrase(each.subject)
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
        words += noun_phrase(each_object, negated=each.negated)
    if recipient is not None and not recipient.pronoun:
        said = noun_phrase(recipient)
        following = said[1].text if len(said) > 1 else ""
        words += _contract("à", said, following, recipient.key + Key.PREP)
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
    return _contract(preposition, [article, word(noun.fr, key + 2)], noun.fr, key)


def time_words(each: Clause) -> list[Word]:
    """Say when."""
    assert each.time is not None
    start = each.key + Key.TIME
    return [Word(text, frozenset(start + mark for mark in marks)) for text, marks in each.time.words["fr"]]
