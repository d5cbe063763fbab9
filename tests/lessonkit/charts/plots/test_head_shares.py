"""A table of questions and heads."""

import torch
from lessonkit.charts.plots.head_shares import draw_head_shares
from matplotlib.axes import Axes

from lessonkit.analysis.roles import Answer


def test_each_share_stands_in_its_column(ax: Axes) -> None:
    first = Answer("encoder", "not: the next word", 7, 0.25, torch.tensor([[0.5, 0.1], [0.7, 0.2]]))
    second = first._replace(question="itself", cases=31, even=0.125, shares=torch.zeros(2, 2))
    assert draw_head_shares([first, second], ax, "encoder") is ax
    written = {text.get_position(): text.get_text() for text in ax.texts}
    assert [written[column, 0] for column in range(5)] == ["0.25", "0.50", "0.10", "0.70", "0.20"]
    assert written[0, 1] == "0.12"
    assert [t.get_text() for t in ax.get_xticklabels()] == ["even", "1.1", "1.2", "2.1", "2.2"]
    assert [t.get_text() for t in ax.get_yticklabels()] == ["not: the next word (7)", "itself (31)"]
    assert ax.images[0].get_clim() == (0, 1)
