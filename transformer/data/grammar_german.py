"""German for the trees of the embedded corpus: cases and endings, verb second and verb final."""

from transformer.data.grammar_tree import Clause, Key, Phrase, Tree, Word, word

NUMBERS = ("zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn")
PRONOUNS = {
    "nominative": {"I": "ich", "you": "du", "he": "er", "she": "sie", "we": "wir", "they": "sie"},
    "accusative": {"I": "mich", "you": "dich", "he": "ihn", "she": "sie", "we": "uns"},
    "dative": {"I": "mir", "you": "dir", "he": "ihm", "she": "ihr", "we": "uns"},
}
REFLEXIVE = ("mich", "dich", "sich", "uns", "sich")
# Each row is a case; in it the masculine, feminine, neuter and plural.
DEFINITE = {
    "nominative": ("der", "die", "das", "die"),
    "accusative": ("den", "die", "das", "die"),
    "dative": ("dem", "der", "dem", "den"),
}
AFTER_EIN = {
    "nominative": ("", "e", "", "e"),
    "accusative": ("en", "e", "", "e"),
    "dative": ("em", "er", "em", "en"),
}
STRONG = {
    "nominative": ("er", "e", "es", "e"),
    "accusative": ("en", "e", "es", "e"),
    "dative": ("em", "er", "em", "en"),
}
WEAK = {
    "nominative": ("e", "e", "e", "en"),
    "accusative": ("en", "e", "e", "en"),
    "dative": ("en", "en", "en", "en"),
}
MIXED = {
    "nominative": ("er", "e", "es", "en"),
    "accusative": ("en", "e", "es", "en"),
    "dative": ("en", "en", "en", "en"),
}
HABEN = ("habe", "hast", "hat", "haben", "haben")
SEIN = ("bin", "bist", "ist", "sind", "sind")
WAR = ("war", "warst", "war", "waren", "waren")
MERGED = {"in dem": "im", "an dem": "am", "zu dem": "zum", "zu der": "zur", "in das": "ins"}
SUBORDINATE = {"that": "dass", "because": "weil", "whether": "ob", "while": "während"}
COORDINATE = {"and": "und", "but": "aber"}
ASKING = {
    "who": ("wer",),
    "what": ("was",),
    "where": ("wo",),
    "when": ("wann",),
    "why": ("warum",),
    "how many": ("wie", "viele"),
    "yes_no": (),
}


def german(tree: Tree) -> list[Word]:
    """Say a sentence in German, subordinate clauses between commas.

    Not in the paper: the course's own corpus.
    """
    words: list[Word] = []
    if tree.leading is not None:
        lead = tree.leading
        words += [word("während", lead.key + Key.RELATIVE), *clause(lead, "final")]
        words += [word(",", lead.key + Key.FRONT), *clause(tree.main, "first")]
    else:
        words += clause(tree.main, "second")
    for conjunction, linked in tree.links:
        key = linked.key + Key.RELATIVE
        comma = word(",", linked.key + Key.FRONT)
        if conjunction in SUBORDINATE:
            words += [comma, word(SUBORDINATE[conjunction], key), *clause(linked, "final")]
        else:
            words += [comma] if conjunction == "but" else []
            words += [word(COORDINATE[conjunction], key), *clause(linked, "second")]
    words.append(word("?" if tree.main.ask else ".", tree.key))
    return [
        each
        for each, after in zip(words, [*words[1:], word("")], strict=True)
        if each.text != "," or after.text not in (",", ".", "?")
    ]


def _column(phrase: Phrase) -> int:
    assert phrase.noun is not None
    return 3 if phrase.plural else "mfn".index(phrase.noun.de_gender)


def noun_phrase(phrase: Phrase, case: str, negated: bool = False, *extra: int) -> list[Word]:
    """Say a noun phrase in a case; `negated` makes an indefinite one "kein".

    Args:
        extra: Meanings that the first word carries as well: those of a preposition that
            other languages have and German has not.
    """
    key = phrase.key
    if phrase.joined is not None:
        first, last = (noun_phrase(part, case, False, *extra) for part in phrase.joined)
        return [*first, word("und", key + Key.JOIN), *last]
    if phrase.pronoun:
        return [word(PRONOUNS[case][phrase.pronoun], key + Key.NOUN, *extra)]
    noun, column = phrase.noun, _column(phrase)
    assert noun is not None
    determiner, endings = _determiner(phrase, case, negated)
    words = [word(determiner, key + Key.DET)] if determiner else []
    if phrase.count:
        words.append(word(NUMBERS[phrase.count - 2], key + Key.COUNT))
    for index, adjective in enumerate(phrase.adjectives):
        text = adjective.de_stem + endings[case][column]
        words.append(word(text, key + Key.ADJECTIVE + index))
    bare = () if determiner or phrase.count else (key + Key.DET,)
    words.append(word(_noun_form(phrase, case), key + Key.NOUN, *bare))
    words[0] = Word(words[0].text, words[0].keys | frozenset(extra))
    if phrase.relative is not None:
        words += _relative(phrase, phrase.relative)
    return words


