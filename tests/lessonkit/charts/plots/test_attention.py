"""Attention weights as pictures: queries down, keys across, one scale, labels that fit."""

import numpy as np
import pytest
import torch
from lessonkit.charts.plots.attention import draw_attention, draw_heads
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from transformer.support.errors import UserError

QUERIES = ["▁le", "▁chat", "<eos>"]
KEYS = ["▁the", "▁black", "▁cat", ".", "<eos>"]
# The second query looks at the fifth key: on swapped axes it would not.
WEIGHTS = torch.tensor(
    [[0.9, 0.1, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.2, 0.8], [0.2, 0.2, 0.2, 0.2, 0.2]]
)


def test_attention_puts_queries_down_and_keys_across(ax: Axes) -> None:
    assert draw_attention(WEIGHTS, QUERIES, KEYS, ax, "head 1") is ax
    (image,) = ax.images
    np.testing.assert_array_equal(np.asarray(image.get_array()), WEIGHTS.numpy())
    left, right, bottom, top = image.get_extent()
    assert (left, right) == (-0.5, 4.5)
    assert bottom > top  # the first query on top
    assert [label.get_text() for label in ax.get_xticklabels()] == KEYS
    assert [label.get_text() for label in ax.get_yticklabels()] == QUERIES
    assert ax.get_xlabel() == "attended to (key)"
    assert ax.get_ylabel() == "attends (query)"
    assert ax.get_title() == "head 1"


def test_attention_has_one_scale_for_all(ax: Axes) -> None:
    draw_attention(WEIGHTS / 2, QUERIES, KEYS, ax)
    assert ax.images[0].get_clim() == (0, 1)
    assert ax.images[0].get_cmap().name == "viridis"


def test_attention_takes_weights_as_models_have_them(ax: Axes) -> None:
    draw_attention(WEIGHTS.bfloat16().requires_grad_(), QUERIES, KEYS, ax)
    np.testing.assert_allclose(np.asarray(ax.images[0].get_array()), WEIGHTS.numpy(), atol=0.01)


def test_attention_refuses_tokens_that_do_not_fit(ax: Axes) -> None:
    with pytest.raises(UserError, match=r"shape \(5, 3\) do not fit 3 queries and 5 keys"):
        draw_attention(WEIGHTS.T, QUERIES, KEYS, ax)
    assert not ax.images


@pytest.mark.parametrize(
    ("num_heads", "rows", "columns"), [(1, 1, 1), (4, 1, 4), (6, 2, 3), (7, 2, 4), (8, 2, 4)]
)
def test_heads_stand_in_even_rows(num_heads: int, rows: int, columns: int) -> None:
    weights = torch.rand(num_heads, 3, 5).softmax(-1)
    figure = draw_heads(weights, QUERIES, KEYS, "a title")
    *heads, scale = figure.axes
    assert heads[0].get_gridspec().get_geometry() == (rows, columns)
    shown = [ax for ax in heads if ax.images]
    assert [ax.get_title() for ax in shown] == [f"head {i}" for i in range(1, num_heads + 1)]
    for ax, head in zip(shown, weights, strict=True):
        np.testing.assert_array_equal(np.asarray(ax.images[0].get_array()), head.numpy())
    assert scale.get_ylabel() == "attention weight"
    assert figure.get_suptitle() == "a title"
    assert figure.get_supxlabel() == "attended to (key)"
    assert figure.get_supylabel() == "attends (query)"


@pytest.mark.slow
@pytest.mark.parametrize(("q_len", "k_len"), [(3, 3), (6, 6), (13, 17), (41, 37), (2, 31)])
def test_labels_of_heads_are_whole_and_apart(q_len: int, k_len: int) -> None:
    """Nothing is cut at the picture's edge, lines of labels do not touch, a page is wide enough."""
    queries, keys = ["▁question"] * q_len, ["▁extraordinary"] * k_len
    figure = draw_heads(torch.rand(4, q_len, k_len), queries, keys, "Cross-attention")
    figure.canvas.draw()
    assert figure.get_figwidth() <= 13
    for ax in figure.axes[:-1]:
        cell = ax.get_window_extent().height / q_len / figure.dpi
        assert cell >= 8 / 72  # inches: the height of a label
        for label in ax.get_xticklabels() + ax.get_yticklabels():
            box = label.get_window_extent()
            assert 0 <= box.x0 <= box.x1 <= figure.bbox.width
            assert 0 <= box.y0 <= box.y1 <= figure.bbox.height


def test_heads_refuse_tokens_that_do_not_fit_and_leave_no_figure() -> None:
    for weights in (WEIGHTS, WEIGHTS.T[None]):
        with pytest.raises(UserError, match=r"give \(num_heads, q_len, k_len\)"):
            draw_heads(weights, QUERIES, KEYS, "a title")
    assert not plt.get_fignums()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_attention_is_drawn_from_a_gpu(ax: Axes) -> None:
    draw_attention(WEIGHTS.cuda(), QUERIES, KEYS, ax)
    np.testing.assert_array_equal(np.asarray(ax.images[0].get_array()), WEIGHTS.numpy())
