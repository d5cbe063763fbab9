"""Tokens, batches, links and trees: everything that was given has its place."""

from itertools import product

import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex

from lessonkit.charts import (
    TokenGrid,
    batch_explorer,
    draw_alignment,
    draw_parse_tree,
    draw_token_grid,
)
from tests.helpers.vega import title, values, with_controls
from transformer.support.errors import UserError

BATCHES = {"random": [[7, 2, 5], [3, 3]], "token budget": [[2, 3], [11]]}


def test_tokens_stand_in_a_grid_with_dark_padding(ax: Axes) -> None:
    grid = TokenGrid("tgt_in", [["<bos>", "La", "<pad>"], ["<bos>", "Le", "chat"]], "#0072B2")
    assert draw_token_grid(grid, ax) is ax
    written = {text.get_position(): text.get_text() for text in ax.texts}
    assert written[1.5, 1.53] == "Le"
    colours = [to_hex(cell.get_facecolor()) for cell in ax.patches]
    assert len(set(colours)) == 3
    assert int(colours[2][1:3], 16) < 0x50
    assert ax.yaxis_inverted()
    assert [t.get_text() for t in ax.get_yticklabels()] == ["sentence 1", "sentence 2"]


def test_each_sentence_is_drawn_and_filled_up() -> None:
    for rule, batch in product(BATCHES, (1, 2)):
        spec = with_controls(batch_explorer(BATCHES).to_dict(), rule=rule, batch=batch)
        lengths, expected = BATCHES[rule][batch - 1], []
        for row, length in enumerate(lengths):
            expected += [(row, "padding", length, max(lengths)), (row, "token", 0, length)]
        found = values(spec, (), "datum.row", "datum.part", "datum.start", "datum.end")
        drawn = sorted((int(row), part, int(start), int(end)) for row, part, start, end in found)
        assert drawn == expected, (rule, batch)


def test_title_and_description_give_size_and_share() -> None:
    spec = batch_explorer(BATCHES).to_dict()
    assert title(spec) == "random, batch 1 of 2: 3 x 7 = 21 positions, 33% padding"
    moved = with_controls(spec, rule="token budget", batch=2)
    assert title(moved) == "token budget, batch 2 of 2: 1 x 11 = 11 positions, 0% padding"
    # random: 20 tokens in 21 + 6 positions; token budget: 16 in 6 + 11
    assert "by rule: random 26%, token budget 6%." in spec["description"]
    domains = [spec["encoding"][side]["scale"]["domain"] for side in ("x", "y")]
    assert domains == [[0, 11], [3, 0]]  # the axes stay where they are


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
    across = [places[word][0] for word in SRC]
    assert across == sorted(across)


def test_everything_of_a_tree_has_its_place(ax: Axes) -> None:
    assert draw_parse_tree(TREE, WORDS, ax, "A tree") is ax
    found = {text.get_text(): text.get_position() for text in ax.texts}
    assert [found[word][0] for word in WORDS] == [0, 1, 2, 3]
    assert (found["NP"], found["VP"], found["DT"]) == ((0.5, 1), (2, 1), (0, 0))
    assert found["S"] == (1.75, 2)  # in the middle of NP and the full stop
    assert len(ax.lines) == 6


def test_what_is_no_tree_is_refused(ax: Axes) -> None:
    for tree, message in (
        ("(S DT", "needs one phrase"),
        ("(S NN )NP", r"'\)NP' closes no open phrase"),
        ("(S DT NN VB )S", "3 parts of speech and the sentence 4 words"),
    ):
        with pytest.raises(UserError, match=message):
            draw_parse_tree(tree, WORDS, ax)
