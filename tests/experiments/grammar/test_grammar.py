"""The embedded corpus: held to hand-checked sentences and to rules written apart from it."""

import gzip
import os
import re
from dataclasses import fields
from itertools import islice, pairwise, permutations
from pathlib import Path
from zlib import crc32

import pytest

from experiments.grammar import build as building
from experiments.grammar.build import build, line, sentence_of
from experiments.grammar.lexicon import Adjective, Lexicon, Noun, Time, lexicon
from experiments.grammar.tree import Clause, Phrase, Tree
from transformer.data.embedded import (
    FILE,
    LANGUAGES,
    SIZES,
    Phenomenon,
    Sentence,
    as_written,
    counts,
    pairs,
    samples,
)
from transformer.data.embedded import sentences as split_of
from transformer.data.parallel import aligned_tokens
from transformer.support.errors import UserError
from transformer.support.paths import corpus_folder

EVERY = [sentence for split in SIZES for sentence in split_of(split)]


def noun(en: str) -> Noun:
    return next(each for each in lexicon().nouns if each.en == en)


def adjective(en: str) -> Adjective:
    return next(each for each in lexicon().adjectives if each.en == en)


def yesterday() -> Time:
    return next(each for each in lexicon().times if each.words["en"][0][0] == "yesterday")


def the(
    en: str, *adjectives: str, det: str = "the", plural: bool = False, count: int = 0
) -> Phrase:
    said = noun(en)
    return Phrase(
        noun=said,
        det=det,
        plural=plural,
        count=count,
        adjectives=tuple(map(adjective, adjectives)),
        gender=said.fr_gender,
        sex=said.sex,
    )


def he() -> Phrase:
    return Phrase(pronoun="he", sex="male")


def plain() -> Tree:
    return Tree(Clause(the("man", "old"), lexicon().verbs["read"], the("book", "red", det="a")))


def denied() -> Tree:
    return Tree(
        Clause(
            the("girl"), lexicon().verbs["eat"], the("apple", det="a"), tense="past", negated=True
        )
    )


def fronted() -> Tree:
    open_ = lexicon().verbs["open"]
    return Tree(Clause(he(), open_, the("door"), tense="past", time=yesterday(), fronted="time"))


def separated() -> Tree:
    return Tree(Clause(he(), lexicon().verbs["open"], the("window", det="this")))


def because() -> Tree:
    main = Clause(the("woman"), lexicon().verbs["rest"])
    she = Phrase(pronoun="she", gender="f", sex="female")
    return Tree(main, [("because", Clause(she, predicate=adjective("tired")))])


def modal() -> Tree:
    want = lexicon().modals["want"]
    return Tree(Clause(he(), lexicon().verbs["help"], the("child"), modal=want))


def given() -> Tree:
    give = lexicon().verbs["give"]
    return Tree(
        Clause(the("man"), give, the("flower", det="a", plural=True), the("boy"), tense="past")
    )


def related() -> Tree:
    letter = the("letter")
    letter.relative = Clause(
        the("woman"), lexicon().verbs["write"], letter, tense="past", gap="object"
    )
    return Tree(Clause(letter, predicate=adjective("long")))


def asked() -> Tree:
    buy = lexicon().verbs["buy"]
    pears = the("pear", det="a", plural=True, count=2)
    return Tree(Clause(the("lady", det="the"), buy, pears, tense="past", ask="how many"))


def joined() -> Tree:
    two = Phrase(plural=True, gender="m", joined=(the("man"), the("woman")))
    return Tree(Clause(two, lexicon().verbs["come back"], tense="past"))


def counted() -> Tree:
    return Tree(
        Clause(he(), lexicon().verbs["see"], the("bird", "old", det="a", plural=True, count=3))
    )


def owned() -> Tree:
    scarf = the("scarf", det="own")
    subject = the("aunt", det="my")
    scarf.owner = Phrase(pronoun="she", gender="f", sex="female")
    return Tree(Clause(subject, lexicon().verbs["wash"], scarf))


