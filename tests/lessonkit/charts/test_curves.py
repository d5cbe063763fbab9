"""Curves and bars: the points as given, a look for each line, names and units."""

from typing import Any

import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from lessonkit.charts import draw_contrasts, draw_gradients, draw_lines, draw_loss, draw_symptoms
from lessonkit.charts.curves import MOST_TICKS
from lessonkit.charts.style import OURS, PAPER
from transformer.support.errors import UserError

LOG: list[dict[str, Any]] = [
    {"kind": "training", "step": 3, "loss": 7.0},
    {"kind": "training", "step": 5, "loss": 5.5},
    {"kind": "validation", "step": 5, "loss": 5.75},
    {"kind": "training", "step": 7, "loss": 4.0},
]
LINES = {"de": [(250, 7.0), (1000, 5.0)], "en": [(250, 3.0), (1000, 2.0), (4000, 11.0)]}


def drawn(ax: Axes) -> dict[object, list[tuple[float, float]]]:
    return {line.get_label(): list(map(tuple, line.get_xydata())) for line in ax.lines}


def legend(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_loss_over_steps(ax: Axes) -> None:
    assert draw_loss(LOG, ax, "the demo") is ax
    assert drawn(ax) == {"training": [(3, 7), (5, 5.5), (7, 4)], "validation": [(5, 5.75)]}
    assert [to_hex(line.get_color()).upper() for line in ax.lines] == [PAPER, OURS]
    names = (ax.get_title(), ax.get_xlabel(), ax.get_ylabel())
    assert names == ("the demo", "step (updates of the weights)", "loss (nats per token)")
    assert ax.get_ylim()[0] == 0
    assert legend(ax) == ["training", "validation"]
    ax.clear()
    assert legend(draw_loss(LOG[:2], ax)) == ["training"]  # before the first validation


def test_every_line_has_its_points_and_its_look(ax: Axes) -> None:
    assert draw_lines(LINES, ax, "padding") is ax
    assert drawn(ax) == LINES
    looks = {(line.get_color(), line.get_marker()) for line in ax.lines}
    assert len({colour for colour, _ in looks}) == len({mark for _, mark in looks}) == 2
    assert (ax.get_title(), ax.get_xscale(), legend(ax)) == ("padding", "log", ["de", "en"])
    assert [label.get_text() for label in ax.get_xticklabels()] == ["250", "1,000", "4,000"]
    ax.clear()
    draw_lines({"en": [(2**i, i) for i in range(MOST_TICKS + 1)]}, ax)  # many are not named
    assert set(ax.get_xticks()) != {2**i for i in range(MOST_TICKS + 1)}


def test_gradients_have_a_line_for_each_stack(ax: Axes) -> None:
    norms = {"with sums": [2.0, 3.0, 5.0], "without": [1e-7, 0.11]}
    assert draw_gradients(norms, ax, "What arrives", of="network") is ax
    assert drawn(ax) == {"with sums": [(1, 2), (2, 3), (3, 5)], "without": [(1, 1e-7), (2, 0.11)]}
    assert ax.lines[0].get_color() != ax.lines[1].get_color()
    assert (ax.get_yscale(), legend(ax)) == ("log", list(norms))
    names = (ax.get_title(), ax.get_xlabel(), ax.get_ylabel())
    assert names == ("What arrives", "network (1 is the lowest)", "gradient (norm)")


def test_symptoms_are_drawn_from_zero_upwards(ax: Axes) -> None:
    two = {"sound": [(2, 5.0), (3, 1.5)], "ill": [(2, 5.5), (3, 5.25)]}
    assert draw_symptoms(two, ax, "Two") is ax
    assert drawn(ax) == two
    assert (ax.get_ylim()[0], legend(ax)) == (0, ["sound", "ill"])
    assert (ax.get_title(), ax.get_ylabel()) == ("Two", "loss (nats per token)")
    assert ax.lines[0].get_marker() == "o"
    ax.clear()
    draw_symptoms({"A": [(step, 1.0) for step in range(50)]}, ax)
    assert ax.get_legend() is None  # a single one
    assert ax.lines[0].get_marker() == "None"


@pytest.mark.parametrize(
    ("draw", "most"), [(draw_lines, 5), (draw_gradients, 4), (draw_symptoms, 4)]
)
def test_more_lines_than_looks_are_refused(draw: Any, most: int, ax: Axes) -> None:
    with pytest.raises(UserError, match=f"9 .*, and there are {most} colours: give fewer"):
        draw({name: [(1.0, 2.0)] for name in "abcdefghi"}, ax)


def figures(share: float, low: float, high: float) -> dict[str, Any]:
    return {"share": share, "interval": [low, high]}


def test_contrasts_have_bars_intervals_and_names(ax: Axes) -> None:
    series = {
        "says": {"negation": figures(0.25, 0.125, 0.5), "roles": figures(1.0, 0.75, 1.0)},
        "prefers": {"negation": figures(0.5, 0.25, 0.75), "roles": figures(0.0, 0.0, 0.25)},
    }
    assert draw_contrasts(series, ax, "What it keeps") is ax
    bars = [bar for bar in ax.patches if isinstance(bar, Rectangle)]
    assert [bar.get_width() for bar in bars] == [25, 100, 50, 0]
    middles = [bar.get_y() + bar.get_height() / 2 for bar in bars]
    assert middles == pytest.approx([0.2, 1.2, 0.6, 1.6])
    groups = [group for group in ax.collections if isinstance(group, LineCollection)]
    lines = [segment for group in groups for segment in group.get_segments()]
    assert [list(line[:, 0]) for line in lines] == [[12.5, 50], [75, 100], [25, 75], [0, 25]]
    assert [line[0, 1] for line in lines] == pytest.approx(middles)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["negation", "roles"]
    assert ax.yaxis_inverted()
    assert ax.get_legend_handles_labels()[1] == ["says", "prefers"]
    assert len({bar.get_facecolor() for bar in bars}) == 2
    assert (ax.get_title(), ax.get_xlim()) == ("What it keeps", (0, 100))
    other = {"a": {"negation": figures(0, 0, 1)}, "b": {"roles": figures(0, 0, 1)}}
    for wrong in ({}, other, dict.fromkeys("abcdef", other["b"])):
        with pytest.raises(UserError, match="give 1 to 5 with the same"):
            draw_contrasts(wrong, ax)
