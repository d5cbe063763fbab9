"""Groups of pairs that share a side, and a split that keeps each group whole."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from transformer.data.grouping import Pair, group_pairs, grouping_key, split_pairs


def test_groups_by_hand() -> None:
    a, b, c = ("Go.", "Va !"), ("go!", "Pars."), ("Leave.", "pars !")
    d, e = ("Hi.", "Salut."), ("Pars.", "Hi.")  # e shares words with c and d, on the other side
    assert group_pairs([a, d, b, e, c]) == [[a, b, c], [d], [e]]
    assert len(group_pairs([("Non", "Stop"), ("Stop", "Arrête")])) == 2, "two languages' Stop"
    assert grouping_key("Ne pars pas, Élie !") == "ne pars pas élie"
    assert grouping_key("की।") != grouping_key("का"), "Hindi writes its vowels as combining marks"


WORDS = st.sampled_from(["p", "q", "r", "s", "t"])
PAIRS = st.lists(st.tuples(WORDS, WORDS), max_size=23)


@given(PAIRS)
def test_groups_are_the_connected_ones(pairs: list[Pair]) -> None:
    groups = group_pairs(pairs)
    assert Counter(pair for group in groups for pair in group) == Counter(pairs)
    for side in (0, 1):  # No two groups share a side.
        sides = [{pair[side] for pair in group} for group in groups]
        assert sum(map(len, sides)) == len(set().union(*sides))
    for group in groups:  # From the first pair of a group every other can be reached.
        reached, waiting = [group[0]], list(group[1:])
        while near := [p for p in waiting if any(p[0] == r[0] or p[1] == r[1] for r in reached)]:
            reached += near
            waiting = [p for p in waiting if p not in near]
        assert not waiting


def turned(pairs: list[Pair]) -> list[Pair]:
    return [(second, first) for first, second in pairs]


@given(PAIRS)
def test_both_directions_have_the_same_groups_and_the_same_split(pairs: list[Pair]) -> None:
    assert [turned(group) for group in group_pairs(turned(pairs))] == group_pairs(pairs)
    back = split_pairs(turned(pairs), naming_side=1)
    assert {name: turned(split) for name, split in back.items()} == split_pairs(pairs)


def test_the_split_of_a_group_depends_on_its_words_alone() -> None:
    pairs = [(f"sentence {i}", f"phrase {i}") for i in range(10_007)]
    splits = split_pairs(pairs)
    assert sorted(pair for split in splits.values() for pair in split) == sorted(pairs)
    assert 80 < len(splits["test"]) < 160
    assert 80 < len(splits["validation"]) < 160
    names = {grouping_key(first): name for name, split in splits.items() for first, _ in split}
    others = split_pairs([(f"Sentence, {i}!", f"x{i}") for i in range(1009)])
    for name, split in others.items():
        assert {names[grouping_key(first)] for first, _ in split} == {name}
    assert split_pairs(turned(pairs)) != {name: turned(split) for name, split in splits.items()}
