"""The parts of the layers: the feed-forward network and the residual connection."""

import pytest
import torch
from torch import nn

from transformer.config import ModelConfig
from transformer.feed_forward import FeedForward
from transformer.layers import DecoderLayer, EncoderLayer, Residual
from transformer.support.errors import UserError

D_MODEL = 15
SHAPE = (2, 7, D_MODEL)


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


def test_a_feed_forward_of_too_many_weights_is_refused_before_they_are_made() -> None:
    with torch.device("meta"), pytest.raises(UserError, match="d_model 65,536 x d_ff 65,536"):
        FeedForward(2**16, 2**16)


@pytest.mark.parametrize("pre_norm", [False, True])
def test_residual_connection(pre_norm: bool) -> None:
    torch.manual_seed(7)
    residual, hidden = Residual(D_MODEL, 0.0, pre_norm), torch.randn(SHAPE)
    norm = nn.LayerNorm(D_MODEL)
    nn.init.normal_(residual.norm.weight)
    norm.load_state_dict(residual.norm.state_dict())
    expected = hidden + norm(hidden).tanh() if pre_norm else norm(hidden + hidden.tanh())
    torch.testing.assert_close(residual(hidden, torch.tanh), expected)
    result, other, another = residual(hidden, lambda x: (x.tanh(), "weights", None))
    torch.testing.assert_close(result, expected)
    assert (other, another) == ("weights", None)


def test_residual_dropout_falls_on_the_sublayer_alone() -> None:
    torch.manual_seed(7)
    residual, hidden = Residual(D_MODEL, 0.9, pre_norm=True), torch.ones(SHAPE)
    result = residual(hidden, lambda _: hidden)
    assert set(result.flatten().round().tolist()) == {1.0, 11.0}  # 1 + 0, or 1 + 1 / 0.1


def test_layers_give_weights_only_when_asked() -> None:  # then: tests/test_model.py
    config = ModelConfig(d_model=14, num_heads=7, d_ff=31)
    hidden, mask = torch.randn(2, 5, 14), torch.ones(1, 1, 1, 1, dtype=torch.bool)
    assert EncoderLayer(config)(hidden, mask)[1] is None
    assert DecoderLayer(config)(hidden, hidden, mask, mask)[1:] == (None, None)


def test_dropout_of_the_feed_forward_falls_on_its_inner_activations() -> None:
    feed_forward = FeedForward(D_MODEL, 13, dropout=1.0)
    hidden = torch.randn(SHAPE)
    torch.testing.assert_close(feed_forward(hidden), feed_forward.outer.bias.expand(SHAPE))
    feed_forward.eval()
    assert not torch.allclose(feed_forward(hidden), feed_forward.outer.bias.expand(SHAPE))
