"""A model that is saved and loaded, compiled, checkpointed, or attends by another kernel."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from attention_laws.bare_module import adapter_from_module
from tests.attention_laws.one_law import expect, try_law

SAVING, COMPILED, CHECKPOINTED, FUSED = (
    "state_dict_restores_logits",
    "compiled_forward_matches_eager",
    "gradient_checkpointing_matches_plain",
    "fused_attention_matches_explicit",
)
VOCAB_SIZE, D_MODEL = 19, 14


class DecoderOnly(nn.Module):
    """One layer of causal attention, computed in one way alone."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.words, self.places = nn.Embedding(VOCAB_SIZE, D_MODEL), nn.Embedding(40, D_MODEL)
        self.qkv = nn.Linear(D_MODEL, 3 * D_MODEL)
        self.norm, self.dropout = nn.LayerNorm(D_MODEL), nn.Dropout(0.2)
        self.output = nn.Linear(D_MODEL, VOCAB_SIZE, bias=False)

    def attend(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        scores = query @ key.transpose(1, 2) / D_MODEL**0.5
        may = torch.ones(scores.shape[-2:]).tril().bool()
        return scores.masked_fill(~may, -torch.inf).softmax(dim=-1) @ value

    def layer(self, hidden: Tensor, scale: float = 1.0) -> Tensor:
        mixed = self.attend(*self.qkv(self.norm(hidden)).chunk(3, dim=-1))
        return hidden + scale * self.dropout(mixed)

    def call_layer(self, hidden: Tensor) -> Tensor:
        return self.layer(hidden)

    def forward(self, ids: Tensor) -> Tensor:
        hidden = self.words(ids) + self.places(torch.arange(ids.shape[1]))
        logits: Tensor = self.output(self.call_layer(hidden))
        return logits


class Tied(DecoderOnly):
    def __init__(self) -> None:
        super().__init__()
        self.output.weight = self.words.weight


class ForgetsWords(DecoderOnly):
    def state_dict(self, *args: Any, **options: Any) -> Any:
        state = super().state_dict(*args, **options)
        return {name: weight for name, weight in state.items() if name != "words.weight"}

    def load_state_dict(self, state: Any, strict: bool = True, assign: bool = False) -> Any:
        return super().load_state_dict(state, strict=False, assign=assign)


class SavesOtherNames(DecoderOnly):
    def state_dict(self, *args: Any, **options: Any) -> Any:
        state = super().state_dict(*args, **options)
        return {f"module.{name}": weight for name, weight in state.items()}


@pytest.mark.parametrize(
    ("kind", "verdict", "seen"),
    [
        (DecoderOnly, "kept", "equal"),
        (Tied, "noted", "words.weight and output.weight"),
        (ForgetsWords, "broken", "logits are"),
        (SavesOtherNames, "broken", "Missing key"),
    ],
)
def test_saved_and_loaded(kind: type[DecoderOnly], verdict: str, seen: str) -> None:
    model = kind()
    before = {name: (weight, weight.clone()) for name, weight in model.named_parameters()}
    expect(adapter_from_module(model), SAVING, verdict, seen)
    for name, weight in model.named_parameters():
        assert weight is before[name][0]
        assert torch.equal(weight, before[name][1])


class Checkpointed(DecoderOnly):
    scale, preserves_rng_state = 1.0, True

    def __init__(self) -> None:
        super().__init__()
        self.use_checkpoint = False

    def call_layer(self, hidden: Tensor) -> Tensor:
        if not self.use_checkpoint:
            return self.layer(hidden)
        options: Any = {"use_reentrant": False, "preserve_rng_state": self.preserves_rng_state}
        output: Tensor = checkpoint(self.layer, hidden, self.scale, **options)
        return output


@pytest.mark.parametrize(
    ("changes", "verdict", "seen"),
    [
        ({}, "kept", "gradients"),
        ({"scale": 0.5}, "broken", "the loss is"),
        ({"preserves_rng_state": False}, "broken", "gradients than without it at"),
    ],
)
def test_gradient_checkpointing(changes: dict[str, Any], verdict: str, seen: str) -> None:
    model = Checkpointed()
    for name, value in changes.items():
        setattr(model, name, value)
    expect(adapter_from_module(model), CHECKPOINTED, verdict, seen)
    assert not model.use_checkpoint


class RefusesCheckpointing(DecoderOnly):
    """As models of Hugging Face's that have the method and not what it switches."""

    def gradient_checkpointing_enable(self, **options: Any) -> None:
        raise ValueError("not supported")


def test_gradient_checkpointing_that_is_refused_is_not_tried() -> None:
    line = try_law(adapter_from_module(RefusesCheckpointing()), CHECKPOINTED)
    assert line.verdict == "not tried"
    assert not line.lost


class Flash(DecoderOnly):
    is_causal = True

    def __init__(self) -> None:
        super().__init__()
        self.flash = True

    def attend(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        if not self.flash:
            return super().attend(query, key, value)
        heads = (x[:, None] for x in (query, key, value))
        return F.scaled_dot_product_attention(*heads, is_causal=self.is_causal)[:, 0]


class FlashAlone(Flash):
    def attend(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        if not self.flash:
            raise AttributeError("it has no mask")
        return super().attend(query, key, value)


def test_fused_attention() -> None:
    expect(adapter_from_module(Flash()), FUSED, "kept", "flash=True")
    expect(adapter_from_module(FlashAlone()), FUSED, "not tried", "it has no mask")
    model = Flash()
    model.is_causal = False
    expect(adapter_from_module(model), FUSED, "broken", "flash=False")
    assert model.flash


def test_what_a_module_does_not_offer_is_not_tried() -> None:
    for law, reason in ((CHECKPOINTED, "offers no"), (FUSED, "cannot be switched")):
        expect(adapter_from_module(DecoderOnly()), law, "not tried", reason)


class WithABranchForTheCompiler(DecoderOnly):
    def forward(self, ids: Tensor) -> Tensor:
        logits = super().forward(ids)
        return logits.flip(0) if torch.compiler.is_compiling() else logits


# Tracing takes ten seconds a model.
@pytest.mark.weekly
@pytest.mark.parametrize(
    ("kind", "verdict"), [(DecoderOnly, "kept"), (WithABranchForTheCompiler, "broken")]
)
def test_compiled(kind: type[DecoderOnly], verdict: str) -> None:
    model = kind()
    expect(adapter_from_module(model), COMPILED, verdict, minute=True)
    assert model._compiled_call_impl is None


@pytest.mark.weekly
def test_what_is_not_called_as_a_module_is_not_compiled() -> None:
    model = DecoderOnly()
    adapter = adapter_from_module(model).replace(forward=lambda src, ids: model.forward(ids))
    expect(adapter, COMPILED, "not tried", "module(...)", minute=True)
