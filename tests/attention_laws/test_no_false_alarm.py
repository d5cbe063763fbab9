"""Sound models that laws once called broken, or could not judge, and what they still find there."""

import json
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from attention_laws import Adapter, diagnose
from attention_laws.bare_module import adapter_from_module
from attention_laws.laws import MODEL_LAWS
from experiments.laws.sound_model import (
    BOS,
    D_MODEL,
    EOS,
    SRC_TYPES,
    TGT_TYPES,
    EncoderDecoder,
    Residual,
    make_adapter,
)
from tests.attention_laws.one_law import expect, small_adapter, try_law


def broken_laws(model: Adapter | nn.Module, *names: str) -> list[str]:
    """Return which of these laws a model breaks."""
    return diagnose(model, laws=[law for law in MODEL_LAWS if law.name in names]).broken_laws


@pytest.mark.parametrize("hides_keys", [True, False])
def test_rows_of_padded_queries_are_not_judged(hides_keys: bool) -> None:
    """Masks that hide padded queries too leave rows with equal weights, which nobody reads."""
    src_len, tgt_len = 7, 5

    def attention(src: Tensor, tgt_in: Tensor) -> dict[str, Tensor]:
        real = (src != 0)[:, None, None, :]
        both = real & real.transpose(-2, -1)
        scores = torch.zeros(2, 1, src_len, src_len)
        own = torch.ones(2, 1, tgt_len, tgt_len).tril()
        weights = scores.masked_fill(~both, -1e4).softmax(dim=-1) if hides_keys else scores + 1 / 7
        return {"encoder": weights, "decoder": own / own.sum(dim=-1, keepdim=True)}

    adapter = small_adapter().replace(attention=attention)
    expect(adapter, "masked_keys_get_no_weight", "kept" if hides_keys else "broken")


class TwoPaddings(nn.Module):
    """Sources are padded with 1 and targets with 0, around `torch.nn.Transformer`."""

    def __init__(self, hidden_target: int) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.src_pad_idx, self.trg_pad_idx = 1, 0
        self.hidden_target = hidden_target
        self.src = nn.Embedding(SRC_TYPES, 8, padding_idx=1)
        self.tgt = nn.Embedding(TGT_TYPES, 8, padding_idx=0)
        self.net = nn.Transformer(8, 2, 1, 1, 16, batch_first=True)
        self.output = nn.Linear(8, TGT_TYPES)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        causal = ~torch.ones(tgt.shape[1], tgt.shape[1], dtype=torch.bool).tril()
        hidden = self.net(
            self.src(src),
            self.tgt(tgt),
            tgt_mask=causal,
            src_key_padding_mask=src == 1,
            tgt_key_padding_mask=tgt == self.hidden_target,
            memory_key_padding_mask=src == 1,
        )
        return self.output(hidden)


def test_the_padding_of_one_side_is_a_word_on_the_other() -> None:
    assert broken_laws(TwoPaddings(0), "words_are_not_masked") == []
    report = diagnose(
        TwoPaddings(1), laws=[law for law in MODEL_LAWS if law.name == "words_are_not_masked"]
    )
    line = report["words_are_not_masked"]
    assert line.verdict == "broken"
    assert line.seen.startswith("tgt_in [2, ")
    assert "1 at position 2" in line.seen


def test_a_counterexample_is_what_the_module_was_given() -> None:
    """The module sees the future if padding of targets, 4, follows: as it is printed."""
    given: list[list[int]] = []

    class Theirs(EncoderDecoder):
        def __init__(self) -> None:
            super().__init__()
            self.src_pad_idx, self.trg_pad_idx = 0, 4

        def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
            given.extend(tgt.tolist())
            return super().forward(src, tgt) + (tgt == 4).sum()

    adapter = adapter_from_module(Theirs())
    assert (adapter.pad_id, adapter.tgt_pad_id, adapter.bos_id) == (0, 4, BOS)
    line = try_law(adapter, "target_padding_is_ignored")
    assert line.verdict == "broken"
    shown = json.loads(line.seen.partition("tgt_in ")[2].partition(":")[0])
    assert shown[-1] == 4
    assert shown in given


