"""What looks like a fault of the network and is none, and small faults that are real."""

import copy
from dataclasses import replace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_laws import Verdict, diagnose
from attention_laws.laws import MODEL_LAWS
from experiments.laws.equivalence import behaviour_fingerprint
from experiments.laws.sound_models import SOUND_MODELS, run_as_module
from lessonkit.museum import FAULTS
from lessonkit.museum.edited_source import SourceEdit
from lessonkit.museum.fault import apply_edits_to_model
from tests.attention_laws.one_law import expect, small_adapter, try_law

PAPER_MODEL = SOUND_MODELS["paper"]
FAULTS_BY_NAME = {fault.name: fault for fault in FAULTS}


def test_a_part_that_is_missing_is_no_fault() -> None:
    without_positions, no_numbers = small_adapter(), small_adapter()
    without_positions.module.src_embedding.positions.table.zero_()
    with torch.no_grad():
        next(no_numbers.module.parameters()).fill_(float("nan"))
    undeclared = small_adapter(tie_softmax=True).replace(declared_tied=())
    tied = "tgt_embedding.token.weight=output.weight"
    for adapter, law, verdict, seen in (
        (no_numbers, "logits_are_finite", "broken", "NaN"),
        (no_numbers, "evaluation_is_deterministic", "kept", ""),
        (small_adapter(dropout=0.0), "dropout_is_active_in_training", "not tried", ""),
        (small_adapter(dropout=0.0), "train_step_runs_in_train_mode", "not tried", ""),
        (without_positions, "embedding_and_position_scales_match", "not tried", ""),
        (undeclared, "declared_weights_are_tied", "not tried", tied),
    ):
        expect(adapter, law, verdict, seen)


def test_a_small_difference_is_told_from_rounding() -> None:
    """A hundred-thousandth of the logits, which rounding does not move by so much."""
    adapter = small_adapter()
    forward = adapter.forward
    noisy = adapter.replace(forward=lambda src, ids: forward(src, ids) * (1 + 1e-4 * src.shape[1]))
    expect(noisy, "source_padding_is_ignored", "broken")
    rounded = adapter.replace(forward=lambda *ids: forward(*ids) + 1e-7 * torch.rand(()))
    expect(rounded, "source_padding_is_ignored", "kept")


def test_rounding_is_no_fault_if_the_model_computes_in_float64() -> None:
    """How far layers enlarge rounding depends on the processor."""
    adapter = small_adapter()
    forward, cached = adapter.forward, adapter.cached

    def rounded(tokens: Tensor, cache: Any) -> tuple[Tensor, Any]:
        logits, cache = cached.step(tokens, cache)
        return (logits + 0.1 if logits.dtype == torch.float32 else logits), cache

    def in_a_batch(src: Tensor, tgt_in: Tensor) -> Tensor:
        logits = forward(src, tgt_in)
        return logits + 0.1 if len(src) > 1 and logits.dtype == torch.float32 else logits

    expect(
        adapter.replace(cached=replace(cached, step=rounded)),
        "cached_decoding_matches_forward",
        "kept",
        "float64",
    )
    expect(adapter.replace(forward=in_a_batch), "batch_rows_are_independent", "kept", "float64")
    expect(adapter.replace(forward=in_a_batch, module=None), "batch_rows_are_independent", "broken")


def test_a_faint_leak_is_broken_in_float64_too() -> None:
    """A mask of -10 in place of minus infinity leaves e^-10 of a weight."""
    edits = (
        SourceEdit("attention", "if return_weights or", "if True or"),
        SourceEdit("attention", "masked_fill(~mask, -torch.inf)", "masked_fill(~mask, -10.0)"),
        SourceEdit("attention", "weights.masked_fill(~mask, 0.0)", "weights"),
    )
    adapter = small_adapter()
    apply_edits_to_model(adapter.module, "faint", edits)
    for name in ("source_padding_is_ignored", "batch_rows_are_independent"):
        line = try_law(adapter, name)
        assert line.verdict == Verdict.BROKEN
        assert "float64" not in line.seen


