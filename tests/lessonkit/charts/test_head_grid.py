"""A picture of heads has room for sentences of any length, and says what it leaves out."""

import math

import numpy as np
import pytest
import torch
from matplotlib import pyplot as plt

from lessonkit.charts import draw_heads
from lessonkit.charts.head_grid import MAX_FIGURE_INCHES, MIN_CELL_INCHES, plan_head_grid


def tokens(count: int, letter: str) -> list[str]:
    return [f"{letter}{number}" for number in range(count)]


@pytest.mark.parametrize("num_heads", [1, 3, 8, 61])
@pytest.mark.parametrize(("q_len", "k_len"), [(1, 1), (7, 5), (3, 211), (168, 217), (5003, 2003)])
def test_no_side_is_too_long_and_no_cell_invisible(num_heads: int, q_len: int, k_len: int) -> None:
    grid = plan_head_grid(num_heads, tokens(q_len, "q"), tokens(k_len, "k"))
    assert grid.rows * grid.columns >= num_heads > (grid.rows - 1) * grid.columns
    assert max(grid.figure_inches) <= MAX_FIGURE_INCHES + 1e-6
    assert grid.cell_inches >= MIN_CELL_INCHES
    width = grid.columns * grid.cell_inches * min(k_len, grid.tokens_drawn)
    height = grid.rows * grid.cell_inches * min(q_len, grid.tokens_drawn)
    assert (width, height) < grid.figure_inches
    # A label takes a line of 8 points and the space between lines.
    assert grid.label_every * grid.cell_inches >= 8 / 72
    assert (grid.tokens_drawn < max(q_len, k_len)) == (q_len == 5003)


def test_short_sentences_have_a_label_at_each_token() -> None:
    for num_heads, length in ((1, 40), (4, 20), (8, 13)):
        grid = plan_head_grid(num_heads, tokens(length, "q"), tokens(length, "k"))
        assert (grid.label_every, grid.tokens_drawn) == (1, length)


@pytest.mark.slow
def test_a_long_sentence_is_drawn_whole_with_fewer_labels() -> None:
    q_len, k_len = 67, 211
    weights = torch.rand(2, q_len, k_len)
    queries, keys = tokens(q_len, "q"), tokens(k_len, "k")
    figure = draw_heads(weights, queries, keys, "a title", [5, 7])
    first, second, *_ = figure.axes
    assert (first.get_title(), second.get_title()) == ("head 5", "head 7")
    for ax, matrix in zip((first, second), weights, strict=False):
        np.testing.assert_allclose(np.asarray(ax.images[0].get_array()), matrix.numpy())
        labels = [label.get_text() for label in ax.get_xticklabels()]
        every = math.ceil(k_len / len(labels))
        assert every > 1
        assert labels == keys[::every]
        assert ax.get_xticks().tolist() == list(range(0, k_len, every))
    assert f"1 in {every} labelled" in figure.get_supxlabel()
    plt.close(figure)


@pytest.mark.slow
def test_what_is_too_long_for_a_page_is_cut_off_and_said() -> None:
    figure = draw_heads(torch.rand(1, 3, 6007), tokens(3, "q"), tokens(6007, "k"), "a title")
    drawn = np.asarray(figure.axes[0].images[0].get_array()).shape[1]
    assert 1000 < drawn < 6007
    assert f"the first {drawn:,} of 6,007 tokens" in figure.get_supxlabel()
    plt.close(figure)
