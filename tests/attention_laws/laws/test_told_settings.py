"""Settings that an adapter tells, and models that have others."""

import pytest
import torch

from experiments.laws.sound_models import SOUND_MODELS, run_as_module
from experiments.laws.variants import variant_text
from tests.attention_laws.one_law import expect

MODERN, FUNCTIONAL, PAPER = (SOUND_MODELS[name].text for name in ("modern", "functional", "paper"))
EPSILON, DROPOUT = "norm_epsilon_is_as_told", "dropout_acts_as_told"
WEIGHTS, STD = "attention_dropout_acts_as_told", "initial_std_is_as_told"
SMOOTHING, RATES = "smoothed_targets_sum_to_one", "schedule_has_rates_told"
PENALTY = "length_penalty_does_not_favor_shorter"
DROPPED_SHARES = "F.dropout(F.softmax(scores, dim=-1), DROPOUT, self.training)"
MLP_SUM = "return x + self.drop(self.mlp(self.mlp_norm(x)))\n\n\n"


@pytest.mark.parametrize(
    ("text", "old", "new", "law", "seen"),
    [
        (MODERN, "+ 1e-6", "+ 1e-3", EPSILON, "RMSNorm"),
        (MODERN, "+ 1e-6", "+ 2e-6", EPSILON, "1e-06, which is told"),
        (FUNCTIONAL, "+ 1e-5)", "+ 2e-5)", EPSILON, "0.5"),
        (PAPER, "nn.LayerNorm(D_MODEL)", "nn.LayerNorm(D_MODEL, eps=1e-3)", EPSILON, "LayerNorm"),
        (MODERN, MLP_SUM, MLP_SUM.replace("self.drop", ""), DROPOUT, "2 residual paths"),
        (MODERN, "self.drop(self.embed(src))", "self.embed(src)", DROPOUT, "on 1 of 2 sides"),
        (PAPER, "self.dropout(sublayer(hidden))", "sublayer(hidden)", DROPOUT, "10 residual"),
        (FUNCTIONAL, "x + F.dropout(change, DROPOUT", "x + F.dropout(change, 0.2", DROPOUT, "0.2"),
        (MODERN, ", dropout_p=drop", "", WEIGHTS, "0 of 6 attentions"),
        (MODERN, "dropout_p=drop", "dropout_p=2 * drop", WEIGHTS, "0.2, and 0.1 is told"),
        (FUNCTIONAL, DROPPED_SHARES, "F.softmax(scores, dim=-1)", WEIGHTS, "0 of 6"),
        (MODERN, "weight, std=D_MODEL**-0.5", "weight, std=D_MODEL**-1.0", STD, "0.177 is told"),
        (MODERN, "nn.Linear | nn.Embedding", "nn.Embedding", STD, "q_proj"),
        (MODERN, ", label_smoothing=SMOOTHING", "", SMOOTHING, "a smoothing of 0.1 is told"),
        (FUNCTIONAL, "SMOOTHING / TGT_TYPES", "0.0", SMOOTHING, ""),
        (MODERN, "(0.1 + 0.9 *", "(0.2 + 0.8 *", RATES, "0.0003 is told"),
        (MODERN, "length**0.6", "length", PENALTY, "with a power of 0.6"),
    ],
)
def test_another_setting_than_is_told(text: str, old: str, new: str, law: str, seen: str) -> None:
    assert text.count(old) == 1
    expect(run_as_module(text.replace(old, new)).make_adapter(), law, "broken", seen)


@pytest.mark.parametrize(
    ("text", "law"),
    [
        (MODERN, EPSILON),
        (FUNCTIONAL, EPSILON),
        (MODERN, DROPOUT),
        (FUNCTIONAL, DROPOUT),
        (variant_text("modern", "parallel_layers"), DROPOUT),
        (variant_text("modern", "scaled_residual"), DROPOUT),
        (variant_text("paper", "pre_norm"), DROPOUT),
        (variant_text("paper", "learned_positions"), DROPOUT),
        (variant_text("modern", "explicit_softmax"), WEIGHTS),
        (PAPER, WEIGHTS),
        (MODERN, STD),
        (MODERN, RATES),
        (variant_text("functional", "no_smoothing"), SMOOTHING),
    ],
)
def test_the_settings_that_are_told(text: str, law: str) -> None:
    expect(run_as_module(text).make_adapter(), law, "kept")


SRC_WORDS = "F.embedding(src, self.src_words)"


@pytest.mark.parametrize(
    ("old", "new", "law"),
    [
        ("(scores, dim=-1), DROPOUT", "(scores, dim=-1).type_as(scores), DROPOUT", WEIGHTS),
        (SRC_WORDS, f"F.layer_norm({SRC_WORDS}, (WIDTH,))", DROPOUT),
        (SRC_WORDS, f"({SRC_WORDS} + torch.zeros(*src.shape, WIDTH))", DROPOUT),
        (
            "return F.linear(inner,",
            "return F.linear(F.dropout(inner, 0.3, self.training),",
            DROPOUT,
        ),
    ],
)
def test_dropout_beside_types_norms_positions_and_activations(old: str, new: str, law: str) -> None:
    assert FUNCTIONAL.count(old) == 1
    expect(run_as_module(FUNCTIONAL.replace(old, new)).make_adapter(), law, "kept")


def test_a_norm_whose_scale_begins_as_zero_tells_no_epsilon() -> None:
    text, old = variant_text("paper", "pre_norm"), "self.norm = nn.LayerNorm(D_MODEL)\n"
    zero = f"{old}        nn.init.zeros_(self.norm.weight)\n"
    assert text.count(old) == 1
    expect(run_as_module(text.replace(old, zero)).make_adapter(), EPSILON, "kept", "2 norms")


@pytest.mark.parametrize(
    ("part", "factor", "verdict"),
    [("o_proj", 0.5, "kept"), ("o_proj", 0.3, "broken"), ("", 0.5, "broken"), ("", 0.88, "kept")],
)
def test_smaller_draws_of_residual_branches_and_cut_ones(
    part: str, factor: float, verdict: str
) -> None:
    adapter = run_as_module(MODERN).make_adapter()
    with torch.no_grad():
        for name, weight in adapter.module.named_parameters():
            if weight.dim() > 1 and part in name:
                weight.mul_(factor)
    expect(adapter, STD, verdict)


def test_words_beside_positions_tell_no_epsilon() -> None:
    text = variant_text("functional", "absolute_positions")
    expect(run_as_module(text).make_adapter(), EPSILON, "not tried", "no norm is a module")


def test_dropout_of_torchs_own_rate_is_seen_in_calls() -> None:
    text = FUNCTIONAL.replace("F.dropout(change, DROPOUT, self.training)", "F.dropout(change, {})")
    # A model that takes no ids in training is judged by what it calls until it raises.
    returned = "return F.linear(self.normalize(x, self.dec_norm), self.logits)"
    text = text.replace(returned, f"assert not self.training\n        {returned}")
    for rate, verdict in (("training=self.training", "warned"), ("0.8, self.training", "broken")):
        adapter = run_as_module(text.replace("{}", rate)).make_adapter()
        expect(adapter, "dropout_rate_is_below_half", verdict, "a call of dropout")
