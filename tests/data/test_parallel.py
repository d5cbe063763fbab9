"""Lines to parallel text: what is tidied and dropped, Tatoeba's groups and their splits."""

import logging
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.data.parallel import group_pairs, key, side_by_side, split_lines, split_pairs
from transformer.support.errors import UserError


def test_lines_end_at_line_feeds_only() -> None:
    text = "a\u2028b\u0085c\rd\x1ce\nf\n"
    assert split_lines(text) == ["a\u2028b\u0085c\rd\x1ce", "f"]
    assert len(text.splitlines()) == 6  # what it would be otherwise


def test_sides_of_different_length() -> None:
    with pytest.raises(UserError, match="3 lines of de, 2 of en; line i of one must translate"):
        side_by_side("de", "en", ["eins", "zwei", "drei"], ["one", "two"])


def test_pairs_with_an_empty_side_are_dropped_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        text = side_by_side(
            "de",
            "en",
            ["eins\t ja", "", "drei", "vier", " \t "],
            ["one", "two", "\u00a0", "four", ""],
        )
    assert (text.src, text.tgt) == (["eins ja", "vier"], ["one", "four"])
    assert caplog.messages == ["de-en: dropped 3 of 5 pairs, which have an empty side"]


@pytest.mark.parametrize("lines", [[], [""], ["", " "]])
def test_an_empty_corpus(lines: list[str]) -> None:
    with pytest.raises(UserError, match="no sentence pair in de-en"):
        side_by_side("de", "en", lines, lines)


# --- Tatoeba ------------------------------------------------------------------------------


def test_groups_by_hand() -> None:
    a, b, c = ("Go.", "Va !"), ("go!", "Pars."), ("Leave.", "pars !")
    d, e = ("Hi.", "Salut."), ("Pars.", "Hi.")  # e shares words with c and d, in the other language
    assert group_pairs([a, d, b, e, c]) == [[a, b, c], [d], [e]]
    assert len(group_pairs([("Non", "Stop"), ("Stop", "Arrête")])) == 2, "two languages' Stop"


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
    splits = split_pairs(pairs)
    assert sorted(pair for held in splits.values() for pair in held) == sorted(pairs)
    assert 80 < len(splits["test"]) < 160
    assert 80 < len(splits["validation"]) < 160
    chosen = {key(en): split for split, held in splits.items() for en, _ in held}
    for split, held in split_pairs([(f"Sentence, {i}!", f"x{i}") for i in range(1009)]).items():
        assert {chosen[key(en)] for en, _ in held} == {split}


def test_a_key_is_the_words() -> None:
    assert key("Ne pars pas, Élie !") == "ne pars pas élie"
