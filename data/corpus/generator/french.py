"""French for the trees of the embedded corpus: verb forms, agreement, negation, elision."""

from data.corpus.generator import realization
from data.corpus.generator.lexicon import Adjective
from data.corpus.generator.realization import FORMS, Word, split_words, word
from data.corpus.generator.tree import TO_BE, Clause, Key, Phrase, Tree

FR = FORMS["fr"]
VOWELS = "aàâeéèêëhiîoôuœ"


def french(tree: Tree) -> list[Word]:
    """Render a sentence in French, elided and contracted; words in one token share its meanings."""
    return _merge(realization.clauses(tree, "fr", render_clause))


def opens_with_vowel(text: str) -> bool:
    """Return whether a word opens with a vowel or a silent h (all of ours but "huit")."""
    return text[0].lower() in VOWELS and text != "huit"


def _merge(words: list[Word]) -> list[Word]:
    """Join "le homme" to "l'homme", "si il" to "s'il", "à le" to "au", and the like."""
    joined: list[Word] = []
    for token in reversed(words):
        after = joined[-1].text if joined else "."
        text = FR["contracted"].get(f"{token.text} {after}")
        if token.text in FR["elided"] and opens_with_vowel(after):
            text = f"{token.text[:-1]}'{after}"
        if text is None:
            joined.append(token)
        else:
            joined[-1] = Word(text, token.keys | joined[-1].keys)
    return joined[::-1]


def inflect(adjective: Adjective, gender: str, plural: bool, before: str = "") -> str:
    """Return the form of an adjective, or the one before a vowel when `before` opens with one."""
    if gender == "f":
        return adjective.fr_feminine + "s" * plural
    if plural:
        ending = "" if adjective.fr[-1] in "sx" else "x" if adjective.fr.endswith("eau") else "s"
        return adjective.fr + ending
    return adjective.fr_before_vowel if before and opens_with_vowel(before) else adjective.fr


def noun_phrase(phrase: Phrase, negated: bool = False) -> list[Word]:
    """Render a noun phrase; `negated` makes an indefinite object "de" after "ne ... pas"."""
    key, noun = phrase.key, phrase.noun
    if phrase.joined:
        first, last = phrase.joined
        return [*noun_phrase(first), word("et", key + Key.JOIN), *noun_phrase(last)]
    if phrase.pronoun:
        they = "elles" if phrase.gender == "f" else "ils"
        return [word(FR["subjects"].get(phrase.pronoun, they), key + Key.NOUN)]
    text = noun.fr_plural if phrase.plural else noun.fr
    before: list[Word] = []
    after: list[Word] = []
    for index, adjective in enumerate(phrase.adjectives):
        place, following = (before, text) if adjective.fr_position == "before" else (after, "")
        form = inflect(adjective, noun.fr_gender, phrase.plural, following)
        place.append(word(form, key + Key.ADJECTIVE + index))
    core = [*before, word(text, key + Key.NOUN), *after]
    if phrase.count:
        core = realization.function_words(str(phrase.count), "fr", key + Key.COUNT) + core
    return [*_determiner(phrase, core[0].text, bool(before), negated), *core]


def _determiner(phrase: Phrase, following: str, adjective_first: bool, negated: bool) -> list[Word]:
    det, plural, key = phrase.det, phrase.plural, phrase.key + Key.DET
    feminine = phrase.noun.fr_gender == "f"
    the = "les" if plural else "la" if feminine else "le"
    text = {"the": the}.get(det, "")
    if det == "a" and not phrase.count:
        if phrase.of("mass") and not negated:
            return [word("de", key), word(the, key)]
        bare = negated or (plural and adjective_first)
        text = "de" if bare else "des" if plural else "une" if feminine else "un"
    elif det == "this":
        masculine = "cet" if opens_with_vowel(following) else "ce"
        text = "ces" if plural else "cette" if feminine else masculine
    elif det in ("my", "your", "our", "own"):
        text = _possessive(phrase, feminine and not opens_with_vowel(following))
    return [word(text, key)] if text else []


def _possessive(phrase: Phrase, feminine: bool) -> str:
    slot = phrase.owner.slot if phrase.owner else {"my": 0, "your": 1, "our": 3}[phrase.det]
    if slot >= 3:
        one, many = ("notre", "nos") if slot == 3 else ("leur", "leurs")
        return many if phrase.plural else one
    return "mts"[slot] + ("es" if phrase.plural else "a" if feminine else "on")