def _noun_form(phrase: Phrase, case: str) -> str:
    noun = phrase.noun
    assert noun is not None
    if not phrase.plural:
        return noun.de if case == "nominative" else noun.de_oblique
    ending = "n" if case == "dative" and noun.de_plural[-1] not in "ns" else ""
    return noun.de_plural + ending


def _determiner(
    phrase: Phrase, case: str, negated: bool
) -> tuple[str, dict[str, tuple[str, str, str, str]]]:
    """The determiner, "" for none, and the endings that adjectives take after it."""
    noun, column = phrase.noun, _column(phrase)
    assert noun is not None
    if phrase.det == "the":
        return DEFINITE[case][column], WEAK
    if phrase.det == "this":
        return "dies" + STRONG[case][column], WEAK
    if phrase.det == "a" and not phrase.count:
        if negated:
            return "kein" + AFTER_EIN[case][column], MIXED
        if phrase.plural or "mass" in noun.classes:
            return "", STRONG
        return "ein" + AFTER_EIN[case][column], MIXED
    if phrase.det in ("my", "your", "our", "own"):
        return _possessive(phrase) + AFTER_EIN[case][column], MIXED
    return "", STRONG


def _possessive(phrase: Phrase) -> str:
    owner = phrase.owner
    if owner is None or owner.person < 3:
        owned_by = phrase.det if owner is None else owner.pronoun
        return {"my": "mein", "I": "mein", "your": "dein", "you": "dein"}.get(owned_by, "unser")
    return "sein" if owner.sex == "male" and not owner.plural else "ihr"


def _relative(phrase: Phrase, relative: Clause) -> list[Word]:
    case = "nominative"
    if relative.gap == "object":
        assert relative.verb is not None
        case = relative.verb.de_case
    column = _column(phrase)
    pronoun = "denen" if case == "dative" and column == 3 else DEFINITE[case][column]
    key = relative.key + Key.RELATIVE
    return [word(","), word(pronoun, key), *clause(relative, "final"), word(",")]


def _verb_words(each: Clause) -> tuple[Word, list[Word]]:
    """The finite verb, and what stands at the end of a main clause: particle, participle, infinitive."""
    key, slot, verb = each.key, each.subject.slot, each.verb
    tense = frozenset({key + Key.TENSE})
    if verb is None:
        form = (WAR if each.tense == "past" else SEIN)[slot]
        return Word(form, tense | {key + Key.COPULA}), []
    content = frozenset({key + Key.VERB})
    content |= {key + Key.VERB_PREP} if not verb.de_prep else set()
    content |= {key + Key.SELF} if not verb.de_reflexive else set()
    if each.modal is not None:
        forms = each.modal.de_past if each.tense == "past" else each.modal.de
        finite = Word(forms[min(slot, 3)], tense | {key + Key.MODAL})
        return finite, [Word(verb.de[0], content)]
    if each.tense == "past":
        forms = SEIN if verb.de_aux == "sein" else HABEN
        return Word(forms[slot], tense), [Word(verb.de[3], content)]
    infinitive = verb.de[0].removeprefix(verb.de_particle)
    first = verb.de_ich or infinitive.removesuffix("n").removesuffix("e") + "e"
    form = (first, verb.de[1], verb.de[2], infinitive, infinitive)[slot]
    particle = [Word(verb.de_particle, content)] if verb.de_particle else []
    return Word(form, tense | content), particle


