"""A law is tried, what is found is reported, and the model stays as it was."""

import dataclasses
import time
from typing import Any

import pytest
import torch
from torch import Tensor

from attention_laws import Adapter, Finding, LawResult, Report, Verdict, diagnose
from attention_laws.errors import UserError
from attention_laws.law import Law
from attention_laws.laws import MODEL_LAWS
from attention_laws.report import LAWS_NEEDED_TO_JUDGE_MODEL, NO_PADDING_REASON, kept_finding
from attention_laws.subject import Subject
from lessonkit.adapters import adapt_transformer
from tests.attention_laws.one_law import small_adapter
from transformer.config import BOS_ID, EOS_ID, PAD_ID
from transformer.models.translator import Translator

NAMES = [law.name for law in MODEL_LAWS]


def law(**changes: Any) -> Law:
    """Return a law that is kept, or another."""
    fields = {
        "name": "a_law",
        "check": lambda subject: kept_finding("looked at"),
        "compares": False,
    }
    return Law(**{"says": "It holds.", "means": "a slip", "look": "there"} | fields | changes)


def test_laws_have_distinct_names_and_words_without_a_full_stop() -> None:
    assert len(set(NAMES)) == len(NAMES)
    for each in MODEL_LAWS:
        assert each.says.endswith("."), each.name
        assert not each.means.endswith("."), each.name
        assert not each.look.endswith("."), each.name
        assert each.name.isidentifier()
    assert set(NAMES) >= set(LAWS_NEEDED_TO_JUDGE_MODEL)


def test_an_error_in_a_check_is_reported_with_its_place() -> None:
    def fails(subject: Subject) -> Finding:
        raise RuntimeError("size mismatch\nof 3")

    line = diagnose(small_adapter(), laws=[law(check=fails)])["a_law"]
    assert line.verdict == Verdict.NOT_TRIED
    assert "RuntimeError: size mismatch of 3 (" in line.seen
    assert "test_run.py:" in line.seen


def test_outputs_that_are_not_deterministic_are_not_compared() -> None:
    adapter = small_adapter()
    forward = adapter.forward
    noisy = adapter.replace(forward=lambda *ids: forward(*ids) + torch.rand(()))
    is_deterministic = next(x for x in MODEL_LAWS if x.name == "evaluation_is_deterministic")
    laws = [is_deterministic, law(compares=True), law(name="another")]
    report = diagnose(noisy, laws=laws)
    assert report.broken_laws == ["evaluation_is_deterministic"]
    assert "see `evaluation_is_deterministic`" in report["a_law"].seen
    assert report["another"].verdict == Verdict.KEPT


def test_each_law_gets_the_model_in_evaluation_mode_and_the_same_random_state() -> None:
    adapter = small_adapter()
    draws = law(check=lambda s: kept_finding(f"training {s.module.training}, {torch.rand(()):.3f}"))
    one, other = diagnose(adapter, laws=[draws, draws]).lines
    assert one.seen == other.seen
    assert one.seen.startswith("training False")


@pytest.mark.slow
def test_the_shipped_model_is_sound_and_it_does_not_take_long() -> None:
    model = Translator.load("demo-en-fr").model
    began = time.thread_time()
    report = diagnose(adapt_transformer(model))
    assert report.broken_laws == []
    assert time.thread_time() - began < 20


def test_sentences_have_bos_or_eos_and_no_other_special_ids() -> None:
    subject = Subject(small_adapter())
    src, tgt_in = subject.draw_src(40, 6), subject.draw_tgt_in(40, 5)
    assert src.shape == (40, 6)
    assert (src[:, -1] == EOS_ID).all()
    assert (tgt_in[:, 0] == BOS_ID).all()
    inner = {*src[:, :-1].flatten().tolist(), *tgt_in[:, 1:].flatten().tolist()}
    assert not inner & {PAD_ID, BOS_ID, EOS_ID}
    assert src.max() < subject.adapter.src_vocab_size <= tgt_in.max()
    # no token stands twice in a sentence where there are enough
    assert all(len(set(row)) == 20 for row in subject.draw_ids(23, 50, 20).tolist())
    assert subject.draw_ids(23, 2, 21).shape == (2, 21)  # one more than there are


def test_special_ids_may_be_any_and_sentences_are_reproducible() -> None:
    for special in ((5, 6, 7), (22, 0, 11), (None, 1, 1)):
        pad_id, bos_id, eos_id = special
        subject = Subject(small_adapter().replace(pad_id=pad_id, bos_id=bos_id, eos_id=eos_id))
        assert not set(subject.draw_ids(23, 20).tolist()) & set(special)
        assert subject.ordinary_id_other_than(3) not in (3, *special)
    one, same = (Subject(small_adapter()).draw_src(3, 9) for _ in range(2))
    assert torch.equal(one, same)