HAND_CHECKED = [
    (
        plain,
        "The old man is reading a red book .",
        "Le vieil homme lit un livre rouge .",
        "Der alte Mann liest ein rotes Buch .",
        {
            "en-fr": "0-0 1-1 2-2 3-3 4-3 5-4 6-6 7-5 8-7",
            "en-de": "0-0 1-1 2-2 3-3 4-3 5-4 6-5 7-6 8-7",
        },
        {Phenomenon.ADJECTIVE, Phenomenon.AGREEMENT},
    ),
    (
        denied,
        "The girl did not eat an apple .",
        "La fille n'a pas mangé de pomme .",
        "Das Mädchen hat keinen Apfel gegessen .",
        {
            "en-fr": "0-0 1-1 2-2 3-2 3-3 4-4 5-5 6-6 7-7",
            "en-de": "0-0 1-1 2-2 3-3 4-5 5-3 6-4 7-6",
        },
        {Phenomenon.NEGATION, Phenomenon.PAST, Phenomenon.CASE},
    ),
    (
        fronted,
        "Yesterday , he opened the door .",
        "Hier , il a ouvert la porte .",
        "Gestern hat er die Tür aufgemacht .",
        {"en-fr": "0-0 1-1 2-2 3-3 3-4 4-5 5-6 6-7", "en-de": "0-0 2-2 3-1 3-5 4-3 5-4 6-6"},
        {Phenomenon.VERB_SECOND, Phenomenon.PRONOUN, Phenomenon.SEPARABLE, Phenomenon.PAST},
    ),
    (
        separated,
        "He is opening this window .",
        "Il ouvre cette fenêtre .",
        "Er macht dieses Fenster auf .",
        {"en-fr": "0-0 1-1 2-1 3-2 4-3 5-4", "fr-de": "0-0 1-1 1-4 2-2 3-3 4-5"},
        {Phenomenon.SEPARABLE, Phenomenon.PRONOUN},
    ),
    (
        because,
        "The woman is resting because she is tired .",
        "La femme se repose parce qu'elle est fatiguée .",
        "Die Frau ruht sich aus , weil sie müde ist .",
        {"fr-de": "0-0 1-1 2-3 3-2 3-4 4-6 5-6 5-7 6-9 7-8 8-10"},
        {Phenomenon.VERB_FINAL, Phenomenon.REFLEXIVE, Phenomenon.AGREEMENT},
    ),
    (
        modal,
        "He wants to help the child .",
        "Il veut aider l'enfant .",
        "Er will dem Kind helfen .",
        {"en-fr": "0-0 1-1 2-1 3-2 4-3 5-3 6-4", "en-de": "0-0 1-1 2-1 3-4 4-2 5-3 6-5"},
        {Phenomenon.MODAL, Phenomenon.CASE},
    ),
    (
        given,
        "The man gave flowers to the boy .",
        "L'homme a donné des fleurs au garçon .",
        "Der Mann hat dem Jungen Blumen gegeben .",
        {
            "en-fr": "0-0 1-0 2-1 2-2 3-3 3-4 4-5 5-5 6-6 7-7",
            "en-de": "0-0 1-1 2-2 2-6 3-5 4-3 5-3 6-4 7-7",
        },
        {Phenomenon.CASE, Phenomenon.PAST},
    ),
    (
        related,
        "The letter that the woman wrote is long .",
        "La lettre que la femme a écrite est longue .",
        "Der Brief , den die Frau geschrieben hat , ist lang .",
        {"en-de": "0-0 1-1 2-3 3-4 4-5 5-6 5-7 6-9 7-10 8-11"},
        {Phenomenon.RELATIVE, Phenomenon.VERB_FINAL, Phenomenon.AGREEMENT},
    ),
    (
        asked,
        "How many pears did the lady buy ?",
        "Combien de poires est-ce que la dame a achetées ?",
        "Wie viele Birnen hat die Dame gekauft ?",
        {"en-fr": "0-0 0-1 1-0 1-1 2-2 3-3 3-4 3-7 4-5 5-6 6-8 7-9"},
        {Phenomenon.QUESTION, Phenomenon.AGREEMENT},
    ),
    (
        joined,
        "The man and the woman came back .",
        "L'homme et la femme sont revenus .",
        "Der Mann und die Frau sind zurückgekommen .",
        {"en-fr": "0-0 1-0 2-1 3-2 4-3 5-4 5-5 6-4 6-5 7-6"},
        {Phenomenon.COORDINATION, Phenomenon.PAST},
    ),
    (
        counted,
        "He sees three old birds .",
        "Il voit trois vieux oiseaux .",
        "Er sieht drei alte Vögel .",
        {"en-fr": "0-0 1-1 2-2 3-3 4-4 5-5", "en-de": "0-0 1-1 2-2 3-3 4-4 5-5"},
        {Phenomenon.NUMBER, Phenomenon.ADJECTIVE},
    ),
    (
        owned,
        "My aunt is washing her scarf .",
        "Ma tante lave son écharpe .",
        "Meine Tante wäscht ihren Schal .",
        {"en-fr": "0-0 1-1 2-2 3-2 4-3 5-4 6-5"},
        {Phenomenon.POSSESSIVE, Phenomenon.CASE},
    ),
]


