"""German noun phrases: determiners, cases and the three sets of adjective endings."""

from experiments.grammar.tree import Key, Phrase, Word, word

NUMBERS = ("zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn")
PRONOUNS = {
    "nominative": {"I": "ich", "you": "du", "he": "er", "she": "sie", "we": "wir", "they": "sie"},
    "accusative": {"I": "mich", "you": "dich", "he": "ihn", "she": "sie", "we": "uns"},
    "dative": {"I": "mir", "you": "dir", "he": "ihm", "she": "ihr", "we": "uns"},
}
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


def column_of(phrase: Phrase) -> int:
    """Give the column of the ending tables: masculine, feminine, neuter or plural."""
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
    noun, column = phrase.noun, column_of(phrase)
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
    noun, column = phrase.noun, column_of(phrase)
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
