"""Norms as functions: words of several sizes, and of none, tell a wrong epsilon or scale."""

import pytest

from experiments.laws.sound_models import SOUND_MODELS, run_as_module
from tests.attention_laws.one_law import expect

MODERN, FUNCTIONAL, PAPER = (SOUND_MODELS[name].text for name in ("modern", "functional", "paper"))


@pytest.mark.parametrize(
    ("text", "old", "new", "law", "seen"),
    [
        (FUNCTIONAL, "variance + 1e-5", "variance + 1e-2", "norms_level_small_words", "0.95 of"),
        (FUNCTIONAL, "variance + 1e-5", "variance", "zero_words_give_finite_logits", "155 of 155"),
        (
            MODERN,
            "keepdim=True) + 1e-6",
            "keepdim=True) - 1e-6",
            "zero_words_give_finite_logits",
            "",
        ),
        (
            FUNCTIONAL,
            '* weights["scale"]',
            '/ weights["scale"]',
            "norm_scales_multiply",
            "norm.scale",
        ),
        (MODERN, "size * self.weight", "size / self.weight", "norm_scales_multiply", "attn_norm"),
    ],
)
def test_a_norm_with_a_wrong_epsilon_or_scale(
    text: str, old: str, new: str, law: str, seen: str
) -> None:
    assert text.count(old) == 1
    expect(run_as_module(text).make_adapter(), law, "kept")
    expect(run_as_module(text.replace(old, new)).make_adapter(), law, "broken", seen)


def test_words_that_no_norm_levels_are_not_judged_by_their_size() -> None:
    adapter = run_as_module(PAPER).make_adapter()
    expect(adapter, "norms_level_small_words", "not tried", "no norm stands between")
    expect(adapter, "zero_words_give_finite_logits", "kept")
