"""The explorer of masks: each cell as the package's masks have it."""

import pytest
import torch
from lessonkit.charts.explorers.masks import mask_explorer

from tests.helpers.vega import SRC, TGT_IN, drawn_cells, title, with_controls
from transformer.masks import causal_mask, decoder_mask
from transformer.support.errors import UserError


def test_masks_are_the_package_s() -> None:
    spec = mask_explorer(SRC, TGT_IN).to_dict()
    real = torch.tensor([[True, True, True, True, False]])
    tgt_ids = torch.tensor([[2, 7, 0]])
    expected = {
        "padding": (SRC, SRC, real.expand(5, 5)),
        "causal": (TGT_IN, TGT_IN, causal_mask(3)[0, 0]),
        "combined": (TGT_IN, TGT_IN, decoder_mask(tgt_ids)[0, 0]),
        "cross": (TGT_IN, SRC, real.expand(3, 5)),
    }
    for name, (queries, keys, mask) in expected.items():
        down, across, cells = drawn_cells(with_controls(spec, mask=name))
        assert (down, across) == (queries, keys)
        assert cells == mask.double().tolist(), name


def test_masks_hand_worked() -> None:
    spec = with_controls(mask_explorer(["a"], ["<bos>", "b", "<pad>"]).to_dict(), mask="combined")
    _, _, cells = drawn_cells(spec)
    assert cells == [[1, 0, 0], [1, 1, 0], [1, 1, 0]]
    assert "coloured where it may" in spec["description"]
    assert "Combined: 5 of 9 may." in spec["description"]
    assert title(spec) == "Both: the decoder's self-attention"


def test_masks_of_sentences_too_long_to_be_stored() -> None:
    with pytest.raises(UserError, match="a chart holds 150,000: give a shorter sentence"):
        mask_explorer(["a"] * 300, ["<bos>"] * 300)
