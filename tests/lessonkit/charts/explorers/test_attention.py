"""The explorer of attention: every weight of every head in its place."""

import json
from pathlib import Path

import pytest
import torch
from lessonkit.charts.explorers.attention import attention_explorer

from tests.helpers.vega import (
    NUM_HEADS,
    NUM_LAYERS,
    SAID,
    SRC,
    drawn_cells,
    rounded,
    softmaxed,
    some_attention,
    title,
    with_controls,
)
from transformer.attention import AttentionMaps
from transformer.models.translator import Attention, Translator
from transformer.support.errors import UserError


def test_attention_puts_queries_down_and_keys_across() -> None:
    cross = torch.tensor([[0.9, 0.1, 0.0, 0.0], [0.0, 0.0, 0.2, 0.8], [0.25, 0.25, 0.25, 0.25]])
    attention = some_attention()
    attention.maps.cross[0, 0, 1] = cross
    spec = with_controls(attention_explorer(attention).to_dict(), stack="cross", layer=1, head=2)
    down, across, cells = drawn_cells(spec)
    assert down == ["▁le", "▁chat", "<eos>"]
    assert across == ["▁the", "▁cat", "▁the", "<eos>"]
    assert cells == rounded(cross)
    assert title(spec) == "Cross-attention, layer 1, head 2"


@pytest.mark.slow
def test_attention_shows_every_head_of_every_stack() -> None:
    attention = some_attention()
    spec = attention_explorer(attention).to_dict()
    labels = {
        "encoder": (SRC[:-1], SRC[:-1]),
        "decoder": (SAID, ["<bos>", "▁le", "▁chat"]),  # it has read what it said before
        "cross": (SAID, SRC[:-1]),
    }
    for name, weights in attention.maps._asdict().items():
        for layer in range(NUM_LAYERS):
            for head in range(NUM_HEADS):
                moved = with_controls(spec, stack=name, layer=layer + 1, head=head + 1)
                down, across, cells = drawn_cells(moved)
                assert (down, across) == labels[name]
                assert torch.allclose(
                    torch.tensor(cells), weights[layer, 0, head], atol=0.0051, rtol=0
                )


def test_attention_of_a_base_model_is_small() -> None:
    tokens = [f"▁word{i}" for i in range(30)]
    maps = AttentionMaps(*(softmaxed(6, 1, 8, 30, 30, seed=seed) for seed in range(3)))
    spec = attention_explorer(Attention("words", tokens, tokens, maps)).to_dict()
    assert len(json.dumps(spec).encode()) < 300_000
    assert len(spec["data"]["values"]) == 3 * 6 * 8


def test_attention_of_a_trained_model(tiny_folder: Path) -> None:
    attention = Translator.load(tiny_folder).attention("The dog sleeps.", beam_size=1)
    down, across, cells = drawn_cells(attention_explorer(attention).to_dict())
    assert (down, across) == (attention.tgt_tokens, attention.src_tokens)
    drawn, weights = torch.tensor(cells), attention.maps.cross[-1, 0, 0]
    assert torch.allclose(drawn, weights, atol=0.0051, rtol=0)


def test_attention_colors_are_fixed_from_0_to_1() -> None:
    color = attention_explorer(some_attention()).to_dict()["encoding"]["color"]
    assert color["scale"] == {"scheme": "viridis", "domain": [0, 1]}


def test_attention_refuses_a_model_that_has_none() -> None:
    maps = AttentionMaps(*(weights[:0] for weights in some_attention().maps))
    with pytest.raises(UserError, match="this model has no attention to draw: give a Transformer"):
        attention_explorer(some_attention()._replace(maps=maps))


def test_attention_refuses_what_would_not_be_stored() -> None:
    tokens = ["▁word"] * 60
    maps = AttentionMaps(*(torch.full((6, 1, 8, 60, 60), 1 / 60) for _ in range(3)))
    with pytest.raises(UserError, match=r"518,400 cells, and a chart holds 150,000"):
        attention_explorer(Attention("words", tokens, tokens, maps))
