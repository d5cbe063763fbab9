"""What counts towards a p-value stands out, and Holm's rule ends at the first that is above."""

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from lessonkit.analysis.significance import holm_adjusted_p_values
from lessonkit.charts import draw_holm, draw_p_value
from lessonkit.charts.style import OURS_COLOUR, PAPER_COLOUR, TARGET_COLOUR
from transformer.support.errors import UserError


def bars(ax: Axes) -> list[Rectangle]:
    return [patch for patch in ax.patches if isinstance(patch, Rectangle)]


def dots(ax: Axes) -> list[list[float]]:
    """The heights of every line: Holm's stairs, what is green, what is grey, the level."""
    return [np.asarray(line.get_ydata()).tolist() for line in ax.lines]


def test_all_that_is_at_least_as_far_stands_out(ax: Axes) -> None:
    draw_p_value([-3.0, -2.0, 0.0, 0.0, 0.5, 1.0, 2.0], -2.0, ax)
    heights = {PAPER_COLOUR: 0.0, TARGET_COLOUR: 0.0}
    for bar in bars(ax):
        heights[to_hex(bar.get_facecolor()).upper()] += bar.get_height()
    assert heights == {PAPER_COLOUR: 4, TARGET_COLOUR: 3}
    assert sorted(np.asarray(line.get_xdata())[0] for line in ax.lines) == [-2, 2]
    assert all(min(abs(bar.get_x() - edge) for bar in bars(ax)) < 1e-9 for edge in (-2, 2))


def test_no_bar_has_differences_of_both_kinds(ax: Axes) -> None:
    draw_p_value([-2.0, -1.95, 1.95, 2.0], 2.0, ax)
    places: dict[str, set[float]] = {PAPER_COLOUR: set(), TARGET_COLOUR: set()}
    for bar in bars(ax):
        if bar.get_height():
            places[to_hex(bar.get_facecolor()).upper()].add(bar.get_x())
    assert [len(each) for each in places.values()] == [2, 2]
    assert not set.intersection(*places.values())


@pytest.mark.parametrize("measured", [0.0, 1e-6, 0.4, 9.0])
def test_every_difference_is_in_a_bar(measured: float, ax: Axes) -> None:
    draw_p_value([0.0, -5.0, 5.0, 1.0], measured, ax)
    assert sum(bar.get_height() for bar in bars(ax)) == 4
    assert len(ax.patches) < 200


def test_dots_are_green_where_the_adjusted_p_value_is_small(ax: Axes) -> None:
    # 0.04 is below the level, and above what is asked of the third of four; the last is not asked.
    p_values = {"a": 0.3, "b": 0.001, "c": 0.04, "d": 0.016}
    draw_holm(p_values, ax)
    limits, green, grey, _ = dots(ax)
    assert limits == pytest.approx([0.0125, 0.05 / 3, 0.025, 0.05])
    assert ax.lines[1].get_color() == OURS_COLOUR
    assert green + grey == [0.001, 0.016, 0.04, 0.3]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["b", "d", "c", "a"]
    adjusted = holm_adjusted_p_values(list(p_values.values()))
    assert len(green) == sum(each <= 0.05 for each in adjusted) == 2
    with pytest.raises(UserError, match="p-value of 'b'"):
        draw_holm({"a": 0.5, "b": 1.5}, ax)


def test_after_one_that_is_above_none_is_shown(ax: Axes) -> None:
    draw_holm({"a": 0.03, "b": 0.035}, ax)  # the second alone is at most what is asked of it
    _, green, grey, _ = dots(ax)
    assert [len(green), len(grey)] == [0, 2]
