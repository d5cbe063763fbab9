"""Charts of positions: the curves and colours are the numbers that were given."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from lessonkit.charts.plots import positions
from matplotlib.axes import Axes
from matplotlib.colors import to_hex

from lessonkit.charts import style
from transformer.embeddings import sinusoidal_positions
from transformer.support.errors import UserError

TABLE = sinusoidal_positions(13, 6)


def labelled(ax: Axes) -> bool:
    return bool(ax.get_xlabel() and ax.get_ylabel() and ax.get_title() == "a title")


def test_waves_are_the_columns_asked_for(ax: Axes) -> None:
    assert positions.draw_waves(TABLE, [5, 2, 0], ax, "a title") is ax
    for line, dimension in zip(ax.lines, (5, 2, 0), strict=True):
        np.testing.assert_array_equal(line.get_xdata(), np.arange(13))
        np.testing.assert_array_equal(line.get_ydata(), TABLE[:, dimension].numpy())
        assert line.get_label() == f"dimension {dimension}"
    assert len({to_hex(line.get_color()) for line in ax.lines}) == 3
    assert labelled(ax)


def test_one_wave_alone_is_drawn(ax: Axes) -> None:
    positions.draw_waves(TABLE, [3], ax)
    assert len(ax.lines) == 1


def test_table_has_the_first_position_on_top_and_zero_in_the_middle(ax: Axes) -> None:
    table = torch.tensor([[0.5, -3.0, 0.0], [1.0, 0.0, 2.0]])
    assert positions.draw_table(table, ax, "a title") is ax
    (image,) = ax.images
    np.testing.assert_array_equal(np.asarray(image.get_array()), table.numpy())
    assert image.get_clim() == (-3, 3)
    _, _, bottom, top = image.get_extent()
    assert bottom > top
    low, middle, high = image.get_cmap()([0.0, 0.5, 1.0])
    assert low[2] > low[0]  # blue
    assert high[0] > high[2]  # red
    assert min(middle[:3]) > 0.95  # white
    assert labelled(ax)


def test_a_table_of_zeros_is_drawn(ax: Axes) -> None:
    positions.draw_table(torch.zeros(2, 3), ax)
    assert ax.images[0].get_clim() == (-1, 1)


def test_a_turn_has_a_hand_at_each_end_and_an_arc_between(ax: Axes) -> None:
    assert positions.draw_turn(TABLE, 1, (2, 7), 5, ax, "a title") is ax
    hands = [line for line in ax.lines if len(line.get_xydata()) == 2]
    ends = [line.get_xydata()[1] for line in hands]
    np.testing.assert_allclose(ends, TABLE[[2, 7, 7, 12]][:, [3, 2]].numpy())  # cosine, sine
    for line in hands:
        np.testing.assert_array_equal(line.get_xydata()[0], [0, 0])
    assert [line.get_linestyle() for line in hands] == [":", "-", ":", "-"]
    blue, orange = (line.get_xydata() for line in ax.lines if len(line.get_xydata()) > 2)
    for arc, (first, last) in ((blue, ends[:2]), (orange, ends[2:])):
        radius = np.linalg.norm(arc[0])
        np.testing.assert_allclose(arc[[0, -1]] / radius, [first, last], atol=1e-6)
    colours = [to_hex(line.get_color()).upper() for line in ax.lines]
    assert colours == [style.SOURCE] * 3 + [style.TARGET] * 3
    assert labelled(ax)


def test_a_move_by_nothing_is_drawn(ax: Axes) -> None:
    positions.draw_turn(TABLE, 0, (3,), 0, ax)
    dotted, full, _ = ax.lines
    np.testing.assert_array_equal(dotted.get_xydata(), full.get_xydata())


def test_similarity_is_the_dot_product_at_each_distance(ax: Axes) -> None:
    table = torch.tensor([[1.0, 0.0], [2.0, 1.0], [0.0, 3.0]])
    assert positions.draw_similarity(table, 1, ax, "a title") is ax
    (line,) = ax.lines
    np.testing.assert_array_equal(line.get_xdata(), [-1, 0, 1])
    np.testing.assert_array_equal(line.get_ydata(), [2, 5, 3])
    assert line.get_label() == "from position 1"
    assert labelled(ax)


def test_curves_of_two_positions_share_axes_in_two_colours(ax: Axes) -> None:
    positions.draw_similarity(TABLE, 2, ax)
    positions.draw_similarity(TABLE, 7, ax)
    assert len({to_hex(line.get_color()) for line in ax.lines}) == 2


def test_a_learned_table_is_drawn_too(ax: Axes) -> None:
    learned = torch.nn.Embedding(7, 5).weight
    positions.draw_waves(learned, [0, 4], ax)
    positions.draw_table(learned, ax)
    positions.draw_similarity(learned, 3, ax)


def test_accuracy_has_a_line_for_each_run_and_a_name_for_each_kind(ax: Axes) -> None:
    runs = {
        "one": [[1.0, 0.5, 0.0], [0.9, 0.4, 0.1]],
        "two": [[0.8, 0.3, 0.2]],
        "three": [[0.7, 0.6, 0.4]],
    }
    assert positions.draw_accuracy_by_length(runs, [2, 5, 7], 5, ax, "a title") is ax
    drawn = [line.get_ydata().tolist() for line in ax.lines]
    assert drawn == [*runs["one"], *runs["two"], *runs["three"]]
    assert [to_hex(line.get_color()).upper() for line in ax.lines] == [
        style.OURS,
        style.OURS,
        style.TARGET,
        style.SOURCE,
    ]
    (band,) = ax.patches
    ends = band.get_extents().transformed(ax.transData.inverted()).intervalx
    np.testing.assert_allclose(ends, [2, 5])
    legend = ax.get_legend()
    assert legend is not None
    names = [text.get_text() for text in legend.get_texts()]
    assert names == ["lengths in training", "one", "two", "three"]
    assert labelled(ax)


BAD: dict[str, tuple[Callable[[Axes], object], str]] = {
    "no such wave": (lambda ax: positions.draw_waves(TABLE, [6], ax), "dimension 6 .* 0 to 5"),
    "negative": (lambda ax: positions.draw_waves(TABLE, [-1], ax), "dimension -1 "),
    "no such pair": (
        lambda ax: positions.draw_turn(TABLE, 3, (2,), 5, ax),
        "pair 3 .* 0 to 2",
    ),
    "three moves": (
        lambda ax: positions.draw_turn(TABLE, 1, (2, 3, 5), 2, ax),
        "3 moves, .* two colours",
    ),
    "a move past the end": (
        lambda ax: positions.draw_turn(TABLE, 1, (2, 11), 2, ax),
        "from 11 by 2 .* 0 to 12",
    ),
    "no such position": (
        lambda ax: positions.draw_similarity(TABLE, 13, ax),
        "position 13 .* 0 to 12",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_drawn_is_refused(case: str, ax: Axes) -> None:
    draw, message = BAD[case]
    with pytest.raises(UserError, match=message):
        draw(ax)
