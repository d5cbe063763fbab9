"""A table of heads: layers down, heads across, each with its number."""

import torch
from lessonkit.charts.plots.head_grid import draw_head_grid
from matplotlib.axes import Axes


def test_layers_go_down_and_heads_across(ax: Axes) -> None:
    values = torch.tensor([[0.1, 0.25, 1.0], [2.0, 0.04, 3.96]])
    assert draw_head_grid(values, ax, "cross (nats)", highest=4.0, decimals=2) is ax
    written = {(t.get_position()[0], t.get_position()[1]): t.get_text() for t in ax.texts}
    assert written[(2, 0)] == "1.00"
    assert written[(1, 1)] == "0.04"
    assert len(written) == 6
    assert ax.get_xlabel() == "head"
    assert ax.get_ylabel() == "layer"
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "2", "3"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["1", "2"]
    assert ax.images[0].get_clim() == (0, 4.0)


def test_numbers_can_be_read_on_dark_and_bright(ax: Axes) -> None:
    draw_head_grid(torch.tensor([[0.1, 0.9]]), ax, "share", highest=1.0)
    assert [text.get_color() for text in ax.texts] == ["white", "black"]


def test_chosen_heads_are_framed(ax: Axes) -> None:
    framed = torch.tensor([[False, True, False], [False, False, True]])
    draw_head_grid(torch.zeros(2, 3), ax, "lost", highest=1.0, framed=framed)
    middles = [(p.get_x() + p.get_width() / 2, p.get_y() + p.get_height() / 2) for p in ax.patches]
    assert [(round(x), round(y)) for x, y in middles] == [(1, 0), (2, 1)]


def test_a_loss_of_nothing_has_no_sign(ax: Axes) -> None:
    draw_head_grid(torch.tensor([[-0.04, -0.06]]), ax, "lost", highest=1.0)
    assert [text.get_text() for text in ax.texts] == ["0.0", "-0.1"]
