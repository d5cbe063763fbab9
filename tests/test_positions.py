"""Positions: where they begin; vectors turned by hand, and products that know a distance alone."""

import math

import pytest
import torch
from torch.testing import assert_close

from transformer.config import ModelConfig, PositionKind
from transformer.positions import make_positions, rotate
from transformer.support.errors import UserError


def test_turned_by_hand_and_products_depend_on_the_distance_alone() -> None:
    """Place 1 turns the first pair by 1, and the second by 1 / 100."""
    one = torch.tensor([[1.0, 0.0, 0.0, 2.0]])
    expected = [[math.cos(1), math.sin(1), -2 * math.sin(0.01), 2 * math.cos(0.01)]]
    assert_close(rotate(one, start=1), torch.tensor(expected))
    assert_close(rotate(one), one)
    far = [[math.cos(1000), math.sin(1000), -2 * math.sin(10), 2 * math.cos(10)]]
    assert_close(rotate(one, start=1000), torch.tensor(far), rtol=0, atol=1e-6)
    with pytest.raises(UserError, match="d_k is 7"):
        rotate(torch.zeros(3, 7))
    with pytest.raises(UserError, match=r"start is 0\.5"):
        rotate(one, start=0.5)  # type: ignore[arg-type]
    torch.manual_seed(2)
    queries, keys = torch.randn(5, 14), torch.randn(7, 14)
    here = rotate(queries) @ rotate(keys).T
    assert_close(here, rotate(queries, 13) @ rotate(keys, 13).T, rtol=0, atol=1e-5)
    assert not torch.allclose(here, rotate(queries, 13) @ rotate(keys).T, atol=0.1)


@pytest.mark.parametrize("kind", list(PositionKind))
def test_positions_begin_at_0_or_where_they_are_told(kind: PositionKind) -> None:
    torch.manual_seed(3)
    config = ModelConfig(d_model=14, num_heads=1, max_len=11, positions=kind, position_dim=3,
                         tie_softmax=False)  # fmt: skip
    positions = make_positions(config)
    words = torch.randn(2, 7, config.word_dim)
    whole = positions(words)
    assert whole.shape == (2, 7, 14)
    assert_close(whole, positions(words, 0), rtol=0, atol=0)
    assert_close(positions(words[:, 5:], 5), whole[:, 5:], rtol=0, atol=0)
    assert not torch.equal(positions(words[:, 5:]), whole[:, 5:])
