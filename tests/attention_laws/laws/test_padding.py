from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from attention_laws import Adapter, Verdict
from lessonkit.museum.explicit import ExplicitAttention
from lessonkit.museum.layers import NormOverBatch, NormOverTime
from lessonkit.museum.masks import (
    MaskOfTheFirst,
    NoCausalMask,
    PaddingInverted,
    attend_to_padding,
    look_at_padding_from_the_decoder,
)
from lessonkit.museum.positions import OverTheBatch
from lessonkit.museum.specimen import turned
from tests.attention_laws.trying import small, tried
from transformer.attention import MultiHeadAttention
from transformer.embeddings import Embedding
from transformer.model import Decoder, Encoder, Transformer

SOURCE, TARGET, COMPANY, LEFT = "source_padding", "target_padding", "company", "left_padding"


@pytest.mark.parametrize("name", [SOURCE, TARGET, COMPANY])
@pytest.mark.parametrize("pre_norm", [False, True])
def test_kept_by_a_sound_model(name: str, pre_norm: bool) -> None:
    adapter = small(pre_norm=pre_norm, positions="learned", num_layers=2)
    assert tried(adapter, name).verdict == Verdict.KEPT


@pytest.mark.parametrize("name", [SOURCE, TARGET, COMPANY, LEFT])
def test_not_tried_without_padding(name: str) -> None:
    line = tried(small().replace(pad_id=None, left_padding=True), name)
    assert line.verdict == Verdict.NOT_TRIED


@pytest.mark.parametrize(
    ("fault", "name"),
    [
        (attend_to_padding, SOURCE),
        (attend_to_padding, COMPANY),
        (look_at_padding_from_the_decoder, SOURCE),
        (turned(Encoder, PaddingInverted), SOURCE),
        (turned(Encoder, MaskOfTheFirst), COMPANY),
        (turned(Decoder, NoCausalMask), TARGET),
        (turned(nn.LayerNorm, NormOverTime), TARGET),
        (turned(nn.LayerNorm, NormOverBatch), COMPANY),
        (turned(Embedding, OverTheBatch), COMPANY),
    ],
)
def test_a_fault_is_found(fault: Callable[[Transformer], None], name: str) -> None:
    adapter = small()
    assert isinstance(adapter.module, Transformer)
    fault(adapter.module)
    line = tried(adapter, name)
    assert line.verdict == Verdict.BROKEN
    assert line.look


def test_padding_before_a_source_is_tried_where_the_model_is_fed_so() -> None:
    adapter = small()
    assert tried(adapter, LEFT).verdict == Verdict.NOT_TRIED
    assert tried(adapter.replace(left_padding=True), LEFT).verdict == Verdict.BROKEN
    forward = adapter.forward

    def counting_words(src: Tensor, tgt_in: Tensor) -> Tensor:
        """Move padding to the end first."""
        order = (src == 0).long().argsort(dim=1, stable=True)
        return forward(src.gather(1, order), tgt_in)

    right = adapter.replace(left_padding=True, forward=counting_words)
    assert tried(right, LEFT).verdict == Verdict.KEPT


def test_a_small_difference_is_no_rounding() -> None:
    """A hundred-thousandth of the logits, which rounding does not move by so much."""
    adapter = small()
    forward = adapter.forward

    def noisy(src: Tensor, tgt_in: Tensor) -> Tensor:
        return forward(src, tgt_in) * (1 + 1e-4 * src.shape[1])

    assert tried(adapter.replace(forward=noisy), SOURCE).verdict == Verdict.BROKEN
    rounded = adapter.replace(forward=lambda *ids: forward(*ids) + 1e-7 * torch.rand(()))
    assert tried(rounded, SOURCE).verdict == Verdict.KEPT


class Faint(ExplicitAttention):
    """Hides with -10 where it should with minus infinity: e^-10 of a weight is left."""

    def weigh(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        scores = scores if mask is None else scores.masked_fill(~mask, -10.0)
        return scores.softmax(dim=-1)


def uneven() -> Adapter:
    """A sound model whose sharp attention enlarges rounding, layer by layer."""
    adapter = small(num_layers=12, pre_norm=True)
    assert isinstance(adapter.module, Transformer)
    with torch.no_grad():
        for each in adapter.module.modules():
            if isinstance(each, MultiHeadAttention):
                for weight in each.parameters():
                    weight.mul_(10 if weight.dim() > 1 else 1)
    return adapter


def coarse() -> Adapter:
    """A sound model that is rounded much in 32 bits where sentences have company.

    Whether layers enlarge rounding so far is up to the processor.
    """
    adapter = small()
    forward = adapter.forward

    def rounded(src: Tensor, tgt_in: Tensor) -> Tensor:
        logits = forward(src, tgt_in)
        return logits + 0.1 if len(src) > 1 and logits.dtype == torch.float32 else logits

    return adapter.replace(forward=rounded)


def test_steps_that_are_rounded_otherwise_are_no_fault() -> None:
    adapter = small()
    cached = adapter.cached
    assert cached is not None
    step = cached.step

    def rounded(tokens: Tensor, cache: Any) -> tuple[Tensor, Any]:
        logits, cache = step(tokens, cache)
        return (logits + 0.1 if logits.dtype == torch.float32 else logits), cache

    line = tried(adapter.replace(cached=replace(cached, step=rounded)), "cache")
    assert line.verdict == Verdict.KEPT
    assert line.seen.startswith("kept in 64 bits, where less is rounded; in 32: ")


def test_company_that_changes_rounding_is_no_leak() -> None:
    line = tried(coarse(), COMPANY)
    assert line.verdict == Verdict.KEPT
    assert line.seen.startswith("kept in 64 bits, where less is rounded; in 32: ")


def test_where_64_bits_cannot_be_had_32_decide() -> None:
    assert tried(coarse().replace(module=None), COMPANY).verdict == Verdict.BROKEN


@pytest.mark.parametrize("make", [small, uneven])
@pytest.mark.parametrize("name", [SOURCE, COMPANY])
def test_a_faint_leak_is_a_leak_in_64_bits_too(make: Callable[[], Adapter], name: str) -> None:
    adapter = make()
    assert isinstance(adapter.module, Transformer)
    turned(MultiHeadAttention, Faint)(adapter.module)
    line = tried(adapter, name)
    assert line.verdict == Verdict.BROKEN
    assert "64 bits" not in line.seen


@pytest.mark.parametrize("spoilt", [torch.nan, torch.inf])
def test_what_is_no_number_in_32_bits_is_not_excused_by_64(spoilt: float) -> None:
    adapter = small()
    forward = adapter.forward

    def overflowing(src: Tensor, tgt_in: Tensor) -> Tensor:
        logits = forward(src, tgt_in)
        return logits + spoilt if 0 in src and logits.dtype == torch.float32 else logits

    assert tried(adapter.replace(forward=overflowing), SOURCE).verdict == Verdict.BROKEN
