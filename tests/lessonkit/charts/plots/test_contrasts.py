"""Contrasts as bars: lengths, intervals, names, and what does not fit."""

from collections.abc import Iterator
from typing import Any

import matplotlib

matplotlib.use("Agg")

import pytest
from lessonkit.charts.plots.contrasts import draw_contrasts
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.patches import Rectangle

from transformer.support.errors import UserError


@pytest.fixture
def ax() -> Iterator[Axes]:
    _, ax = plt.subplots()
    yield ax
    plt.close("all")


def figures(share: float, low: float, high: float) -> dict[str, Any]:
    return {"share": share, "interval": [low, high]}


def test_bars_intervals_and_names(ax: Axes) -> None:
    series = {
        "says": {"negation": figures(0.25, 0.125, 0.5), "roles": figures(1.0, 0.75, 1.0)},
        "prefers": {"negation": figures(0.5, 0.25, 0.75), "roles": figures(0.0, 0.0, 0.25)},
    }
    assert draw_contrasts(series, ax, "What it keeps") is ax
    bars = [bar for bar in ax.patches if isinstance(bar, Rectangle)]
    assert [bar.get_width() for bar in bars] == [25, 100, 50, 0]
    middles = [bar.get_y() + bar.get_height() / 2 for bar in bars]
    assert middles == pytest.approx([0.2, 1.2, 0.6, 1.6])
    lines = [
        segment for lines in ax.collections if isinstance(lines, LineCollection)
        for segment in lines.get_segments()
    ]  # fmt: skip
    assert [list(line[:, 0]) for line in lines] == [[12.5, 50], [75, 100], [25, 75], [0, 25]]
    assert [line[0, 1] for line in lines] == pytest.approx(middles)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["negation", "roles"]
    assert list(ax.get_yticks()) == [0.4, 1.4]
    assert ax.yaxis_inverted()
    assert ax.get_legend_handles_labels()[1] == ["says", "prefers"]
    assert len({bar.get_facecolor() for bar in bars}) == 2
    assert (ax.get_title(), ax.get_xlim()) == ("What it keeps", (0, 100))
    assert "95% interval" in ax.get_xlabel()


@pytest.mark.parametrize(
    "series",
    [
        {},
        {"a": {"negation": figures(0, 0, 1)}, "b": {"roles": figures(0, 0, 1)}},
        {name: {"roles": figures(0, 0, 1)} for name in "abcdef"},
    ],
)
def test_series_that_do_not_fit(series: Any, ax: Axes) -> None:
    with pytest.raises(UserError, match="give 1 to 5 with the same"):
        draw_contrasts(series, ax)
