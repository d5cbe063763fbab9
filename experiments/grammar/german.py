"""German for the trees of the embedded corpus: verb second, verb first and verb final."""

from experiments.grammar.german_nouns import DEFINITE, column_of, noun_phrase
from experiments.grammar.tree import Clause, Key, Phrase, Tree, Word, word

REFLEXIVE = ("mich", "dich", "sich", "uns", "sich")
HABEN = ("habe", "hast", "hat", "haben", "haben")
SEIN = ("bin", "bist", "ist", "sind", "sind")
WAR = ("war", "warst", "war", "waren", "waren")
MERGED = {"in dem": "im", "an dem": "am", "zu dem": "zum", "zu der": "zur", "in das": "ins"}
CONJUNCTIONS = {
    "that": "dass",
    "because": "weil",
    "whether": "ob",
    "while": "während",
    "and": "und",
    "but": "aber",
}
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
        words += clause(tree.main, "first" if tree.main.ask == "yes_no" else "second")
    for conjunction, linked in tree.links:
        *before, last = conjunction.split()
        key = linked.key + Key.RELATIVE
        comma = [word(",", linked.key + Key.FRONT)]
        words += comma if not before and last != "and" else [word("und", key)] if before else []
        words.append(word(CONJUNCTIONS[last], key))
        words += clause(linked, "second" if last in ("and", "but") else "final")
    words.append(word("?" if tree.main.ask else ".", tree.key))
    return [
        each
        for each, after in zip(words, [*words[1:], word("")], strict=True)
        if each.text != "," or after.text not in (",", ".", "?")
    ]


def _relative(phrase: Phrase | None) -> list[Word]:
    """Say the relative clause of a phrase between commas, if it has one."""
    relative = phrase.relative if phrase is not None else None
    if phrase is None or relative is None:
        return []
    case = "nominative"
    if relative.gap == "object":
        assert relative.verb is not None
        case = relative.verb.de_case
    column = column_of(phrase)
    pronoun = "denen" if case == "dative" and column == 3 else DEFINITE[case][column]
    key = relative.key + Key.RELATIVE
    return [word(","), word(pronoun, key), *clause(relative, "final"), word(",")]


def _verb_words(each: Clause) -> tuple[Word, list[Word]]:
    """The finite verb; and the particle, participle or infinitive at the end of a main clause."""
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
    subject: list[Word] = []
    if each.gap != "subject" and each.ask != "who":
        subject = noun_phrase(each.subject, "nominative") + _relative(each.subject)
    light, middle = _middle(each)
    after = _relative(each.object) if each.gap != "object" else []
    if order == "final":
        joined = bool(rest) and each.verb is not None and rest[-1].text == each.verb.de_particle
        verbs = [Word(rest[-1].text + finite.text, finite.keys)] if joined else [*rest, finite]
        return [*_around(each, subject, light), *middle, *verbs, *after]
    front = _front(each)
    if not front and order == "second":
        return [*subject, finite, *light, *middle, *rest, *after, *_second(each.second)]
    inverted = _around(each, subject, light)
    return [*front, finite, *inverted, *middle, *rest, *after, *_second(each.second)]


def _around(each: Clause, subject: list[Word], light: list[Word]) -> list[Word]:
    """Order subject and object pronouns after a finite verb or conjunction: nouns come last."""
    return [*subject, *light] if each.subject.pronoun else [*light, *subject]


def _front(each: Clause) -> list[Word]:
    """What takes the first place instead of the subject: a question word, a time or a place."""
    if not each.ask:
        if not each.fronted:
            return []
        return time_words(each) if each.fronted == "time" else place_words(each)
    front = [word(text, each.key + Key.FRONT) for text in ASKING[each.ask]]
    if each.ask == "how many":
        assert each.object is not None and each.object.noun is not None
        front.append(word(each.object.noun.de_plural, each.object.key + Key.NOUN))
    return front


def _second(each: Clause | None) -> list[Word]:
    """A further verb phrase: it shares the auxiliary, or has a finite verb of its own."""
    if each is None:
        return []
    finite, rest = _verb_words(each)
    shared = each.modal is not None or each.tense == "past"
    verb = [] if shared else [finite]
    light, middle = _middle(each)
    return [word("und", each.key + Key.RELATIVE), *verb, *light, *middle, *rest]


def _middle(each: Clause) -> tuple[list[Word], list[Word]]:
    """What stands between the finite verb and the end: pronouns; time, objects, nicht, place."""
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
    return [*reflexive, *pronoun, *light], [*objects, *negation, *last, *predicate]


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
    return [
        Word(text, frozenset(start + mark for mark in marks))
        for text, marks in each.time.words["de"]
    ]
