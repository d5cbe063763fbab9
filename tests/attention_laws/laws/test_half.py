"""What does not fit into 16 bits, or comes of a row without a key, is told from what does."""

import torch
from torch import Tensor

from attention_laws import Adapter, Report, Verdict, diagnose
from attention_laws.laws import half
from lessonkit.museum.sound import sound


def tried(adapter: Adapter) -> Report:
    return diagnose(adapter, laws=half.LAWS)


def masked_with(value: float, times: int = 1) -> Adapter:
    """Scores of padding are filled with a number, once or added up, and averaged over."""
    adapter = sound()
    table = adapter.module.src_embedding.token  # type: ignore[union-attr]

    def forward(src: Tensor, tgt_in: Tensor) -> Tensor:
        hidden = table(src)  # type: ignore[operator]
        scores = hidden @ hidden.transpose(1, 2)
        hide = torch.zeros_like(scores).masked_fill((src == 0)[:, None], value)
        weights = (scores + hide * times).softmax(dim=-1)
        seen = (weights.float() @ hidden.float()).sum(dim=(1, 2))
        return adapter.forward(src, tgt_in) + seen[:, None, None]

    return adapter.replace(forward=forward)


def test_a_mask_of_a_thousand_million_fits_into_bfloat16_and_not_into_float16() -> None:
    report = tried(masked_with(-1e9))
    assert report["bfloat16"].verdict == Verdict.KEPT
    assert report["float16"].verdict == Verdict.WARNED
    assert "65504" in report["float16"].seen
    assert not report.broken


def test_what_overflows_in_bfloat16_alone_is_broken() -> None:
    """32 bits hold 3.4028e38; of bfloat16, 3.3895e38 is the largest."""
    adapter = sound()

    def forward(src: Tensor, tgt_in: Tensor) -> Tensor:
        largest = torch.full((1, 1), 3.4e38) @ torch.ones(1, 1)
        return adapter.forward(src, tgt_in) + 0.0 * largest.float()

    report = tried(adapter.replace(forward=forward))
    assert "bfloat16" in report.broken
    assert "those in torch.float32 are" in report["bfloat16"].seen


def test_a_row_without_a_key_is_warned_of_where_it_is_not_finite() -> None:
    report = tried(masked_with(-torch.inf))
    line = report["empty_source"]
    assert line.verdict == Verdict.WARNED
    assert "[0, 0, 0, 0]" in line.seen
    assert not report.broken


def test_a_row_without_a_key_that_spoils_others_is_broken() -> None:
    adapter = sound()

    def mixed(src: Tensor, tgt_in: Tensor) -> Tensor:
        logits = adapter.forward(src, tgt_in)
        return logits + (src != 0).any(dim=1).float().mean()

    assert tried(adapter.replace(forward=mixed)).broken == ["empty_source"]