def clause(each: Clause, order: str) -> list[Word]:
    """Say a clause.

    Args:
        order: Where the finite verb stands: "second", "first" (a clause or a question word has
            taken the first place) or "final".
    """
    finite, rest = _verb_words(each)
    subject = [] if each.gap == "subject" else noun_phrase(each.subject, "nominative")
    if order == "final":
        if rest and each.verb is not None and rest[-1].text == each.verb.de_particle:
            verbs = [Word(rest[-1].text + finite.text, finite.keys)]
        else:
            verbs = [*rest, finite]
        return [*subject, *_middle(each), *verbs]
    front: list[Word] = []
    if each.ask:
        front = [word(text, each.key + Key.FRONT) for text in ASKING[each.ask]]
        if each.ask == "how many":
            assert each.object is not None and each.object.noun is not None
            front.append(word(each.object.noun.de_plural, each.object.key + Key.NOUN))
        subject = [] if each.ask == "who" else subject
    elif each.fronted:
        front = time_words(each) if each.fronted == "time" else place_words(each)
    elif order == "second":
        front, subject = subject, []
    words = [*front, finite, *subject, *_middle(each), *rest]
    return words + (_second(each.second) if each.second is not None else [])


def _second(each: Clause) -> list[Word]:
    """A further verb phrase: it shares the auxiliary, or has a finite verb of its own."""
    finite, rest = _verb_words(each)
    shared = each.modal is not None or each.tense == "past"
    verb = [] if shared else [finite]
    return [word("und", each.key + Key.RELATIVE), *verb, *_middle(each), *rest]


def _middle(each: Clause) -> list[Word]:
    """What stands between the finite verb and the end: pronouns, time, objects, nicht, place."""
    verb, said = each.verb, each.object
    if said is not None and (each.gap == "object" or each.ask in ("what", "how many")):
        said = None
    time = time_words(each) if each.time is not None and each.fronted != "time" else []
    place = place_words(each) if each.place is not None and each.fronted != "place" else []
    key = each.key
    reflexive: list[Word] = []
    if verb is not None and verb.de_reflexive:
        reflexive = [word(REFLEXIVE[each.subject.slot], key + Key.SELF)]
    recipient: list[Word] = []
    if each.recipient is not None:
        extra = each.recipient.key + Key.PREP
        recipient = noun_phrase(each.recipient, "dative", False, extra)
    light = recipient if each.recipient is not None and each.recipient.pronoun else []
    pronoun, definite, late = _placed(each, said)
    kein = each.negated and any("kein" in part.text for part in late[:1])
    negation = [word("nicht", key + Key.NOT)] if each.negated and not kein else []
    if kein:
        late[0] = Word(late[0].text, late[0].keys | {key + Key.NOT})
    going = verb is not None and verb.direction
    predicate = [word(each.predicate.de, key + Key.VERB)] if each.predicate is not None else []
    heavy = recipient if not light else []
    objects = [*definite, *time] if negation else [*time, *heavy, *definite]
    if negation:
        objects = [*heavy, *objects]
    last = [*late, *place] if going else [*place, *late]
    return [*reflexive, *pronoun, *light, *objects, *negation, *last, *predicate]


def _placed(each: Clause, said: Phrase | None) -> tuple[list[Word], list[Word], list[Word]]:
    """The object in one of three places: as a pronoun, definite before "nicht", or late."""
    if said is None or each.verb is None:
        return [], [], []
    verb = each.verb
    indefinite = said.det == "a" or (said.joined is not None and said.joined[0].det == "a")
    kein = each.negated and said.det == "a" and not said.count and not verb.de_prep
    words = noun_phrase(said, verb.de_case, kein)
    if verb.de_prep:
        return [], [], [word(verb.de_prep, each.key + Key.VERB_PREP), *words]
    if said.pronoun:
        return words, [], []
    return ([], [], words) if indefinite else ([], words, [])


def place_words(each: Clause) -> list[Word]:
    """Say where, in the dative, or where to, mostly in the accusative."""
    place, key = each.place, each.key + Key.TIME + 6
    assert place is not None
    going = each.verb is not None and each.verb.direction
    case = place.de_to_case if going else "dative"
    preposition = (place.to if going else place.at)["de"]
    article = DEFINITE[case]["mfn".index(place.noun.de_gender)]
    noun = word(place.noun.de, key + 2)
    merged = MERGED.get(f"{preposition} {article}")
    if merged:
        return [word(merged, key, key + 1), noun]
    return [word(preposition, key), word(article, key + 1), noun]


def time_words(each: Clause) -> list[Word]:
    """Say when."""
    assert each.time is not None
    start = each.key + Key.TIME
    return [Word(text, frozenset(start + mark for mark in marks)) for text, marks in each.time.words["de"]]
