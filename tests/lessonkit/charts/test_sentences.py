"""Sentences as pictures: lines that end at their words, a tree with everything in its place."""

import pytest
from matplotlib.axes import Axes

from lessonkit.charts import draw_alignment, draw_tree
from transformer.support.errors import UserError

SRC = ["The", "boy", "closes", "it"]
TGT = ["Der", "Junge", "macht", "es", "zu"]
LINKS = {(0, 0), (1, 1), (2, 2), (2, 4), (3, 3)}
TREE = "(S (NP DT NN )NP (VP VB )VP . )S"
WORDS = ["The", "cat", "sleeps", "."]


def test_every_link_joins_its_two_words(ax: Axes) -> None:
    assert draw_alignment(SRC, TGT, LINKS, ax, "one verb in two places") is ax
    places = {text.get_text(): text.get_position() for text in ax.texts}
    assert set(places) == {*SRC, *TGT}
    drawn = {tuple(line.get_xdata()) for line in ax.lines}
    assert drawn == {(places[SRC[a]][0], places[TGT[b]][0]) for a, b in LINKS}
    assert min(places[word][1] for word in SRC) > max(places[word][1] for word in TGT)
    assert ax.get_title() == "one verb in two places"
    across = [places[word][0] for word in SRC]
    assert across == sorted(across)
    # widths 3, 3, 6, 2 letters and 2.5 between: the middle of the first is 2.75 of 24
    assert (across[0], across[-1]) == pytest.approx((2.75 / 24, 1 - 2.25 / 24))


def test_everything_of_a_tree_has_its_place(ax: Axes) -> None:
    assert draw_tree(TREE, WORDS, ax, "A tree") is ax
    found = {text.get_text(): text.get_position() for text in ax.texts}
    assert [found[word][0] for word in WORDS] == [0, 1, 2, 3]
    assert (found["NP"], found["VP"], found["DT"]) == ((0.5, 1), (2, 1), (0, 0))
    assert found["S"] == (1.75, 2)  # in the middle of NP and the full stop
    assert len(ax.lines) == 6
    assert ax.get_title() == "A tree"


def test_what_is_no_tree_is_refused(ax: Axes) -> None:
    for tree, message in (
        ("(S DT", "needs one phrase"),
        ("", "needs one phrase"),
        ("(S NN )S (S NN )S", "needs one phrase"),
        ("(S NN )NP", r"'\)NP' closes no open phrase"),
        ("(S (NP )NP )S", "closes no open phrase"),
        (")S", "closes no open phrase"),
        ("(S DT NN VB )S", "3 parts of speech and the sentence 4 words"),
    ):
        with pytest.raises(UserError, match=message):
            draw_tree(tree, WORDS, ax)