class ReZero(nn.Module):
    """A residual path whose sub-layer counts for nothing at the start."""

    def __init__(self) -> None:
        super().__init__()
        self.share = nn.Parameter(torch.zeros(()))

    def forward(self, hidden: Tensor, sublayer: Any) -> Tensor:
        return hidden + self.share * sublayer(hidden)


def with_residuals(make: Any) -> EncoderDecoder:
    torch.manual_seed(0)
    model = EncoderDecoder()
    for layer in (*model.encoder, *model.decoder):
        for name, part in list(layer.named_children()):
            if isinstance(part, Residual):
                setattr(layer, name, make(part))
    return model


DEPENDENCE = (
    "logits_depend_on_all_source_tokens",
    "logits_depend_on_all_previous_tokens",
    "token_order_matters",
    "encoder_is_contextual",
    "residual_paths_carry_the_input",
    "gradients_reach_all_parameters",
)


def test_what_begins_as_zero_is_no_fault_and_hides_none() -> None:
    model = with_residuals(lambda residual: ReZero())
    adapter = make_adapter(model)
    assert broken_laws(adapter, *DEPENDENCE) == []
    assert not any(bool(part.share) for part in model.modules() if isinstance(part, ReZero))
    forward = adapter.forward
    blind = adapter.replace(forward=lambda src, ids: forward(torch.full_like(src, EOS), ids))
    assert "logits_depend_on_all_source_tokens" in broken_laws(blind, *DEPENDENCE)


def test_zeros_without_a_gradient_are_a_fault() -> None:
    """Cross-attention of which every matrix is zero is not read, and stays so in training."""
    torch.manual_seed(0)
    model = EncoderDecoder()
    for name, weight in model.named_parameters():
        if ".cross." in name:
            nn.init.zeros_(weight)
    broken = broken_laws(adapter_from_module(model), *DEPENDENCE)
    assert broken[:1] == ["logits_depend_on_all_source_tokens"]


class Scale(nn.Module):
    """A root mean square norm that no name gives away."""

    def __init__(self) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(D_MODEL))

    def forward(self, hidden: Tensor) -> Tensor:
        return self.gain * hidden * (hidden.square().mean(dim=-1, keepdim=True) + 1e-6).rsqrt()


def test_a_model_is_untrained_whatever_its_norms_are_called() -> None:
    def rename(residual: Residual) -> Residual:
        residual.norm = Scale()
        return residual

    adapter = adapter_from_module(with_residuals(rename))
    expect(adapter, "initial_scores_have_unit_scale", "kept")
    for part in adapter.module.modules():  # type: ignore[union-attr]
        if isinstance(part, Scale):
            nn.init.normal_(part.gain)
    expect(adapter, "initial_scores_have_unit_scale", "not tried")


def test_of_several_tensors_the_logits_are_as_wide_as_the_vocabulary() -> None:
    class Theirs(EncoderDecoder):
        def forward(self, src: Tensor, tgt: Tensor) -> Any:
            hidden = self.tgt(tgt)
            return {"hidden": hidden, "scores": EncoderDecoder.forward(self, src, tgt)}

    convention: Any = adapter_from_module(Theirs()).forward
    assert convention.path == ("scores",)
    assert not convention.head


def test_dead_dropout_and_a_fill_beyond_float16_are_noted() -> None:
    adapter = make_adapter()
    adapter.module.spare = nn.Dropout(0.3)  # type: ignore[union-attr, assignment]
    expect(adapter, "dropout_is_active_in_training", "noted", "spare")
    forward = adapter.forward

    def fills(src: Tensor, tgt_in: Tensor) -> Tensor:
        logits = forward(src, tgt_in)
        scores = torch.zeros(3, 3) @ torch.zeros(3, 3)
        return logits + scores.masked_fill(torch.ones(3, 3).bool(), -1e9).softmax(dim=-1).sum() - 3

    expect(adapter.replace(forward=fills), "logits_are_finite_in_float16", "noted", "65504")
