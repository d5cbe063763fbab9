"""Masks on axes: queries down, keys across, two colours that differ in lightness."""

import numpy as np
import pytest
import torch
from lessonkit.charts.plots.masks import ALLOWED, BLOCKED, draw_mask
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb

from transformer.support.errors import UserError

QUERIES = ["<bos>", "▁le", "▁chat"]
KEYS = ["▁the", "▁black", "▁cat", ".", "<eos>"]
# The first query may attend to the last key: on swapped axes it would not.
MASK = torch.tensor(
    [[True, False, False, False, True], [True, True, False, False, False], [True] * 5]
)


def test_queries_go_down_and_keys_across(ax: Axes) -> None:
    assert draw_mask(MASK, QUERIES, KEYS, ax, "padding") is ax
    (image,) = ax.images
    np.testing.assert_array_equal(np.asarray(image.get_array()), MASK.int().numpy())
    assert ax.get_xlim() == (-0.5, 4.5)
    assert ax.get_ylim() == (2.5, -0.5)  # the first query on top
    assert [label.get_text() for label in ax.get_xticklabels()] == KEYS
    assert [label.get_text() for label in ax.get_yticklabels()] == QUERIES
    assert ax.get_xlabel() == "attended to (key)"
    assert ax.get_ylabel() == "attends (query)"
    assert ax.get_title() == "padding"


@pytest.mark.parametrize(("value", "color"), [(True, ALLOWED), (False, BLOCKED)])
def test_each_value_has_its_color_even_alone(ax: Axes, value: bool, color: str) -> None:
    draw_mask(torch.full((3, 5), value), QUERIES, KEYS, ax)
    shown = ax.images[0].to_rgba(np.asarray(ax.images[0].get_array()))
    assert {to_hex(cell) for cell in shown.reshape(-1, 4)} == {color.lower()}


def test_the_legend_names_the_colors_that_are_drawn(ax: Axes) -> None:
    draw_mask(MASK, QUERIES, KEYS, ax)
    handles, labels = ax.get_legend_handles_labels()
    colors = {
        label: to_hex(handle.get_facecolor()[0])
        for handle, label in zip(handles, labels, strict=True)
    }
    assert colors == {"may attend": ALLOWED.lower(), "may not": BLOCKED.lower()}


def test_the_colors_differ_in_lightness() -> None:
    """A contrast of 3 is what WCAG 2.1 asks of graphics."""

    def luminance(color: str) -> float:
        linear = [
            v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in to_rgb(color)
        ]
        return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))

    assert (luminance(ALLOWED) + 0.05) / (luminance(BLOCKED) + 0.05) > 3


def test_a_mask_of_one_cell(ax: Axes) -> None:
    draw_mask(torch.ones(1, 1, dtype=torch.bool), ["<bos>"], ["<eos>"], ax)
    assert ax.get_xlim() == (-0.5, 0.5)


def test_tokens_must_fit(ax: Axes) -> None:
    for mask in (MASK.T, MASK[None], MASK[:1]):
        with pytest.raises(UserError, match=r"does not fit 3 queries and 5 keys: give \(q_len"):
            draw_mask(mask, QUERIES, KEYS, ax)
    assert not ax.images


def test_scores_are_no_mask(ax: Axes) -> None:
    with pytest.raises(UserError, match=r"torch.float32: give a boolean one, True = may attend"):
        draw_mask(MASK.float(), QUERIES, KEYS, ax)
    assert not ax.images
