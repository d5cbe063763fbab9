"""Attention weights and masks: queries down, keys across, every number in its place."""

import numpy as np
import pytest
import torch
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import to_hex

from lessonkit.charts import attention_explorer, draw_attention, draw_heads, draw_mask
from lessonkit.charts.attention import ALLOWED_COLOUR, BLOCKED_COLOUR
from tests.helpers.vega import SAID, SRC, some_attention, title, values, with_controls
from transformer.model import AttentionMaps
from transformer.models.translator import TranslationWithAttention
from transformer.support.errors import UserError

QUERIES = ["▁le", "▁chat", "<eos>"]
KEYS = ["▁the", "▁black", "▁cat", ".", "<eos>"]
# The second query looks at the fifth key: on swapped axes it would not.
WEIGHTS = torch.tensor(
    [[0.9, 0.1, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.2, 0.8], [0.2, 0.2, 0.2, 0.2, 0.2]]
)
MASK = WEIGHTS > 0.15


def labels(ax: Axes) -> tuple[list[str], list[str]]:
    across, down = ax.get_xticklabels(), ax.get_yticklabels()
    return [label.get_text() for label in across], [label.get_text() for label in down]


def test_weights_stand_with_queries_down_keys_across_and_one_scale(ax: Axes) -> None:
    given = (WEIGHTS / 2).bfloat16().requires_grad_()  # as a model may have them
    assert draw_attention(given, QUERIES, KEYS, ax, "head 1") is ax
    (image,) = ax.images
    np.testing.assert_allclose(np.asarray(image.get_array()), WEIGHTS.numpy() / 2, atol=0.005)
    left, right, bottom, top = image.get_extent()
    assert (left, right, bottom > top) == (-0.5, 4.5, True)  # the first query on top
    assert labels(ax) == (KEYS, QUERIES)
    names = (ax.get_xlabel(), ax.get_ylabel(), ax.get_title())
    assert names == ("attended to (key)", "attends (query)", "head 1")
    assert image.get_clim() == (0, 1)
    assert image.get_cmap().name == "viridis"


def test_a_dollar_in_a_token_or_a_title_is_no_formula(ax: Axes) -> None:
    formula = r"$\frac$"  # half a formula, at which matplotlib's own reading of it ends
    draw_attention(WEIGHTS, [formula, *QUERIES[1:]], [formula, *KEYS[1:]], ax, formula)
    ax.figure.canvas.draw()
    across, down = labels(ax)
    assert (across[0], down[0], ax.get_title()) == (formula, formula, formula)


def test_a_mask_has_queries_down_keys_across_and_a_legend(ax: Axes) -> None:
    assert draw_mask(MASK, QUERIES, KEYS, ax, "padding") is ax
    (image,) = ax.images
    shown = image.to_rgba(np.asarray(image.get_array()))
    expected = [
        [ALLOWED_COLOUR if cell else BLOCKED_COLOUR for cell in row] for row in MASK.tolist()
    ]
    assert [[to_hex(cell).upper() for cell in row] for row in shown] == expected
    assert (ax.get_xlim(), ax.get_ylim()) == ((-0.5, 4.5), (2.5, -0.5))  # the first query on top
    assert labels(ax) == (KEYS, QUERIES)
    handles, names = ax.get_legend_handles_labels()
    drawn = [to_hex(handle.get_facecolor()[0]).upper() for handle in handles]
    assert dict(zip(names, drawn, strict=True)) == {
        "may attend": ALLOWED_COLOUR,
        "may not": BLOCKED_COLOUR,
    }


def test_what_does_not_fit_is_refused(ax: Axes) -> None:
    with pytest.raises(UserError, match=r"shape \(5, 3\), 3 queries and 5 keys do not fit"):
        draw_attention(WEIGHTS.T, QUERIES, KEYS, ax)
    for mask in (MASK.T, MASK[None], MASK[:1]):
        with pytest.raises(UserError, match=r"a mask of shape .* do not fit: give \(q_len"):
            draw_mask(mask, QUERIES, KEYS, ax)
    with pytest.raises(UserError, match=r"give a boolean one, True = may attend"):
        draw_mask(MASK.float(), QUERIES, KEYS, ax)
    assert not ax.images
    plt.close("all")
    for weights in (WEIGHTS, WEIGHTS.T[None]):
        with pytest.raises(UserError, match=r"give \(num_heads, q_len, k_len\)"):
            draw_heads(weights, QUERIES, KEYS, "a title")
    assert not plt.get_fignums()


@pytest.mark.slow
def test_the_explorer_shows_the_chosen_head_of_each_stack() -> None:
    attention = some_attention()
    spec = attention_explorer(attention).to_dict()
    tokens = {
        "encoder": (SRC[:-1], SRC[:-1]),
        "decoder": (SAID, ["<bos>", *SAID[:2]]),  # it has read what it said before
        "cross": (SAID, SRC[:-1]),
    }
    for (stack, weights), layer, head in zip(
        attention.maps._asdict().items(), (1, 2, 1), (3, 1, 2), strict=True
    ):
        moved = with_controls(spec, stack=stack, layer=layer, head=head)
        queries, keys = tokens[stack]
        cells = (100 * weights[layer - 1, 0, head - 1]).round() / 100
        assert values(moved, (), "datum.query", "datum.key", "format(datum.value, '.2f')") == [
            [query, key, f"{cell:.2f}"]
            for query, row in zip(queries, cells.tolist(), strict=True)
            for key, cell in zip(keys, row, strict=True)
        ]
    assert title(moved) == "Cross-attention, layer 1, head 2"
    assert spec["encoding"]["color"]["scale"] == {"scheme": "viridis", "domain": [0, 1]}


def test_attention_of_too_many_words_or_none_is_refused() -> None:
    tokens = [f"▁word{i}" for i in range(60)]
    maps = AttentionMaps(*(torch.full((6, 1, 8, 60, 60), 1 / 60) for _ in range(3)))
    long = TranslationWithAttention("words", tokens, tokens, maps)
    with pytest.raises(UserError, match=r"518,400 cells, and .* 150,000: choose one layer="):
        attention_explorer(long)
    rows = attention_explorer(long, layer=5, head=8).to_dict()["data"]["values"]
    assert [(row["stack"], row["layer"], row["head"]) for row in rows] == [
        *(("encoder", 5, 8), ("decoder", 5, 8), ("cross", 5, 8))
    ]
    rows = attention_explorer(long, head=2).to_dict()["data"]["values"]
    assert {(row["layer"], row["head"]) for row in rows} == {(layer, 2) for layer in range(1, 7)}
    for numbers in ({"layer": 7}, {"layer": 0}, {"head": 9}):
        with pytest.raises(UserError, match="give a whole number from 1 to"):
            attention_explorer(long, **numbers)
    maps = AttentionMaps(*(weights[:0] for weights in some_attention().maps))
    with pytest.raises(UserError, match="this model has no attention to draw: give a Transformer"):
        attention_explorer(some_attention()._replace(maps=maps))