def test_what_counts_as_a_difference_grows_with_the_logits() -> None:
    forward = small_adapter().forward
    for size in (1e-3, 1.0, 1e3):
        adapter = small_adapter().replace(
            forward=lambda *ids, s=size: s * forward(*ids), module=None
        )
        logits = Subject(adapter).logits(torch.tensor([[5, 6, 3]]), torch.tensor([[2, 7]]))
        largest = float(logits.abs().max())
        assert 1e-6 * largest < Subject(adapter).tolerance < 1e-3 * largest
    subject = Subject(small_adapter())
    zero, nan = torch.zeros(3), torch.tensor([0.0, torch.nan, 0.0])
    assert subject.difference_or_zero_if_tolerated(zero, zero + subject.tolerance / 2) == 0
    assert subject.difference_or_zero_if_tolerated(zero, zero + 2 * subject.tolerance) > 0
    assert subject.difference_or_zero_if_tolerated(zero, nan) != 0


def test_a_model_that_cannot_run_in_float64_is_measured_in_float32() -> None:
    adapter = small_adapter()
    forward = adapter.forward

    def float32_only(src: Tensor, tgt_in: Tensor) -> Tensor:
        if next(adapter.module.parameters()).dtype != torch.float32:
            raise RuntimeError("expected Float")
        return forward(src, tgt_in)

    assert 0 < Subject(adapter.replace(forward=float32_only)).tolerance < 1e-3


def test_a_vocabulary_that_is_too_small_is_refused() -> None:
    for src, tgt in ((7, 29), (23, 7)):
        with pytest.raises(UserError, match="vocabulary of 7 is too small"):
            Adapter(forward=small_adapter().forward, src_vocab_size=src, tgt_vocab_size=tgt)


@pytest.mark.parametrize(
    ("name", "value", "remedy"),
    [
        ("norm_epsilon", 0.0, "above 0"),
        ("rotary_base", -10000.0, "above 0"),
        ("dropout", 10.0, "below 1"),
        ("label_smoothing", -0.1, "from 0"),
    ],
)
def test_a_setting_out_of_range_is_refused(name: str, value: float, remedy: str) -> None:
    with pytest.raises(UserError, match=f"{name} is {value}: .*{remedy}"):
        small_adapter().replace(**{name: value})


ORDER = ("kept", "warned", "not tried", "broken")


def line(verdict: Verdict, law: str = "a_law") -> LawResult:
    return LawResult(law, "It holds.", verdict, f"seen {law}", "a slip", "there", 0.25)


def test_the_exit_status_depends_on_broken_laws_and_untried_ones_of_the_core() -> None:
    kept, warned, not_tried, broken = (Verdict(each) for each in ORDER)
    for verdicts, status in (
        ([kept, warned, not_tried], 0),
        ([kept, broken], 1),
        ([not_tried], 3),
        ([], 0),
    ):
        assert Report(tuple(line(each) for each in verdicts)).exit_status == status
    for law, status in (
        ("decoder_is_causal", 3),
        ("gradients_reach_all_parameters", 3),
        ("logits_depend_on_all_source_tokens", 0),
    ):
        report = Report((line(kept), line(not_tried, law)))
        assert report.exit_status == status
        assert ("could not be judged" in str(report)) == bool(status)
    without_padding = dataclasses.replace(
        line(not_tried, "source_padding_is_ignored"), seen=NO_PADDING_REASON
    )
    assert Report((line(kept), without_padding)).exit_status == 0
    for verdict in (kept, Verdict.NOTED):
        report = Report((line(verdict, "two"),)).with_baseline({"two": "no"})
        assert f"accepts two, which is {verdict}" in report.assumptions[0]


def test_a_report_begins_with_what_is_broken_and_says_where_to_look() -> None:
    order = (Verdict.NOT_TRIED, Verdict.KEPT, Verdict.WARNED, Verdict.BROKEN)
    lines = tuple(line(each, f"law_{i}") for i, each in enumerate(order))
    report = Report(lines, assumptions=("pad is 0 (--pad)",), tolerance=3e-5)
    head, *groups = str(report).split("\n\n")
    assert head.startswith("4 laws: 1 broken, 1 warned, 1 kept, 1 not tried\nassumed: pad is 0")
    assert [each.splitlines()[0] for each in groups] == ["BROKEN", "WARNED", "KEPT", "NOT TRIED"]
    todo = "    seen     seen law_3\n    usually  a slip\n    look     there"
    assert (groups[0], groups[2]) == (
        f"BROKEN\n  law_3: It holds.\n{todo}",
        "KEPT\n  law_1: seen law_1",
    )
