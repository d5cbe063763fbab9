"""Curves: the points as given, a look for each line, ticks at the points where few."""

from typing import Any

import pytest
from lessonkit.charts.plots.curves import MOST_TICKS, draw_lines, draw_loss
from matplotlib.axes import Axes
from matplotlib.colors import to_hex

from lessonkit.charts import style
from transformer.support.errors import UserError

LOG: list[dict[str, Any]] = [
    {"kind": "training", "step": 3, "loss": 7.0},
    {"kind": "training", "step": 5, "loss": 5.5},
    {"kind": "validation", "step": 5, "loss": 5.75},
    {"kind": "training", "step": 7, "loss": 4.0},
]
LINES = {"de": [(250, 7.0), (1000, 5.0)], "en": [(250, 3.0), (1000, 2.0), (4000, 11.0)]}


def test_loss_over_steps(ax: Axes) -> None:
    assert draw_loss(LOG, ax, "the demo") is ax
    training, validation = ax.lines
    assert training.get_xydata().tolist() == [[3, 7.0], [5, 5.5], [7, 4.0]]
    assert validation.get_xydata().tolist() == [[5, 5.75]]
    assert to_hex(training.get_color()) == style.PAPER.lower()
    assert to_hex(validation.get_color()) == style.OURS.lower()
    assert ax.get_xlabel() == "step (updates of the weights)"
    assert ax.get_ylabel() == "loss (nats per token)"
    assert ax.get_ylim()[0] == 0
    assert ax.get_title() == "the demo"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["training", "validation"]


def test_loss_before_the_first_validation(ax: Axes) -> None:
    draw_loss(LOG[:2], ax)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["training"]


def test_every_line_has_its_points_and_its_look(ax: Axes) -> None:
    assert draw_lines(LINES, ax, "padding") is ax
    drawn = {line.get_label(): list(map(tuple, line.get_xydata())) for line in ax.lines}
    assert drawn == LINES
    looks = {(line.get_color(), line.get_marker()) for line in ax.lines}
    assert len({colour for colour, _ in looks}) == len({mark for _, mark in looks}) == 2
    assert ax.get_title() == "padding"
    assert ax.get_xscale() == "log"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["de", "en"]


def test_more_lines_than_looks_are_refused(ax: Axes) -> None:
    lines = {str(n): [(1.0, 2.0)] for n in range(9)}
    with pytest.raises(UserError, match="9 lines, and there are 5 looks: give fewer"):
        draw_lines(lines, ax, "padding")


def test_few_points_are_named_and_many_are_not(ax: Axes) -> None:
    draw_lines(LINES, ax)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["250", "1,000", "4,000"]
    ax.clear()
    draw_lines({"en": [(2**i, i) for i in range(MOST_TICKS + 1)]}, ax)
    assert set(ax.get_xticks()) != {2**i for i in range(MOST_TICKS + 1)}