def test_nan_in_float32_is_not_excused_by_float64() -> None:
    adapter = small_adapter()
    forward = adapter.forward
    for added in (torch.nan, torch.inf):

        def overflowing(src: Tensor, tgt_in: Tensor, added: float = added) -> Tensor:
            logits = forward(src, tgt_in)
            return logits + added if 0 in src and logits.dtype == torch.float32 else logits

        expect(adapter.replace(forward=overflowing), "source_padding_is_ignored", "broken")


def test_a_position_without_weight_is_warned_of() -> None:
    seen = "cross 0, head 0: position 0 has no weight on 1"
    causal = FAULTS_BY_NAME["cross_attention_causal"].build()
    expect(causal, "unmasked_keys_get_weight", "warned", seen)


def test_laws_of_initialization_are_not_tried_on_a_trained_model() -> None:
    trained, bare = (small_adapter().replace(untrained=None) for _ in range(2))
    expect(trained, "initial_loss_is_near_log_vocab_size", "kept")
    trained.train_step(*trained.make_batch([[5, 6]], [[7, 8]]))  # type: ignore[misc]
    for part in bare.module.modules():
        if isinstance(part, nn.LayerNorm):
            part.elementwise_affine = False
            part.weight = part.bias = None
    for adapter, seen in (
        (small_adapter().replace(untrained=False), "adapter"),
        (trained, "norms"),
        (bare, "untrained=True"),
    ):
        expect(adapter, "initial_loss_is_near_log_vocab_size", "not tried", seen)


@pytest.mark.parametrize(
    "changes",
    [
        {"pre_norm": True, "attention_bias": True, "output_bias": True, "num_layers": 2},
        {"positions": "learned", "tie_source_target": True, "src_vocab_size": 29},
    ],
)
def test_a_sound_model_keeps_the_laws_and_is_left_as_it_was(changes: dict[str, Any]) -> None:
    adapter = small_adapter(seed=3, **changes)
    before = copy.deepcopy(adapter.module.state_dict())
    report = diagnose(adapter)
    assert report.exit_status == 0, report
    assert not report.results_with_verdict(Verdict.WARNED), report
    torch.testing.assert_close(adapter.module.state_dict(), before, rtol=0, atol=0)
    assert all(weight.grad is None for weight in adapter.module.parameters())


def test_a_law_without_what_it_needs_is_not_tried() -> None:
    for law in MODEL_LAWS:
        for need in law.needs:
            changes = {need: None, "decoder_only": law.of_decoder_only}
            line = try_law(small_adapter().replace(**changes), law.name, minute=True)
            assert line.verdict == "not tried"
            assert need in line.seen


def test_without_padding_laws_about_padding_are_not_tried() -> None:
    def over_all(logits: Tensor, tgt_out: Tensor) -> Tensor:
        return F.cross_entropy(logits.flatten(end_dim=1), tgt_out.flatten())

    report = diagnose(small_adapter().replace(pad_id=None, loss=over_all))
    about = {law.name for law in MODEL_LAWS if "pad_id" in law.needs}
    assert not report.broken_laws
    assert about <= {line.law for line in report.results_with_verdict(Verdict.NOT_TRIED)}


def test_laws_that_train_are_tried_only_if_asked_for() -> None:
    for law in MODEL_LAWS:
        if law.minute:
            assert "--minute" in try_law(small_adapter(), law.name).seen


