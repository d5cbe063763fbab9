"""Lines on axes: the points as given, a look for each, ticks at the points where few."""

from collections.abc import Iterator
from typing import Any

import matplotlib

matplotlib.use("Agg")

import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from transformer.charts.lines import LOOKS, MOST_TICKS, draw_lines
from transformer.support.errors import UserError

LINES = {"de": [(250, 7.0), (1000, 5.0)], "en": [(250, 3.0), (1000, 2.0), (4000, 11.0)]}


@pytest.fixture
def ax() -> Iterator[Axes]:
    _, ax = plt.subplots()
    yield ax
    plt.close("all")


def test_every_line_has_its_points_and_its_look(ax: Axes) -> None:
    assert draw_lines(LINES, ax, "padding") is ax
    drawn = {line.get_label(): list(map(tuple, line.get_xydata())) for line in ax.lines}
    assert drawn == LINES
    looks = {(line.get_color(), line.get_marker()) for line in ax.lines}
    assert len({colour for colour, _ in looks}) == len({mark for _, mark in looks}) == 2
    assert ax.get_title() == "padding"
    assert ax.get_xscale() == "log"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["de", "en"]


def test_few_points_are_named_and_many_are_not(ax: Axes) -> None:
    draw_lines(LINES, ax)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["250", "1,000", "4,000"]
    ax.clear()
    draw_lines({"en": [(2**i, i) for i in range(MOST_TICKS + 1)]}, ax)
    assert set(ax.get_xticks()) != {2**i for i in range(MOST_TICKS + 1)}


@pytest.mark.parametrize(
    "lines", [{}, {"a": []}, {str(i): [(1, 1)] for i in range(len(LOOKS) + 1)}]
)
def test_refusals(ax: Axes, lines: Any) -> None:
    with pytest.raises(UserError, match="give 1 to 5 lines of at least one point"):
        draw_lines(lines, ax)
