"""The lengths of sentence pairs, drawn."""

from io import BytesIO

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from lessonkit.charts import draw_length_pairs, draw_side_lengths, sentence_lengths_png
from transformer.data.cleaning import drop_reason
from transformer.support.errors import UserError

LENGTHS = [(3, 5), (3, 70), (110, 130), (110, 130), (700, 1000)]
LANGUAGES = ("en", "uk")


@pytest.fixture
def ax() -> Axes:
    return plt.figure().add_subplot()


def test_every_pair_is_in_the_bars_of_both_sides(ax: Axes) -> None:
    draw_side_lengths(LENGTHS, LANGUAGES, ax)
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["en", "uk"]
    for side, bars in enumerate(ax.patches):
        corners = bars.get_xy()
        longest = max(pair[side] for pair in LENGTHS)
        heights = corners[:, 1]
        assert corners[heights > 0, 0].max() >= longest * 0.99
        assert heights.max() == 2


def test_pairs_are_counted_where_they_lie_and_dashes_are_the_rule(ax: Axes) -> None:
    draw_length_pairs(LENGTHS, LANGUAGES, ax)
    (cells,) = ax.collections
    assert np.sort(np.asarray(cells.get_array())).tolist() == [1, 1, 1, 2]
    upper, lower = (line.get_xydata() for line in ax.lines)
    assert upper.tolist() == lower[:, ::-1].tolist()
    for shorter, longest in upper:
        sides = "x" * int(shorter), "y" * int(longest)
        if longest <= 1000:
            assert drop_reason(sides, [[], []]) is None
            assert drop_reason((sides[0], sides[1] + "y"), [[], []]) is not None


def test_the_picture_is_a_png_and_needs_a_pair() -> None:
    image = plt.imread(BytesIO(sentence_lengths_png("mine", LENGTHS, LANGUAGES)))
    assert image.shape[0] > 300
    assert image[..., :3].std() > 0.05
    with pytest.raises(UserError, match="no sentence pair"):
        sentence_lengths_png("mine", [], LANGUAGES)
