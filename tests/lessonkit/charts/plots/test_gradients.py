"""Gradients by layer: a line for each stack, on a logarithmic axis."""

import pytest
from lessonkit.charts.plots.gradients import COLOURS, draw_gradients
from matplotlib.axes import Axes

from transformer.support.errors import UserError


def test_a_line_for_each_stack(ax: Axes) -> None:
    norms = {"with sums": [2.0, 3.0, 5.0], "without": [1e-7, 0.11]}
    assert draw_gradients(norms, ax, "What arrives", of="network") is ax
    assert [list(line.get_xdata()) for line in ax.lines] == [[1, 2, 3], [1, 2]]
    assert [list(line.get_ydata()) for line in ax.lines] == list(norms.values())
    assert [line.get_color() for line in ax.lines] == list(COLOURS)
    assert ax.get_yscale() == "log"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list(norms)
    assert (ax.get_title(), ax.get_xlabel()) == ("What arrives", "network (1 is the lowest)")
    assert ax.get_ylabel() == "gradient (norm)"


def test_more_stacks_than_colours_are_refused(ax: Axes) -> None:
    with pytest.raises(UserError, match="3 stacks, and there are 2 colours: give fewer"):
        draw_gradients({"a": [1.0], "b": [2.0], "c": [3.0]}, ax)
