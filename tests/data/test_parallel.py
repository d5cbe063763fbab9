"""Lines of text: treated, tidied, paired; what is dropped; Tatoeba's groups and their splits."""

import logging
import unicodedata
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.data import parallel
from transformer.data.parallel import BY_LANGUAGE, TREATMENTS, group_pairs, key, side_by_side
from transformer.support.errors import UserError

# --- treatment: a text as a user types it becomes the text that training read --------------


def test_treatment_by_hand() -> None:
    for name, typed, treated in (
        ("french", "L’homme n’a pas d’argent.", "L'homme n'a pas d'argent."),
        ("french", "Lʼhomme n´a pas d′argent.", "L'homme n'a pas d'argent."),
        ("french", "Cours\u202f!", "Cours !"),
        ("french", "Cours \u2009!", "Cours !"),
        ("french", "Cours!", "Cours !"),
        ("french", "Quoi?!", "Quoi ?!"),
        ("french", "L’école commence à 8:40.", "L'école commence à 8:40."),
        ("french", "Vois: «\u00a0Non; oui?\u00a0»", "Vois : « Non ; oui ? »"),
        ("french", "Il dit “oui”.", 'Il dit "oui".'),
        ("english", "“Don’t!” he said.\tWhy?", '"Don\'t!" he said. Why?'),
        ("german", "Das gibt’s bei „Levi’s“!", "Das gibt's bei „Levi's“!"),
        ("plain", " L’été\u00a0?\t«e\u0301»!", "L’été ? «e\u0301»!"),
    ):
        assert TREATMENTS[name](typed) == treated
    composed = "Où l'élève naïf où Ärger ist"
    for name in BY_LANGUAGE.values():  # typed on a Mac
        assert TREATMENTS[name](unicodedata.normalize("NFD", composed)) == composed


TEXTS = st.text(
    st.characters(exclude_categories=["Cs"]) | st.sampled_from("a’“?!:;8 e\u0301\u00a0\u202f")
)


@given(text=TEXTS)
def test_treated_twice_is_treated_once(text: str) -> None:
    for treat in TREATMENTS.values():
        assert treat(treat(text)) == treat(text)


# --- pairs ----------------------------------------------------------------------------------


def test_lines_end_at_line_feeds_only() -> None:
    assert parallel.split_lines("a\u2028b\u0085c\rd\x1ce\nf\n") == ["a\u2028b\u0085c\rd\x1ce", "f"]


def test_pairs_with_an_empty_side_are_dropped_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    src, tgt = ["eins\t ja", "", "drei", "vier"], ["one", "two", "\u00a0", "four"]
    with caplog.at_level(logging.WARNING):
        text = side_by_side("de", "en", src, tgt)
    assert (text.src, text.tgt) == (["eins ja", "vier"], ["one", "four"])
    assert caplog.messages == ["de-en: dropped 2 of 4 pairs, which have an empty side"]
    with pytest.raises(UserError, match="4 lines of de, 2 of en; line i of one must translate"):
        side_by_side("de", "en", src, tgt[:2])
    for lines in ([], [""], ["", " "]):
        with pytest.raises(UserError, match="no sentence pair in de-en"):
            side_by_side("de", "en", lines, lines)


# --- Tatoeba --------------------------------------------------------------------------------


def test_groups_by_hand() -> None:
    a, b, c = ("Go.", "Va !"), ("go!", "Pars."), ("Leave.", "pars !")
    d, e = ("Hi.", "Salut."), ("Pars.", "Hi.")  # e shares words with c and d, in the other language
    assert group_pairs([a, d, b, e, c]) == [[a, b, c], [d], [e]]
    assert len(group_pairs([("Non", "Stop"), ("Stop", "Arrête")])) == 2, "two languages' Stop"
    assert key("Ne pars pas, Élie !") == "ne pars pas élie"


WORDS = st.sampled_from(["p", "q", "r", "s", "t"])


@given(st.lists(st.tuples(WORDS, WORDS), max_size=23))
def test_groups_are_the_connected_ones(pairs: list[tuple[str, str]]) -> None:
    groups = group_pairs(pairs)
    assert Counter(pair for group in groups for pair in group) == Counter(pairs)
    for side in (0, 1):  # apart
        sides = [{pair[side] for pair in group} for group in groups]
        assert sum(map(len, sides)) == len(set().union(*sides))
    for group in groups:  # together: from the first pair every other can be reached
        reached, waiting = [group[0]], list(group[1:])
        while near := [p for p in waiting if any(p[0] == r[0] or p[1] == r[1] for r in reached)]:
            reached += near
            waiting = [p for p in waiting if p not in near]
        assert not waiting


def test_the_split_of_a_group_depends_on_its_words_alone() -> None:
    pairs = [(f"sentence {i}", f"phrase {i}") for i in range(10_007)]
    splits = parallel.split_pairs(pairs)
    assert sorted(pair for held in splits.values() for pair in held) == sorted(pairs)
    assert 80 < len(splits["test"]) < 160
    assert 80 < len(splits["validation"]) < 160
    chosen = {key(en): split for split, held in splits.items() for en, _ in held}
    for split, held in parallel.split_pairs(
        [(f"Sentence, {i}!", f"x{i}") for i in range(1009)]
    ).items():
        assert {chosen[key(en)] for en, _ in held} == {split}
