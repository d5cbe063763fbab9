"""Two ways to read: every edge that a layer computes is drawn, and one path stands out."""

from collections.abc import Callable

import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Annotation

from lessonkit.analysis.costs import table_1
from lessonkit.charts.plots.reading import draw_attentive, draw_recurrent
from lessonkit.charts.style import PAPER
from transformer.support.errors import UserError

WORDS = ["the", "black", "cat", "is", "sleeping"]
Place = tuple[float, ...]
Edges = dict[tuple[Place, Place], bool]


def edges(draw: Callable[..., Axes], words: list[str]) -> tuple[Axes, Edges]:
    """Every arrow, from where to where, and whether it stands out."""
    ax = draw(words, Figure().add_subplot())
    arrows = [each for each in ax.texts if isinstance(each, Annotation)]
    found: Edges = {}
    for each in arrows:
        assert each.arrow_patch is not None
        bright = to_hex(each.arrow_patch.get_edgecolor()) != PAPER
        found[tuple(each.xyann), tuple(each.xy)] = bright
    assert len(found) == len(arrows)
    return ax, found


def path(found: Edges) -> list[tuple[Place, Place]]:
    """The edges that stand out, from the first word to the last output."""
    bright = dict(edge for edge, shown in found.items() if shown)
    assert len(bright) == sum(found.values())
    place: Place = (0, 0)
    way: list[tuple[Place, Place]] = []
    while place in bright:
        way.append((place, bright[place]))
        place = bright[place]
    assert len(way) == len(bright)
    return way


def test_a_recurrent_path_goes_through_every_state() -> None:
    ax, found = edges(draw_recurrent, WORDS)
    assert len(found) == 5 + 4
    way = path(found)
    assert way[-1][1] == (4, 1)
    assert len(way) == table_1(n=5, d=8)["recurrent"].path
    assert ax.get_title() == "recurrent: 5 steps, one after another"


def test_a_path_of_self_attention_is_one_of_n_squared_edges() -> None:
    _, found = edges(draw_attentive, WORDS)
    assert len(found) == 5 * 5
    assert path(found) == [((0, 0), (4, 1))]


@pytest.mark.parametrize("draw", [draw_recurrent, draw_attentive])
def test_every_word_is_written(draw: Callable[..., Axes]) -> None:
    ax, _ = edges(draw, WORDS)
    assert set(WORDS) <= {each.get_text() for each in ax.texts}


@pytest.mark.parametrize("draw", [draw_recurrent, draw_attentive])
def test_one_word_is_refused(draw: Callable[..., Axes]) -> None:
    with pytest.raises(UserError, match="1 words have no path"):
        edges(draw, ["alone"])
