"""Pairs of words that belong together: by hand on a few sentences, by rules on all."""

import pytest

from lessonkit.analysis import word_pairs as wp
from lessonkit.analysis.word_pairs import word_pairs
from transformer.data import embedded as reader
from transformer.data.embedded import Sentence


def sentence(en: str, parse: str) -> Sentence:
    return Sentence(en, "", "", {}, frozenset(), parse)


def asked(one: Sentence) -> dict[str, set[tuple[str, str]]]:
    """Give the words of each question's pairs."""
    words, found = one.en.split(), dict[str, set[tuple[str, str]]]()
    for question, query, keys in word_pairs(one):
        named = " ".join(words[key] for key in keys)
        found.setdefault(question, set()).add((words[query], named))
    return found


BECAUSE = sentence(
    "The rich man and the boy cannot wash his cat because they are tired .",
    "(S (NP (NP DT JJ NN )NP CC (NP DT NN )NP )NP (VP MD VB (NP DT NN )NP "
    "(SBAR IN (S (NP PRP )NP (VP AUX JJ )VP )S )SBAR )VP . )S",
)
RELATIVE = sentence(
    "The lady who has a shirt is not asking the man in the house .",
    "(S (NP DT NN (SBAR WP (S (VP VB (NP DT NN )NP )VP )S )SBAR )NP "
    "(VP AUX RB VB (NP DT NN (PP IN (NP DT NN )NP )PP )NP )VP . )S",
)


def test_pronouns_and_owners() -> None:
    found = asked(BECAUSE)
    assert found[wp.MEANT] == {("they", "man boy")}
    assert found[wp.NOT_MEANT] == {("they", "cat")}
    assert found[wp.OWNED] == {("his", "cat")}
    assert found[wp.OWNER] == {("his", "man boy")}
    assert found[wp.NOUN] == {("The", "man"), ("the", "boy"), ("his", "cat")}
    assert found[wp.PAST_ADJECTIVE] == {("The", "man")}
    assert found[wp.ADJECTIVE] == {("The", "rich")}
    assert wp.NEGATED not in found
    assert wp.SUBJECT not in found


def test_a_verb_past_a_relative_clause() -> None:
    found = asked(RELATIVE)
    assert found[wp.SUBJECT] == {("is", "lady")}
    assert found[wp.NOT_SUBJECT] == {("is", "shirt")}
    assert found[wp.NEGATED] == {("not", "asking")}
    assert found[wp.NOUN] >= {("the", "man"), ("the", "house"), ("The", "lady")}
    assert ("not", "asking") in found[wp.NEXT]
    assert ("not", "is") in found[wp.BEFORE]
    assert ("lady", "lady") in found[wp.ITSELF]


@pytest.mark.parametrize("split", ["test", "test_long"])
def test_all_sentences(split: str) -> None:
    seen = set()
    for one in reader.sentences(split):
        words = one.en.split()
        for question, query, keys in word_pairs(one):
            seen.add(question)
            assert 0 <= query < len(words)
            assert keys
            assert all(0 <= key < len(words) for key in keys)
            if question in (wp.NOUN, wp.OWNED):
                assert 1 <= keys[0] - query <= 4  # three adjectives or numbers between, at most
            if question in (wp.OWNER, wp.SUBJECT, wp.MEANT):
                assert all(key < query for key in keys)
    missing = set() if split == "test" else {wp.MEANT, wp.NOT_MEANT}
    assert seen == set(wp.QUESTIONS) - missing


def test_relations_by_hand() -> None:
    (sentence,) = (
        each
        for each in reader.sentences("test")
        if each.en == "She asks whether I greeted a tired policeman ."
    )
    words = sentence.en.split()
    found = {
        (p.question, words[p.query], *(words[k] for k in p.keys)) for p in wp.relations(sentence)
    }
    assert found == {
        (wp.OF_VERB, "asks", "She"),
        (wp.OF_VERB, "greeted", "I"),
        (wp.OBJECT, "greeted", "policeman"),
        (wp.NOUN, "a", "policeman"),
        (wp.OF_ADJECTIVE, "tired", "policeman"),
    }


def test_relations_are_those_of_the_lesson_s_determiners() -> None:
    for sentence in reader.sentences("test")[:200]:
        asked = {(p.query, p.keys) for p in wp.word_pairs(sentence) if p.question == wp.NOUN}
        assert {(p.query, p.keys) for p in wp.relations(sentence) if p.question == wp.NOUN} == asked
