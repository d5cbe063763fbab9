"""Positions: the curves and colours are the numbers given, the browser's are the package's."""

import math

import numpy as np
import pytest
import torch
from matplotlib.axes import Axes
from matplotlib.colors import to_hex

from lessonkit.charts import position_explorer, positions, style
from lessonkit.charts.positions import MAX_CHOSEN_POSITION, NUM_POSITIONS
from tests.helpers.vega import Spec, numbers, with_controls
from transformer.positions import sinusoidal_positions
from transformer.support.errors import UserError

TABLE = sinusoidal_positions(13, 6)
UPPER, LOWER = 0, 1  # the two charts
CELLS, POINTS = 0, 0  # layers of them


def test_a_turn_has_a_hand_at_each_end_and_an_arc_between(ax: Axes) -> None:
    assert positions.draw_rotation(TABLE, 1, (2, 7), 5, ax, "a title") is ax
    hands = [line for line in ax.lines if len(line.get_xydata()) == 2]
    ends = [line.get_xydata()[1] for line in hands]
    np.testing.assert_allclose(ends, TABLE[[2, 7, 7, 12]][:, [3, 2]].numpy())  # cosine, sine
    assert [line.get_linestyle() for line in hands] == [":", "-", ":", "-"]
    blue, orange = (line.get_xydata() for line in ax.lines if len(line.get_xydata()) > 2)
    for arc, (first, last) in ((blue, ends[:2]), (orange, ends[2:])):
        radius = np.linalg.norm(arc[0])
        np.testing.assert_allclose(arc[[0, -1]] / radius, [first, last], atol=1e-6)
    colours = [to_hex(line.get_color()).upper() for line in ax.lines]
    assert colours == [style.SOURCE_COLOUR] * 3 + [style.TARGET_COLOUR] * 3


def test_what_cannot_be_drawn_is_refused(ax: Axes) -> None:
    for draw, message in (
        (lambda: positions.draw_waves(TABLE, [6], ax), "dimension 6 .* 0 to 5"),
        (lambda: positions.draw_waves(TABLE, [-1], ax), "dimension -1 "),
        (lambda: positions.draw_rotation(TABLE, 3, (2,), 5, ax), "pair 3 .* 0 to 2"),
        (lambda: positions.draw_rotation(TABLE, 1, (2, 3, 5), 2, ax), "3 moves, .* 2 colours"),
        (lambda: positions.draw_rotation(TABLE, 1, (2, 11), 2, ax), "position 13 .* 0 to 12"),
        (lambda: positions.draw_similarity_by_distance(TABLE, 13, ax), "position 13 .* 0 to 12"),
    ):
        with pytest.raises(UserError, match=message):
            draw()


@pytest.fixture(scope="module")
def spec() -> Spec:
    return position_explorer().to_dict()


@pytest.mark.slow
def test_the_browser_s_table_is_the_package_s(spec: Spec) -> None:
    moved = with_controls(spec, d_model=16)
    drawn = numbers(moved, (UPPER, CELLS), "pos", "dimension", "value")
    table = torch.full((NUM_POSITIONS, 16), math.nan)
    for pos, dimension, value in drawn:
        table[int(pos), int(dimension)] = value
    assert len(drawn) == table.numel()
    torch.testing.assert_close(table, sinusoidal_positions(NUM_POSITIONS, 16))
    moved = with_controls(spec, d_model=4, base=100)
    for pos, dimension, value in numbers(moved, (UPPER, CELLS), "pos", "dimension", "value"):
        wave = math.cos if dimension % 2 else math.sin
        assert value == pytest.approx(wave(pos / 10 ** (dimension // 2)), abs=1e-12)


@pytest.mark.parametrize(("position", "d_model"), [(0, 4), (MAX_CHOSEN_POSITION, 64)])
def test_the_browser_s_products_are_the_package_s(spec: Spec, position: int, d_model: int) -> None:
    moved = with_controls(spec, position=position, d_model=d_model)
    table = sinusoidal_positions(NUM_POSITIONS, d_model).double()
    expected = table @ table[position]
    drawn = numbers(moved, (LOWER, POINTS), "pos", "product", "share")
    assert sorted(pos for pos, *_ in drawn) == list(range(NUM_POSITIONS))
    for pos, product, share in drawn:
        assert product == pytest.approx(float(expected[int(pos)]), abs=1e-5 * d_model)
        assert share == pytest.approx(product / (d_model / 2), abs=1e-12)