# Edits of the sound model of experiments/laws: the old text, the new, and the law that sees it.
EDITS = (
    ("self.query(hidden)", "self.query(hidden.detach())", "autograd_matches_finite_differences"),
    ("nn.ModuleList(EncoderLayer()", "(EncoderLayer()", "encoder_is_contextual"),
    ("elif len(going)", "elif total < best.values[0] and len(going)", "wide_beam_finds_the_best"),
    ("done.append(Candidate(prefixes[row], total, True))", "pass", "beam_of_one_is_greedy"),
    ("** 0.6", "** 1.2", "length_penalty_does_not_favor_shorter"),
    ("x(scores,", "x(nn.functional.dropout(scores, 0.1, self.training),", "decoder_is_causal"),
    (
        "self.first(hidden))",
        "self.first(hidden)) * (torch.arange(64) < 32)",
        "gradients_reach_all_parameters",
    ),
    ("D_MODEL**-0.5 * min", "min", "schedule_matches_paper"),
    (
        "logits.log_softmax(dim=-1)\n        true",
        "logits.softmax(dim=-1)\n        true",
        "softmax_is_taken_once",
    ),
)
ROOT_IN_QUERIES = (
    "self.query.weight.data /= 8**0.5; self.query.bias.data /= 8**0.5\n        self.key ="
)


def test_an_edit_of_the_sound_model_breaks_its_law() -> None:
    text = PAPER_MODEL.text
    for old, new, name in EDITS:
        assert text.count(old) == 1, old
        expect(run_as_module(text).make_adapter(), name, "kept")
        expect(run_as_module(text.replace(old, new)).make_adapter(), name, "broken")


def test_other_sound_designs_are_kept() -> None:
    text = PAPER_MODEL.text.replace(" / math.sqrt(query.shape[-1])", "")
    as_t5 = text.replace("self.key =", ROOT_IN_QUERIES)
    expect(run_as_module(text).make_adapter(), "scores_are_scaled_by_sqrt_d_k", "broken")
    expect(run_as_module(as_t5).make_adapter(), "scores_are_scaled_by_sqrt_d_k", "kept", "T5")
    # With a row of zeros for padding, as fairseq has it, and rounded to 8 bits.
    for change in ("waves[1] = 0", "waves = waves.bfloat16()"):
        changed = text.replace("self.register_buffer", f"{change}\n        self.register_buffer")
        expect(run_as_module(changed).make_adapter(), "sinusoids_match_paper", "kept")


# Mutants that compute what the sound model does, its weights with other signs or names.
EQUIVALENT = {
    "keys and values exchanged": (
        "self.split(self.key(hidden)), self.split(self.value(hidden))",
        "self.split(self.value(hidden)), self.split(self.key(hidden))",
    ),
    "sub-layers negated": ("hidden + self.dropout", "hidden - self.dropout"),
    "layers read and give the negative": ("words + self.waves", "words - self.waves"),
}
NOT_EQUIVALENT = (
    ("self.words(ids) * math.sqrt(D_MODEL)", "self.words(ids)"),  # a scale: Adam's steps differ
    ("start=0)", "start=1)"),  # LayerNorm sees which way the waves are turned
    ("** (torch.arange(0, D_MODEL, 2)", "** (1 + torch.arange(0, D_MODEL, 2)"),
)


@pytest.mark.slow
def test_an_equivalent_mutant_is_the_sound_model_with_its_weights_changed() -> None:
    """Compare in float64: logits, loss, search, cache, and three steps of Adam with dropout."""
    text = PAPER_MODEL.text
    sound = behaviour_fingerprint(run_as_module(text), PAPER_MODEL)
    assert set(PAPER_MODEL.weight_changes) == set(EQUIVALENT)
    for change, edit in EQUIVALENT.items():
        assert text.count(edit[0]) == 1
        mutant = run_as_module(text.replace(*edit))
        equivalent = [
            name
            for name in ("", *PAPER_MODEL.weight_changes)
            if behaviour_fingerprint(mutant, PAPER_MODEL, name) == sound
        ]
        assert equivalent == [change]
    for edit in NOT_EQUIVALENT:
        assert text.count(edit[0]) == 1
        mutant = run_as_module(text.replace(*edit))
        assert not any(
            behaviour_fingerprint(mutant, PAPER_MODEL, name) == sound
            for name in ("", *PAPER_MODEL.weight_changes)
        )
    newest_first = text.replace("zip(past, keys", "zip(keys, past")  # of no weights' concern
    assert behaviour_fingerprint(run_as_module(newest_first), PAPER_MODEL) == sound
