"""Trees of phrases: read, scored by hand, and those of the embedded corpus."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.data import corpora
from transformer.data.embedded import SIZES, sentences
from transformer.evaluation.parse_f1 import parse_f1, phrases
from transformer.support.errors import UserError

GOLD = "(S (NP DT NN )NP (VP VB (NP DT JJ NN )NP )VP . )S"


def test_phrases_by_hand() -> None:
    assert phrases(GOLD) == {
        ("S", 0, 7): 1,
        ("NP", 0, 2): 1,
        ("VP", 2, 6): 1,
        ("NP", 3, 6): 1,
    }


def test_equal_phrases_are_counted() -> None:
    assert phrases("(NP (NP NN )NP )NP") == {("NP", 0, 1): 2}


@pytest.mark.parametrize(
    ("said", "score"),
    [
        (GOLD, 100.0),
        ("", 0.0),
        ("(S DT NN VB DT JJ NN . )S", 200 * 1 / (1 + 4)),  # the root alone
        ("(S (NP DT NN )NP (VP VB )VP (NP DT JJ NN )NP . )S", 200 * 3 / 8),  # the VP ends too early
        ("(S (NP DT NN )NP (VP VB (NP DT JJ NN )NP )VP .", 200 * 3 / 7),  # the root is never closed
        (")NP " + GOLD, 100.0),
        ("(S (NP DT NN )VP (VP VB (NP DT JJ NN )NP )VP . )S", 200 * 2 / 6),  # never closed: NP, S,
    ],
)
def test_score_by_hand(said: str, score: float) -> None:
    assert parse_f1([said], [GOLD]) == pytest.approx(score)


def test_the_score_is_of_the_whole_text() -> None:
    short = "(S NN )S"
    assert parse_f1([GOLD, ""], [GOLD, short]) == pytest.approx(200 * 4 / 9)


@given(st.text(alphabet="(SNP) D"))
def test_anything_can_be_scored(said: str) -> None:
    assert 0 <= parse_f1([said], [GOLD]) <= 100


def test_errors() -> None:
    with pytest.raises(UserError, match="0 trees for 0"):
        parse_f1([], [])
    with pytest.raises(UserError, match="1 trees for 2"):
        parse_f1([GOLD], [GOLD, GOLD])
    with pytest.raises(UserError, match="no tree has a phrase to score"):
        parse_f1(["a"], ["b"])
    assert parse_f1(["a", "a"], ["b", GOLD]) == 0


@pytest.mark.parametrize("split", SIZES)
def test_every_tree_of_the_corpus_is_whole(split: str) -> None:
    for sentence in sentences(split):
        tokens = sentence.parse.split()
        opened = [token for token in tokens if token.startswith("(")]
        assert len(opened) == sum(token.startswith(")") for token in tokens)
        assert len(tokens) - 2 * len(opened) == len(sentence.en.split())
        found = phrases(sentence.parse)
        assert found.total() == len(opened)
        assert found["S", 0, len(sentence.en.split())] == 1


def parse_of(text: str) -> str:
    return next(
        each.parse for split in SIZES for each in sentences(split) if each.en.startswith(text)
    )


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("Who got up ?", "(S WP (VP VB RP )VP . )S"),
        ("How many bananas did Thomas buy ?", "(S (NP WP JJ NN )NP AUX (NP NN )NP (VP VB )VP . )S"),
        (
            "The actor believes that our grandmother ate a red tomato .",
            "(S (NP DT NN )NP (VP VB (SBAR IN (S (NP DT NN )NP (VP VB (NP DT JJ NN )NP )VP )S "
            ")SBAR )VP . )S",
        ),
        (
            "The fisherman who forgot the bag is rich .",
            "(S (NP DT NN (SBAR WP (S (VP VB (NP DT NN )NP )VP )S )SBAR )NP (VP AUX JJ )VP . )S",
        ),
        (
            "Can the fisherman give cheese and a banana to us ?",
            "(S MD (NP DT NN )NP (VP VB (NP (NP NN )NP CC (NP DT NN )NP )NP (PP IN (NP PRP )NP )PP "
            ")VP . )S",
        ),
    ],
)
def test_trees_by_hand(text: str, tree: str) -> None:
    assert parse_of(text) == tree


def test_every_kind_of_phrase_is_there() -> None:
    kinds = {token for each in sentences("test") for token in each.parse.split() if "(" in token}
    assert kinds == {"(S", "(SBAR", "(NP", "(VP", "(PP", "(ADVP"}


def test_the_corpus_of_parses() -> None:
    text = corpora.load("parses", "test", "en", "tree")
    assert len(text) == SIZES["test"]
    assert list(text.tgt) == [each.parse for each in sentences("test")]
    with pytest.raises(UserError, match="parses has no tree-en"):
        corpora.load("parses", "test", "tree", "en")
