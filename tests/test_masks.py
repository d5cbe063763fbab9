"""Masks: worked by hand, and in the shapes that attention takes."""

import pytest
import torch

from transformer.config import PAD_ID
from transformer.masks import causal_mask, padding_mask
from transformer.support.errors import UserError

IDS = torch.tensor([[7, 5, 3], [9, PAD_ID, PAD_ID]])


def test_padding_is_hidden_and_nothing_else() -> None:
    mask = padding_mask(IDS)
    assert (mask.shape, mask.dtype) == ((2, 1, 1, 3), torch.bool)
    assert mask[:, 0, 0].tolist() == [[True, True, True], [True, False, False]]
    assert padding_mask(IDS, pad_id=9)[1, 0, 0].tolist() == [False, True, True]


def test_the_causal_mask_shows_the_past_and_oneself() -> None:
    whole = [[True, False, False], [True, True, False], [True, True, True]]
    assert causal_mask(3)[0, 0].tolist() == whole
    assert causal_mask(3).shape == (1, 1, 3, 3)
    # with more keys the queries are the last positions
    assert causal_mask(2, 5)[0, 0].tolist() == [[True] * 4 + [False], [True] * 5]


def test_a_fraction_of_a_query_is_refused() -> None:
    with pytest.raises(UserError, match=r"q_len is 1\.5"):
        causal_mask(1.5, 3)  # type: ignore[arg-type]


def test_a_mask_too_large_for_memory_is_refused() -> None:
    with pytest.raises(UserError, match="q_len 40,000 x k_len 40,000"):
        causal_mask(40_000, device=torch.device("meta"))
