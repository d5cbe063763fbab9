"""The picture of a tree: what stands where."""

import pytest
from lessonkit.charts.plots.tree import draw_tree
from matplotlib.axes import Axes

from transformer.data.embedded import sentences
from transformer.support.errors import UserError

TREE = "(S (NP DT NN )NP (VP VB )VP . )S"
WORDS = ["The", "cat", "sleeps", "."]


def test_everything_has_its_place(ax: Axes) -> None:
    draw_tree(TREE, WORDS, ax, "A tree")
    found = {text.get_text(): text.get_position() for text in ax.texts}
    assert [found[word][0] for word in WORDS] == [0, 1, 2, 3]
    assert found["NP"] == (0.5, 1)
    assert found["VP"] == (2, 1)
    assert found["S"] == (1.75, 2)  # in the middle of NP and the full stop
    assert found["DT"] == (0, 0)
    assert len(ax.lines) == 6
    assert ax.get_title() == "A tree"


@pytest.mark.slow
def test_every_tree_of_a_split_can_be_drawn(ax: Axes) -> None:
    for each in sentences("validation")[:30]:
        ax.clear()
        words = each.en.split()
        draw_tree(each.parse, words, ax)
        assert {text.get_text() for text in ax.texts} >= set(words)


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ("(S DT", "needs one phrase"),
        ("", "needs one phrase"),
        ("(S NN )S (S NN )S", "needs one phrase"),
        ("(S NN )NP", "'\\)NP' closes no open phrase"),
        ("(S (NP )NP )S", "closes no open phrase"),
        (")S", "closes no open phrase"),
        ("(S DT NN VB )S", "3 parts of speech and the sentence 4 words"),
    ],
)
def test_errors(ax: Axes, tree: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        draw_tree(tree, WORDS, ax)
