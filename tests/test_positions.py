"""Rotary positions: vectors turned by hand, and products that know only a distance."""

import math

import pytest
import torch
from torch.testing import assert_close

from transformer.positions import rotate
from transformer.support.errors import UserError


def test_turned_by_hand_and_products_depend_on_the_distance_alone() -> None:
    """Place 1 turns the first pair by 1, and the second by 1 / 100."""
    one = torch.tensor([[1.0, 0.0, 0.0, 2.0]])
    expected = [[math.cos(1), math.sin(1), -2 * math.sin(0.01), 2 * math.cos(0.01)]]
    assert_close(rotate(one, start=1), torch.tensor(expected))
    assert_close(rotate(one), one)
    with pytest.raises(UserError, match="d_k is 7"):
        rotate(torch.zeros(3, 7))
    torch.manual_seed(2)
    queries, keys = torch.randn(5, 14), torch.randn(7, 14)
    here = rotate(queries) @ rotate(keys).T
    assert_close(here, rotate(queries, 13) @ rotate(keys, 13).T, rtol=0, atol=1e-5)
    assert not torch.allclose(here, rotate(queries, 13) @ rotate(keys).T, atol=0.1)