@pytest.mark.parametrize(
    ("draw", "en", "fr", "de", "links", "shown"),
    HAND_CHECKED,
    ids=[c[0].__name__ for c in HAND_CHECKED],
)
def test_a_hand_checked_sentence(draw, en, fr, de, links, shown) -> None:  # type: ignore[no-untyped-def]
    said = sentence_of(draw())
    assert (said.en, said.fr, said.de) == (en, fr, de)
    assert {pair: said.links[pair] for pair in links} == links
    assert shown <= said.phenomena


def test_the_hand_checked_sentences_cover_every_phenomenon() -> None:
    assert set().union(*(case[-1] for case in HAND_CHECKED)) == set(Phenomenon)


def test_the_shipped_file_is_what_the_grammar_draws() -> None:
    shipped = gzip.decompress((corpus_folder() / FILE).read_bytes()).decode().splitlines(True)
    assert len(shipped) == sum(SIZES.values())
    drawn = [line(split, sentence) for split, sentence in islice(build(), 2500)]
    assert drawn == shipped[:2500], "run: python -m experiments corpus"


def test_the_file_is_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = list(islice(build(), 3))
    monkeypatch.setattr(building, "build", lambda: iter(drawn))
    building.write(tmp_path / FILE)
    before = (tmp_path / FILE).read_bytes()
    assert gzip.decompress(before).decode().splitlines(True) == [line(*each) for each in drawn]

    def full_disk(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    drawn.pop()
    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(UserError, match="No space left"):
        building.write(tmp_path / FILE)
    assert (tmp_path / FILE).read_bytes() == before


def test_sizes_and_entries() -> None:
    assert {split: len(split_of(split)) for split in SIZES} == SIZES
    tables = {one.name: len(getattr(lexicon(), one.name)) for one in fields(Lexicon)}
    assert sum(tables.values()) - tables["names"] >= 200
    nouns = [each.en for each in lexicon().nouns]
    adjectives = [each.en for each in lexicon().adjectives]
    assert len(set(nouns)) == len(nouns)
    assert len(set(adjectives)) == len(adjectives)


def test_no_text_stands_twice_in_any_language_so_every_translation_is_the_only_one() -> None:
    for lang in LANGUAGES:
        texts = [sentence.text(lang) for sentence in EVERY]
        assert len(set(texts)) == len(texts)


def test_lengths() -> None:
    for split in SIZES:
        lengths = [len(each.text(lang).split()) for each in split_of(split) for lang in LANGUAGES]
        low, high = (17, 25) if split == "test_long" else (4, 16)
        assert low <= min(lengths)
        assert max(lengths) <= high


def test_every_phenomenon_is_frequent() -> None:
    assert min(counts("train").values()) >= 1000
    assert min(counts("test").values()) >= 40
    for phenomenon in Phenomenon:
        chosen = samples(phenomenon, 5)
        assert len(chosen) == 5
        assert all(phenomenon in sentence.phenomena for sentence in chosen)


@pytest.mark.parametrize(("src_lang", "tgt_lang"), list(permutations(LANGUAGES, 2)))
def test_pairs_in_all_directions(src_lang: str, tgt_lang: str) -> None:
    text, back = pairs("test", src_lang, tgt_lang), pairs("test", tgt_lang, src_lang)
    assert len(text) == 1000
    assert text.src == back.tgt
    assert text.alignments is not None
    assert back.alignments is not None
    unlinked = {",", "est-ce", "que"} if {src_lang, tgt_lang} == {"fr", "de"} else {","}
    for src, tgt, links, reverse in zip(
        text.src, text.tgt, text.alignments, back.alignments, strict=True
    ):
        words, others = aligned_tokens(src), aligned_tokens(tgt)
        assert all(a in range(len(words)) and b in range(len(others)) for a, b in links)
        assert {(b, a) for a, b in links} == reverse
        alone = {word.lower() for i, word in enumerate(words) if i not in {a for a, _ in links}}
        assert alone <= unlinked, src


def test_text_is_as_people_write_it() -> None:
    tokens = "Aujourd'hui , qui dort ?"
    assert as_written(tokens, "fr") == "Aujourd'hui, qui dort ?"
    assert as_written(tokens, "de") == "Aujourd'hui, qui dort?"
    assert as_written("Il dort .", "fr") == "Il dort."
    for lang, other in (("en", "fr"), ("fr", "de"), ("de", "en")):
        written = pairs("test", lang, other).src
        tokens_of = [sentence.text(lang).split() for sentence in split_of("test")]
        assert [aligned_tokens(text) for text in written] == tokens_of


def test_the_learner_meets_every_word_of_the_hard_tests_in_training() -> None:
    known = {word for each in split_of("train") for word in each.en.split()}
    hard = (*split_of("test_combinations"), *split_of("test_long"))
    assert {word for each in hard for word in each.en.split()} <= known


def _held_out_pairs(split: str) -> int:
    """Count adjective and noun side by side in English that training should not have."""
    nouns = {n.en: n.en for n in lexicon().nouns} | {n.en_plural: n.en for n in lexicon().nouns}
    adjectives = {each.en for each in lexicon().adjectives}
    found = 0
    for sentence in split_of(split):
        words = sentence.en.split()
        for first, last in pairwise(words):
            if first in adjectives and last in nouns:
                found += crc32(f"{first} {nouns[last]}".encode()) % 12 == 0
    return found


def test_held_out_combinations_are_only_in_their_own_test() -> None:
    found = {split: _held_out_pairs(split) for split in SIZES}
    assert found.pop("test_combinations") > 50
    assert set(found.values()) == {0}


def _faults(lang: str, pattern: str) -> list[str]:
    return [each.text(lang) for each in EVERY if re.search(pattern, each.text(lang), re.I)]


def test_french_elides_and_contracts() -> None:
    vowel = r"(?!huit\b)[aeéêèiouhœ]"
    assert not _faults("fr", rf"\b(le|la|je|me|te|se|ne|de|que|ce|ma|ta|sa) {vowel}")
    assert not _faults("fr", r"\b(à|de) les?\b(?! [aeéiouhœ])|\bsi ils?\b")
    assert not _faults("fr", r"\b[ljmtsndcqu]+'[bcdfgjklmnpqrstvwxz]")
    assert not _faults("fr", r"\bdes (beaux|belles|vieux|vieilles|petite?s|grande?s)\b")
    assert not _faults("fr", r"\b(beau|nouveau|vieux) (homme|arbre|ordinateur)\b")


def test_french_denies_with_two_words() -> None:
    for each in EVERY:
        denied = len(re.findall(r"\bn(?:e |')", each.fr, re.I))
        assert denied == each.fr.split().count("pas")
        assert bool(denied) == (Phenomenon.NEGATION in each.phenomena)


def test_english_chooses_a_or_an() -> None:
    assert not _faults("en", r"\ba [aeiou]|\ban [^aeiou]")


GERMAN_ARTICLES = {
    "m": "der den dem dieser diesen diesem ein einen einem kein keinen keinem",
    "f": "die der diese dieser eine einer keine keiner",
    "n": "das dem dieses diesem ein einem kein keinem",
    "plural": "die den diese diesen keine keinen",
}


def test_german_articles_agree_with_their_nouns() -> None:
    allowed: dict[str, set[str]] = {}
    for each in lexicon().nouns:
        for form in {each.de, each.de_oblique}:
            allowed.setdefault(form, set()).update(GERMAN_ARTICLES[each.de_gender].split())
        for form in {each.de_plural, each.de_plural + "n"}:
            allowed.setdefault(form, set()).update(GERMAN_ARTICLES["plural"].split())
    articles = {article for group in GERMAN_ARTICLES.values() for article in group.split()}
    checked = 0
    for sentence in EVERY:
        words = sentence.de.split()
        for before, first, last in zip(["", *words], words, words[1:], strict=False):
            if before != "," and first.lower() in articles and last in allowed:
                assert first.lower() in allowed[last], sentence.de
                checked += 1
    assert checked > 15_000


def test_german_capitals_and_commas() -> None:
    nouns = {each.de for each in lexicon().nouns}
    words = {word for each in EVERY for word in each.de.split()}
    assert all(word[0].isupper() for word in nouns)
    assert {each.lower() for each in nouns} & words <= {"junge"}
    assert not _faults("de", r"[^,d] (dass|weil|ob|während)\b")
    assert not _faults("de", r", [,.?]")


def test_german_verbs_stand_second_or_last() -> None:
    finite = {"hat", "haben", "habe", "hast", "ist", "sind", "bin", "bist"}
    finite |= {"war", "waren", "warst", "wollte", "wollten", "wolltest"}
    states = {"ist", "sind", "bin", "bist", "war", "waren", "warst", "will", "willst", "wollen"}
    second = [each.de.split() for each in EVERY if re.match("Gestern (?!Abend)", each.de)]
    reasons = [found for each in EVERY for found in re.findall(r"weil [^,.]* (\w+) [.,]", each.de)]
    assert len(second) > 100
    assert len(reasons) > 500
    assert {words[1] for words in second} <= finite
    assert set(reasons) <= states


def test_texts_are_blank_separated_with_a_capital_and_a_mark() -> None:
    for each in EVERY:
        mark = "?" if Phenomenon.QUESTION in each.phenomena else "."
        for lang in LANGUAGES:
            text = each.text(lang)
            assert text[0].isupper()
            assert text.endswith(f" {mark}")
            assert " ".join(text.split()) == text
            assert not re.search(r"\w[.,?]", text)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("tset", "en", "fr"), "unknown split 'tset': did you mean 'test'"),
        (("test", "eng", "fr"), "unknown language 'eng': did you mean 'en'"),
        (("test", "fr", "fr"), "both 'fr': choose two of en, fr, de"),
    ],
)
def test_mistakes_are_named(arguments: tuple[str, str, str], message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        pairs(*arguments)


def test_alignment_is_read_in_both_directions() -> None:
    links = {"en-fr": "0-0 1-0", "en-de": "", "fr-de": ""}
    sentence = Sentence("The man", "L'homme", "", links, frozenset(), "")
    assert sentence.alignment("en", "fr") == {(0, 0), (1, 0)}
    assert sentence.alignment("fr", "en") == {(0, 0), (0, 1)}
