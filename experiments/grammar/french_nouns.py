"""French noun phrases: agreement, determiners, contraction."""

from experiments.grammar.lexicon import Adjective
from experiments.grammar.tree import Key, Phrase, Word, word

NUMBERS = ("deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf", "dix")
SUBJECT = {"I": "je", "you": "tu", "he": "il", "she": "elle", "we": "nous"}
VOWELS = "aàâeéèêëhiîoôuœ"


def opens_with_vowel(text: str) -> bool:
    """Whether a word opens with a vowel or a silent h (all of ours but "huit")."""
    return text[0].lower() in VOWELS and text != "huit"


def inflect(adjective: Adjective, gender: str, plural: bool, before: str = "") -> str:
    """Give the form of an adjective, or the one before a vowel when `before` opens with one."""
    if gender == "f":
        return adjective.fr_feminine + "s" * plural
    if plural:
        return _plural(adjective.fr)
    return adjective.fr_vowel if before and opens_with_vowel(before) else adjective.fr


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
    return [*_determiner(phrase, core[0].text, bool(before), negated), *core]


def _determiner(phrase: Phrase, following: str, adjective_first: bool, negated: bool) -> list[Word]:
    noun, det, plural = phrase.noun, phrase.det, phrase.plural
    assert noun is not None
    feminine = noun.fr_gender == "f"
    key = phrase.key + Key.DET
    if det == "a" and not phrase.count:
        if negated:
            return [word("de", key)]
        if "mass" in noun.classes:
            return contract("de", [word("la" if feminine else "le", key)], following, key)
        text = ("de" if adjective_first else "des") if plural else "une" if feminine else "un"
        return [word(text, key)]
    if det == "the":
        return [word("les" if plural else "la" if feminine else "le", key)]
    if det == "this":
        masculine = "cet" if opens_with_vowel(following) else "ce"
        return [word("ces" if plural else "cette" if feminine else masculine, key)]
    if det in ("my", "your", "our", "own"):
        return [word(_possessive(phrase, feminine and not opens_with_vowel(following)), key)]
    return []


def _possessive(phrase: Phrase, feminine: bool) -> str:
    owner = phrase.owner
    slot = owner.slot if owner is not None else {"my": 0, "your": 1, "our": 3}[phrase.det]
    if slot >= 3:
        one, many = ("notre", "nos") if slot == 3 else ("leur", "leurs")
        return many if phrase.plural else one
    return "mts"[slot] + ("es" if phrase.plural else "a" if feminine else "on")


def contract(preposition: str, words: list[Word], following: str, *keys: int) -> list[Word]:
    """Put "à" or "de" before an article: "au", "aux", "du", "des" where they merge."""
    first, *rest = words
    merged = {"à le": "au", "à les": "aux", "de le": "du", "de les": "des"}
    text = merged.get(f"{preposition} {first.text}")
    if text is None or (first.text == "le" and opens_with_vowel(following)):
        return [word(preposition, *keys), *words]
    return [Word(text, first.keys | frozenset(keys)), *rest]
