"""Masks: worked by hand, and in the shapes that attention takes."""

import torch

from transformer.config import PAD_ID
from transformer.masks import causal_mask, decoder_mask, padding_mask

IDS = torch.tensor([[7, 5, 3], [9, PAD_ID, PAD_ID]])


def test_padding_is_hidden_and_nothing_else() -> None:
    mask = padding_mask(IDS)
    assert mask.shape == (2, 1, 1, 3)
    assert mask.dtype == torch.bool
    assert mask[:, 0, 0].tolist() == [[True, True, True], [True, False, False]]


def test_another_padding_id() -> None:
    assert padding_mask(IDS, pad_id=9)[1, 0, 0].tolist() == [False, True, True]


def test_causal_mask_shows_the_past_and_oneself() -> None:
    assert causal_mask(3)[0, 0].tolist() == [
        [True, False, False],
        [True, True, False],
        [True, True, True],
    ]
    assert causal_mask(3).shape == (1, 1, 3, 3)


def test_with_more_keys_the_queries_are_the_last_positions() -> None:
    assert causal_mask(2, 5)[0, 0].tolist() == [
        [True, True, True, True, False],
        [True, True, True, True, True],
    ]
    torch.testing.assert_close(causal_mask(2, 5)[0, 0], causal_mask(5)[0, 0, 3:])


def test_the_decoder_mask_is_both() -> None:
    mask = decoder_mask(IDS)
    assert mask.shape == (2, 1, 3, 3)
    assert mask[0, 0].tolist() == causal_mask(3)[0, 0].tolist()
    assert mask[1, 0].tolist() == [[True, False, False]] * 3
