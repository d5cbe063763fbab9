"""Turned queries and keys: one pair by hand, lengths kept, products of distance alone."""

import math

import pytest
import torch
from torch.testing import assert_close

from lessonkit.analysis.rotary import rotate
from transformer.support.errors import UserError


def test_one_pair_by_hand() -> None:
    """Place 1 turns the first pair by 1, and the second by 1 / 100."""
    one = torch.tensor([[1.0, 0.0, 0.0, 2.0]])
    expected = [[math.cos(1), math.sin(1), -2 * math.sin(0.01), 2 * math.cos(0.01)]]
    assert_close(rotate(one, start=1), torch.tensor(expected))
    assert_close(rotate(one), one)


def test_lengths_stay() -> None:
    vectors = torch.randn(3, 5, 14)
    assert_close(rotate(vectors, start=11).norm(dim=-1), vectors.norm(dim=-1))


def test_products_depend_on_the_distance_alone() -> None:
    torch.manual_seed(2)
    queries, keys = torch.randn(5, 14), torch.randn(7, 14)
    here = rotate(queries) @ rotate(keys).T
    further = rotate(queries, 13) @ rotate(keys, 13).T
    assert_close(here, further, rtol=0, atol=1e-5)
    apart = rotate(queries, 13) @ rotate(keys).T
    assert not torch.allclose(here, apart, atol=0.1)


def test_an_odd_width_is_refused() -> None:
    with pytest.raises(UserError, match="d_k is 7"):
        rotate(torch.zeros(3, 7))
