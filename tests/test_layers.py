"""The parts of the stacks: feed-forward, residual frame, caches."""

import pytest
import torch
from torch import nn

from transformer.attention import KeyValueCache
from transformer.config import ModelConfig
from transformer.layers import DecoderLayer, EncoderLayer, FeedForward, Residual
from transformer.masks import causal_mask

D_MODEL, D_FF, BATCH, SRC_LEN, TGT_LEN = 15, 31, 2, 7, 5
CONFIG = ModelConfig(d_model=14, num_heads=7, d_ff=D_FF, num_layers=1, dropout=0.0)


def test_feed_forward_by_hand() -> None:
    layer = FeedForward(1, 2)
    with torch.no_grad():
        layer.inner.weight.copy_(torch.tensor([[1.0], [-1.0]]))
        layer.inner.bias.copy_(torch.tensor([0.0, 1.0]))
        layer.outer.weight.copy_(torch.tensor([[10.0, 100.0]]))
        layer.outer.bias.fill_(5.0)
    # 3: max(0, 3) 10 + max(0, -3 + 1) 100 + 5; -3: 0 + 4 x 100 + 5
    torch.testing.assert_close(
        layer(torch.tensor([[3.0], [-3.0]])), torch.tensor([[35.0], [405.0]])
    )


def test_feed_forward_treats_each_position_alone() -> None:
    layer, hidden = FeedForward(D_MODEL, D_FF), torch.randn(BATCH, SRC_LEN, D_MODEL)
    alone = torch.stack([layer(hidden[:, t]) for t in range(SRC_LEN)], dim=1)
    torch.testing.assert_close(layer(hidden), alone)


@pytest.mark.parametrize("pre_norm", [False, True])
def test_residual_frame(pre_norm: bool) -> None:
    torch.manual_seed(7)
    frame, hidden = Residual(D_MODEL, 0.0, pre_norm), torch.randn(BATCH, SRC_LEN, D_MODEL)
    norm = nn.LayerNorm(D_MODEL)
    nn.init.normal_(frame.norm.weight)
    norm.load_state_dict(frame.norm.state_dict())
    result = frame.after(hidden, frame.before(hidden).tanh())
    expected = hidden + norm(hidden).tanh() if pre_norm else norm(hidden + hidden.tanh())
    torch.testing.assert_close(result, expected)


def test_residual_dropout_falls_on_the_sublayer_alone() -> None:
    torch.manual_seed(7)
    frame, hidden = Residual(D_MODEL, 0.9, pre_norm=True), torch.ones(BATCH, SRC_LEN, D_MODEL)
    result = frame.after(hidden, hidden)
    assert set(result.flatten().round().tolist()) == {1.0, 11.0}  # 1 + 0, or 1 + 1 / 0.1


@pytest.mark.parametrize("pre_norm", [False, True])
def test_a_layers_cache_equals_the_whole_sequence(pre_norm: bool) -> None:
    torch.manual_seed(8)
    config = ModelConfig(d_model=14, num_heads=7, d_ff=D_FF, dropout=0.0, pre_norm=pre_norm)
    layer = DecoderLayer(config)
    hidden, memory = torch.randn(BATCH, TGT_LEN, 14), torch.randn(BATCH, SRC_LEN, 14)
    src_mask = torch.ones(BATCH, 1, 1, SRC_LEN, dtype=torch.bool)
    src_mask[1, ..., 4:] = False
    whole, _, _ = layer(hidden, memory, causal_mask(TGT_LEN), src_mask)
    cache = KeyValueCache(), KeyValueCache()
    steps = [layer(hidden[:, [t]], memory, None, src_mask, cache)[0] for t in range(TGT_LEN)]
    torch.testing.assert_close(torch.cat(steps, dim=1), whole)
    own, source = (each.kept for each in cache)
    assert (own[0].shape, source[0].shape) == ((BATCH, 7, TGT_LEN, 2), (BATCH, 7, SRC_LEN, 2))


def test_layers_give_weights_only_when_asked() -> None:
    torch.manual_seed(9)
    hidden, memory = torch.randn(BATCH, TGT_LEN, 14), torch.randn(BATCH, SRC_LEN, 14)
    mask = torch.ones(1, 1, 1, 1, dtype=torch.bool)
    encoder, decoder = EncoderLayer(CONFIG), DecoderLayer(CONFIG)
    plain, none = encoder(memory, mask)
    shown, weights = encoder(memory, mask, return_weights=True)
    assert none is None
    assert weights.shape == (BATCH, 7, SRC_LEN, SRC_LEN)
    torch.testing.assert_close(shown, plain)
    _, own, cross = decoder(hidden, memory, mask, mask, return_weights=True)
    assert own.shape == (BATCH, 7, TGT_LEN, TGT_LEN)
    assert cross.shape == (BATCH, 7, TGT_LEN, SRC_LEN)
    assert decoder(hidden, memory, mask, mask)[1:] == (None, None)
