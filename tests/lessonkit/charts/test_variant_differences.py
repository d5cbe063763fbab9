"""The picture of a family of comparisons: intervals, verdicts, and which of them are good."""

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from lessonkit.analysis.significance import ConfidenceInterval
from lessonkit.analysis.variant_comparison import Comparison
from lessonkit.charts.variant_differences import LOOK_BY_VERDICT, draw_variant_differences

VERDICTS = ("lower", "higher", "no difference", "not shown")


@pytest.mark.parametrize(
    ("lower_is_better", "shown"),
    [
        (True, ["better", "worse", "no difference", "not shown"]),
        (False, ["worse", "better", "no difference", "not shown"]),
    ],
)
def test_a_loss_is_better_where_it_is_lower(lower_is_better: bool, shown: list[str]) -> None:
    comparisons = {
        f"variant {row}": Comparison(row, ConfidenceInterval(row - 0.5, row + 0.7), 0.5, verdict)
        for row, verdict in enumerate(VERDICTS)
    }
    ax = Figure().add_subplot()
    draw_variant_differences(
        comparisons, ax, "A", "nats", worth=0.25, lower_is_better=lower_is_better
    )
    _, *lines = ax.lines  # the first stands at no difference
    intervals, means = lines[::2], lines[1::2]
    for row, (interval, mean, verdict) in enumerate(zip(intervals, means, shown, strict=True)):
        assert np.asarray(interval.get_xdata()).tolist() == pytest.approx([row - 0.5, row + 0.7])
        assert np.asarray(mean.get_xdata()).tolist() == [row]
        assert np.asarray(interval.get_ydata()).tolist() == [row, row]
        colour, shape = LOOK_BY_VERDICT[verdict]
        assert (to_hex(mean.get_color()), mean.get_marker()) == (to_hex(colour), shape)
    (band,) = ax.patches
    assert band.get_extents().transformed(ax.transData.inverted()).intervalx == pytest.approx(
        [-0.25, 0.25]
    )
    assert [text.get_text() for text in ax.get_yticklabels()] == list(comparisons)
    assert ax.yaxis_inverted()  # the first is on top