def _relative(phrase: Phrase) -> list[Word]:
    """Render the relative clause of a phrase, if it has one."""
    relative = phrase.relative
    if relative is None:
        return []
    pronoun = "qui" if relative.gap == "subject" else "que"
    return [word(pronoun, relative.key + Key.RELATIVE), *render_clause(relative)]


def _participle(clause: Clause) -> str:
    """The past participle: it agrees with the subject after être, and with an object before it."""
    form, said = clause.verb.fr[6], clause.object
    leader = None
    if clause.verb.fr_aux != "avoir":
        leader = clause.subject
    elif said is not None and (clause.gap == "object" or clause.ask == "how many" or said.pronoun):
        leader = said
    if leader is None:
        return form
    if leader.gender == "f":
        form += "e"
    if leader.plural and not form.endswith("s"):
        form += "s"
    return form


def _clitics(clause: Clause) -> list[Word]:
    words = []
    if clause.verb.fr_aux == "se":
        words.append(word(FR["reflexive"][clause.subject.slot], clause.key + Key.SELF))
    if clause.recipient is not None and clause.recipient.pronoun:
        keys = (clause.recipient.key + Key.NOUN, clause.recipient.key + Key.PREP)
        words.append(word(FR["objects"][clause.recipient.pronoun], *keys))
    if clause.object is not None and clause.object.pronoun:
        words.append(word(FR["objects"][clause.object.pronoun], clause.object.key + Key.NOUN))
    return words


def _verb_words(clause: Clause) -> list[Word]:
    """Everything from "ne" to the last verb word, clitics included."""
    key, slot, verb = clause.key, clause.subject.slot, clause.verb
    before = [word("ne", key + Key.NOT)] if clause.negated else []
    after = [word("pas", key + Key.NOT)] if clause.negated else []
    if verb is TO_BE:
        forms = FR["past" if clause.past else "present"]
        return [*before, word(forms[slot], key + Key.TENSE, key + Key.COPULA), *after]
    itself = () if verb.fr_aux == "se" else (key + Key.SELF,)
    content = (key + Key.VERB, key + Key.VERB_PREP, *itself)
    clitics = _clitics(clause)
    if clause.modal is not None:
        forms = clause.modal.fr_past if clause.past else clause.modal.fr
        finite = word(forms[slot], key + Key.TENSE, key + Key.MODAL)
        infinitive = [*clitics, word(verb.fr[0], *content)]
        return infinitive if clause.follows else [*before, finite, *after, *infinitive]
    if clause.past:
        forms = FR["avoir" if verb.fr_aux == "avoir" else "present"]
        auxiliary = word(forms[slot], key + Key.TENSE)
        participle = [word(_participle(clause), *content)]
        whole = [*before, *clitics, auxiliary, *after, *participle]
        return participle if clause.follows else whole
    finite = word(verb.fr[1 + slot], key + Key.TENSE, *content)
    return [*before, *clitics, finite, *after]


def render_clause(clause: Clause) -> list[Word]:
    """Render a clause: subject, ne, clitics, verb, pas, object, recipient, place, time."""
    words = realization.time(clause, "fr", front=True) + realization.place(
        clause, "fr", FR["articles"], front=True
    )
    words += [realization.comma(clause)] if words else []
    words += realization.asking(clause, "fr")
    if clause.inverted and clause.ask != "what":
        words += split_words("est-ce que", clause.key + Key.ASK)
    if clause.gap != "subject" and clause.ask != "who":
        words += [*noun_phrase(clause.subject), *_relative(clause.subject)]
    return [*words, *_verb_words(clause), *_after_verb(clause)]


def _after_verb(clause: Clause) -> list[Word]:
    words: list[Word] = []
    said, recipient = clause.said_object, clause.recipient
    if said is not None and not said.pronoun:
        words += [*noun_phrase(said, clause.negated), *_relative(said)]
    if recipient is not None and not recipient.pronoun:
        words += [word("à", recipient.key + Key.PREP), *noun_phrase(recipient)]
    if clause.predicate is not None:
        form = inflect(clause.predicate, clause.subject.gender, clause.subject.plural)
        words.append(word(form, clause.key + Key.VERB))
    words += realization.place(clause, "fr", FR["articles"]) + realization.time(clause, "fr")
    if clause.second is not None:
        words.append(word("et", clause.second.key + Key.RELATIVE))
        words += [*_verb_words(clause.second), *_after_verb(clause.second)]
    return words
