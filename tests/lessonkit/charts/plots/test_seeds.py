"""Runs side by side: a dot for each, a bar at the mean, the first variant's mean across."""

from lessonkit.charts.plots.seeds import draw_seeds
from matplotlib.axes import Axes


def test_dots_means_and_names(ax: Axes) -> None:
    scores = {"as it is": [37.0, 39.0, 41.0], "less": [31.0], "more": [40.0, 43.0]}
    assert draw_seeds(scores, ax, "BLEU", "What it costs") is ax
    *rows, across = ax.lines
    dots, bars = rows[::2], rows[1::2]
    assert [list(line.get_xdata()) for line in dots] == list(scores.values())
    assert [list(line.get_ydata()) for line in dots] == [[0, 0, 0], [1], [2, 2]]
    assert [list(line.get_xdata()) for line in bars] == [[39, 39], [31, 31], [41.5, 41.5]]
    assert list(across.get_xdata()) == [39, 39]
    assert [label.get_text() for label in ax.get_yticklabels()] == list(scores)
    assert ax.yaxis_inverted()
    assert [text.get_text() for text in ax.texts] == ["39.0", "31.0", "41.5"]
    assert (ax.get_xlabel(), ax.get_title()) == ("BLEU", "What it costs")


def test_what_may_be_chance_is_shaded(ax: Axes) -> None:
    draw_seeds({"a": [10.0, 12.0], "b": [20.0]}, ax, "BLEU")
    assert not ax.patches
    draw_seeds({"a": [10.0, 12.0], "b": [20.0]}, ax, "BLEU", margin=1.5)
    (band,) = ax.patches
    assert (band.get_x(), band.get_width()) == (9.5, 3.0)
