"""Steps that go up, tell another loss, clip too late or move what is frozen; and sound ones."""

import pytest

from experiments.laws.mutants import SOUND_MODELS, run_as_module
from tests.attention_laws.one_law import expect

MODERN = SOUND_MODELS["modern"].text
CLIP = "        nn.utils.clip_grad_norm_(self.model.parameters(), max_norm=1.0)\n"
STEP = "        self.optimizer.step()\n"
BACKWARD = "        loss.backward()\n"
UNFREEZE = """        self.model.requires_grad_(True)
        loss = self.loss(self.model(src, tgt_in), tgt_out)
"""
EDITS = (
    ("train_step_goes_down_its_loss", "eps=1e-9,", "eps=1e-9, maximize=True,", "they go up"),
    ("train_step_goes_down_its_loss", "max_norm=1.0", "max_norm=0.0", "do not go down"),
    ("gradients_are_final_when_used", CLIP + STEP, STEP + CLIP, "embed.weight"),
    ("optimizer_settings_are_plausible", "(0.9, 0.98)", "(0.98, 0.9)", "exchanged"),
    ("optimizer_settings_are_plausible", "eps=1e-9,", "maximize=True,", "maximizes"),
    ("frozen_weights_stay", BACKWARD, UNFREEZE + BACKWARD, "frozen, moves"),
    ("schedule_rises_then_falls", "* step / WARMUP", "* WARMUP / step", "falls in the warm-up"),
    ("schedule_rises_then_falls", "(1 + math.cos", "(1 - math.cos", "drops at once"),
    ("schedule_rises_then_falls", "(0.1 + 0.9", "(1.1 + 0.9", "rises above it"),
)


@pytest.mark.parametrize(("law", "old", "new", "seen"), EDITS)
def test_an_edit_breaks_its_law(law: str, old: str, new: str, seen: str) -> None:
    assert MODERN.count(old) == 1
    expect(run_as_module(MODERN.replace(old, new)).make_adapter(), law, "broken", seen)


@pytest.mark.parametrize(
    ("new", "verdict"), [("loss.item() / 1.7", "warned"), ("math.nan", "broken")]
)
def test_a_step_that_returns_another_loss(new: str, verdict: str) -> None:
    adapter = run_as_module(MODERN.replace("return loss.item()", f"return {new}")).make_adapter()
    expect(adapter, "train_step_returns_its_loss", verdict, "a step returns")


@pytest.mark.parametrize(
    ("old", "new", "seen"),
    [
        (
            "log_prob / ((5",
            "log_prob / ((5 + length) / 6) ** 0.6 / ((5",
            "scores with two penalties",
        ),
        ("key=self.order, reverse=True", "key=self.order", ""),
    ],
)
def test_candidates_in_another_order_than_that_of_their_scores(
    old: str, new: str, seen: str
) -> None:
    text = SOUND_MODELS["functional"].text
    assert old in text
    adapter = run_as_module(text.replace(old, new)).make_adapter()
    score = run_as_module(text).make_adapter().candidate_score
    expect(adapter.replace(candidate_score=score), "beam_order_is_that_of_scores", "broken", seen)


SEARCH_LAWS = (
    "greedy_search_matches_forward",
    "beam_of_one_is_greedy",
    "beam_order_is_that_of_scores",
)


@pytest.mark.parametrize("name", SOUND_MODELS)
def test_sound_models_keep_them(name: str) -> None:
    adapter = run_as_module(SOUND_MODELS[name].text).make_adapter()
    for law in (
        *dict.fromkeys(law for law, *_ in EDITS),
        *SEARCH_LAWS,
        "train_step_returns_its_loss",
    ):
        expect(adapter, law, "kept")
