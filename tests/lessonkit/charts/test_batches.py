"""Batches: tokens in a grid, and areas with the rows, lengths and shares that were given."""

import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex

from lessonkit.charts import TokenGrid, batch_explorer, draw_tokens
from tests.helpers.vega import Spec, title, values, with_controls

BATCHES = {"random": [[7, 2, 5], [3, 3]], "token budget": [[2, 3], [11]]}


def test_tokens_stand_in_a_grid_with_dark_padding(ax: Axes) -> None:
    grid = TokenGrid("tgt_in", [["<bos>", "La", "<pad>"], ["<bos>", "Le", "chat"]], "#0072B2")
    assert draw_tokens(grid, ax) is ax
    written = {text.get_position(): text.get_text() for text in ax.texts}
    assert written[1.5, 1.53] == "Le"
    colours = [to_hex(cell.get_facecolor()) for cell in ax.patches]
    assert len(set(colours)) == 3
    assert int(colours[2][1:3], 16) < 0x50
    assert ax.yaxis_inverted()
    assert [t.get_text() for t in ax.get_yticklabels()] == ["sentence 1", "sentence 2"]


def rectangles(spec: Spec) -> list[tuple[int, str, int, int]]:
    """What is drawn: row, part, first and last position, in the order of the rows."""
    found = values(spec, (), "datum.row", "datum.part", "datum.start", "datum.end")
    return sorted((int(row), part, int(start), int(end)) for row, part, start, end in found)


@pytest.mark.parametrize("rule", BATCHES)
@pytest.mark.parametrize("batch", [1, 2])
def test_each_sentence_is_drawn_and_filled_up(rule: str, batch: int) -> None:
    spec = with_controls(batch_explorer(BATCHES).to_dict(), rule=rule, batch=batch)
    lengths = BATCHES[rule][batch - 1]
    expected = []
    for row, length in enumerate(lengths):
        expected += [(row, "padding", length, max(lengths)), (row, "token", 0, length)]
    assert rectangles(spec) == expected


def test_title_and_description_give_size_and_share() -> None:
    spec = batch_explorer(BATCHES).to_dict()
    assert title(spec) == "random, batch 1 of 2: 3 x 7 = 21 positions, 33% padding"
    moved = with_controls(spec, rule="token budget", batch=2)
    assert title(moved) == "token budget, batch 2 of 2: 1 x 11 = 11 positions, 0% padding"
    # random: 20 tokens in 21 + 6 positions; token budget: 16 in 6 + 11
    assert "by rule: random 26%, token budget 6%." in spec["description"]
    domains = [spec["encoding"][side]["scale"]["domain"] for side in ("x", "y")]
    assert domains == [[0, 11], [3, 0]]  # the axes stay where they are
