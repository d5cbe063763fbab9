import time
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from attention_laws import Finding, Line, Verdict, diagnose
from attention_laws.law import Law, Subject
from attention_laws.laws import LAWS
from attention_laws.report import kept
from lessonkit.subjects import from_transformer
from tests.attention_laws.trying import same, small, state
from transformer.models.translator import Translator

NAMES = [each.name for each in LAWS]


def law(**changes: Any) -> Law:
    """A law that is kept, or another."""
    given = {"name": "a_law", "check": lambda subject: kept("looked at"), "compares": False}
    return Law(**{"says": "It holds.", "means": "a slip", "look": "there"} | given | changes)


def line(model: Any, **changes: Any) -> Line:
    return diagnose(model, laws=[law(**changes)], minute=changes.get("minute") is None)["a_law"]


def test_the_laws_have_names_of_their_own_and_words() -> None:
    assert len(set(NAMES)) == len(NAMES)
    for each in LAWS:
        assert each.says.endswith("."), each.name
        assert not each.means.endswith("."), each.name
        assert not each.look.endswith("."), each.name
        assert each.name.isidentifier()
    assert [each.name for each in LAWS if each.minute] == NAMES[-3:]


def test_a_line_tells_what_was_found_and_of_which_law() -> None:
    found = line(small())
    assert found.seconds >= 0
    assert found == Line(
        "a_law", "It holds.", Verdict.KEPT, "looked at", "a slip", "there", found.seconds
    )


def test_what_a_check_raises_is_told_with_its_place() -> None:
    def fails(subject: Subject) -> Finding:
        raise RuntimeError("size mismatch\nof 3")

    found = line(small(), check=fails)
    assert found.verdict == Verdict.NOT_TRIED
    assert found.seen.startswith("it raised RuntimeError: size mismatch of 3 (")
    assert "test_run.py:" in found.seen


def test_a_model_that_cannot_run_is_reported_not_raised() -> None:
    def broken(src: Tensor, tgt_in: Tensor) -> Tensor:
        raise IndexError("index out of range")

    report = diagnose(small().replace(forward=broken))
    assert report.exit_status == 2
    assert "IndexError: index out of range" in report.stopped
    report = diagnose(nn.Linear(3, 3))
    assert report.exit_status == 2
    assert "write an Adapter" in report.stopped


def test_outputs_that_do_not_repeat_are_not_compared() -> None:
    adapter = small()
    forward = adapter.forward
    noisy = adapter.replace(forward=lambda *ids: forward(*ids) + torch.rand(()))
    repeats = next(each for each in LAWS if each.name == "repeats")
    laws = [repeats, law(compares=True), law(name="another")]
    report = diagnose(noisy, laws=laws)
    assert report.broken == ["repeats"]
    assert "see `repeats`" in report["a_law"].seen
    assert report["another"].verdict == Verdict.KEPT


def test_each_law_finds_the_model_in_evaluation_and_leaves_it_as_it_was() -> None:
    adapter = small()
    module = adapter.module
    assert module is not None

    def disturbs(subject: Subject) -> Finding:
        seen = kept(f"training {module.training}, {torch.rand(()):.3f}")
        module.train()
        with torch.no_grad():
            next(module.parameters()).zero_()
        return seen

    module.train()
    before, chance = state(adapter), torch.get_rng_state()
    laws = [law(check=disturbs), law(name="again", check=disturbs)]
    lines = diagnose(adapter, laws=laws).lines
    assert lines[0].seen == lines[1].seen
    assert lines[0].seen.startswith("training False")
    assert module.training
    assert same(before, state(adapter))
    assert torch.equal(chance, torch.get_rng_state())


def test_laws_can_be_followed_as_they_are_tried() -> None:
    names: list[str] = []
    diagnose(small(), laws=[law(), law(name="another")], on_law=names.append)
    assert names == ["a_law", "another"]


@pytest.mark.slow
def test_the_shipped_model_is_sound_and_it_does_not_take_long() -> None:
    model = Translator.load("demo-en-fr").model
    began = time.thread_time()
    report = diagnose(from_transformer(model))
    assert report.broken == []
    assert time.thread_time() - began < 20
