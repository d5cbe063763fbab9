"""Norms whose output has the scale of their input, and sound ones of several kinds."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from attention_laws.bare_module import adapter_from_module
from experiments.laws import sound_gpt
from experiments.laws.sound_model import D_MODEL, EncoderDecoder
from experiments.laws.sound_models import SOUND_MODELS, run_as_module
from tests.attention_laws.one_law import expect

LAW = "norms_ignore_the_scale"
MODERN = SOUND_MODELS["modern"].text
ROOT = "torch.sqrt(x.pow(2).mean(dim=-1, keepdim=True) + 1e-6)"


@pytest.mark.parametrize(
    ("new", "seen"),
    [
        (ROOT.removeprefix("torch.sqrt"), "encoder.0.attn_norm (RMSNorm)"),  # without a root
        (ROOT.replace("mean", "sum"), "root mean square of 0.177"),  # of 32 components
        (ROOT.replace("1e-6", "1e-1"), "0.3 times as large"),
    ],
)
def test_a_norm_through_which_the_scale_goes(new: str, seen: str) -> None:
    assert ROOT in MODERN
    expect(run_as_module(MODERN.replace(ROOT, new)).make_adapter(), LAW, "broken", seen)


class UnbiasedNorm(nn.Module):
    """A deviation over one fewer components, to which the epsilon is added."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(D_MODEL))
        self.shift = nn.Parameter(torch.zeros(D_MODEL))

    def forward(self, x: Tensor) -> Tensor:
        centred = x - x.mean(dim=-1, keepdim=True)
        return self.scale * centred / (x.std(dim=-1, keepdim=True) + 1e-6) + self.shift


class NormFromZero(nn.Module):
    """A scale of 1 plus a weight that begins as zero."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(D_MODEL))

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.rms_norm(x, (D_MODEL,)) * (1 + self.weight)


class PartialNorm(nn.Module):
    """It measures the first quarter of the components alone (Zhang and Sennrich 2019, pRMSNorm)."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(D_MODEL))

    def forward(self, x: Tensor) -> Tensor:
        size = x[..., : D_MODEL // 4].square().mean(dim=-1, keepdim=True).sqrt()
        return self.weight * x / (size + 1e-6)


@pytest.mark.parametrize("norm", [nn.LayerNorm, UnbiasedNorm, NormFromZero, PartialNorm])
def test_sound_norms_are_kept(norm: type[nn.Module]) -> None:
    torch.manual_seed(0)
    model = EncoderDecoder()
    for layer in (*model.encoder, *model.decoder):
        layer.first.norm = nn.LayerNorm(D_MODEL) if norm is nn.LayerNorm else norm()
    expect(adapter_from_module(model), LAW, "kept", "10 norms")


class TanhNorm(nn.Module):
    """A tanh in the place of a norm, as in "Transformers without Normalization" (2025)."""

    def __init__(self) -> None:
        super().__init__()
        self.slope, self.scale = nn.Parameter(torch.ones(1) / 2), nn.Parameter(torch.ones(D_MODEL))

    def forward(self, x: Tensor) -> Tensor:
        return self.scale * torch.tanh(self.slope * x)


class NormByEarlierBatches(nn.Module):
    """It divides by what earlier batches had, as PowerNorm does."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(D_MODEL))
        self.register_buffer("variance", torch.ones(D_MODEL))

    def forward(self, x: Tensor) -> Tensor:
        return self.scale * x / self.variance.sqrt()


class NormOfShortSentences(nn.LayerNorm):
    """It takes no longer sentences than those of the pass."""

    def forward(self, x: Tensor) -> Tensor:
        if x.shape[-2] > 7:
            raise ValueError("too long")
        return super().forward(x)


@pytest.mark.parametrize(
    "norm", [NormByEarlierBatches, TanhNorm, lambda: NormOfShortSentences(D_MODEL)]
)
def test_a_norm_that_cannot_be_judged_keeps_no_other_from_it(norm: Callable[[], nn.Module]) -> None:
    model = EncoderDecoder()
    model.encoder[0].first.norm = norm()
    expect(adapter_from_module(model), LAW, "kept", "9 norms")
    model.decoder[0].first.norm = nn.RMSNorm(D_MODEL, eps=0.5)
    expect(adapter_from_module(model), LAW, "broken", "decoder.0.first.norm")


L2_NORM = """
class L2Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(D_MODEL // HEADS))

    def forward(self, x):
        return F.normalize(x, dim=-1) * self.scale


class CausalSelfAttention("""
SCORES = "query @ key.transpose(-2, -1) / math.sqrt(key.shape[-1])"
COSINES = "10 * self.query_norm(query) @ self.key_norm(key).transpose(-2, -1)"
QKV = "self.qkv = nn.Linear(D_MODEL, 3 * D_MODEL)"


def test_attention_by_cosines_breaks_no_law_of_scales() -> None:
    """Queries and keys of length one, times 10, as in "Query-Key Normalization" (Henry 2020)."""
    text = Path(sound_gpt.__file__).read_text(encoding="utf-8")
    for old, new in (
        ("\nclass CausalSelfAttention(", L2_NORM),
        (SCORES, COSINES),
        (QKV, f"{QKV}; self.query_norm, self.key_norm = L2Norm(), L2Norm()"),
    ):
        assert text.count(old) == 1
        text = text.replace(old, new)
    adapter = adapter_from_module(run_as_module(text).make())
    expect(adapter, LAW, "kept", "9 norms")
    expect(adapter, "scores_are_scaled_by_sqrt_d_k", "warned")


def test_a_trained_scale_is_no_fault() -> None:
    model = EncoderDecoder()
    for weight in model.parameters():
        if weight.dim() == 1:
            nn.init.normal_(weight)
    expect(adapter_from_module(model), LAW, "kept")


@pytest.mark.parametrize("new", ["centred * (variance", "centred / (variance + 1e-5) / (variance"])
def test_a_norm_that_is_a_function(new: str) -> None:
    text = SOUND_MODELS["functional"].text
    expect(run_as_module(text).make_adapter(), "scale_of_words_is_not_amplified", "kept")
    text = text.replace("centred / (variance", new)
    expect(run_as_module(text).make_adapter(), "scale_of_words_is_not_amplified", "broken", "map 1")


def test_words_behind_a_norm_after_the_sum_are_read_as_they_are() -> None:
    expect(adapter_from_module(EncoderDecoder()), "scale_of_words_is_not_amplified", "kept")


def test_maps_of_one_head_read_words_too() -> None:
    """Heads that share a map of a head's width, on an axis of their own."""
    text = SOUND_MODELS["paper"].text
    changes = {
        "hidden.view(hidden.shape[0], hidden.shape[1], HEADS, -1)": "hidden",
        # Sharp attention selects words where it mixed them before.
        "self.words(ids) * math.sqrt(D_MODEL)": "self.words(ids) * 12",
    }
    for name in ("query", "key", "value"):
        changes[f"self.{name} = nn.Linear(D_MODEL, D_MODEL)"] = f"self.{name} = nn.Linear(8, 8)"
        changes[f"self.{name}(hidden)"] = f"self.{name}(hidden.unflatten(-1, (HEADS, 8)))"
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    model = run_as_module(text).EncoderDecoder()
    expect(adapter_from_module(model), "scale_of_words_is_not_amplified", "kept")
