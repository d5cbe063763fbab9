import random
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


def test_a_law_without_its_need_is_not_tried() -> None:
    adapter = small().replace(loss=None, beam=None)
    found = line(adapter, needs=("loss", "greedy", "beam"))
    assert (found.verdict, found.seen) == (
        Verdict.NOT_TRIED,
        "the adapter has no loss and no beam",
    )


def test_a_law_that_trains_is_tried_when_asked_for() -> None:
    training = law(minute=True)
    assert diagnose(small(), laws=[training])["a_law"].verdict == Verdict.NOT_TRIED
    assert diagnose(small(), laws=[training], minute=True)["a_law"].verdict == Verdict.KEPT


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


def drawn(seed: int) -> dict[str, Any]:
    """Settings of a sound model, drawn."""
    chance = random.Random(seed)
    positions = chance.choice(["sinusoidal", "learned", "concatenated"])
    tied = chance.random() < 0.5
    size = chance.choice([9, 23, 101])
    width = {"position_dim": 4} if positions == "concatenated" else {}
    return width | {
        "d_model": chance.choice([16, 32, 48]),
        "num_heads": chance.choice([1, 2, 4]),
        "num_layers": chance.choice([1, 2, 3, 6]),
        "pre_norm": chance.random() < 0.5,
        "positions": positions,
        "tie_softmax": chance.random() < 0.5 and positions != "concatenated",
        "tie_source_target": tied,
        "attention_bias": chance.random() < 0.5,
        "output_bias": chance.random() < 0.5,
        "xavier_embeddings": chance.random() < 0.3,
        "dropout": chance.choice([0.0, 0.1, 0.3]),
        "src_vocab_size": size,
        "tgt_vocab_size": size if tied else size + 6,
    }


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_no_law_is_broken_by_a_sound_model(seed: int) -> None:
    adapter = small(seed, **drawn(seed))
    if seed % 2:  # trained, too
        assert adapter.train_step is not None
        assert adapter.make_batch is not None
        batch = adapter.make_batch([[5, 6, 7], [6]], [[7, 8], [5, 6, 7]])
        for _ in range(60):
            adapter.train_step(*batch)
        adapter = adapter.replace(fresh=None)
    before = state(adapter)
    report = diagnose(adapter, seed=seed)
    assert [report[name].seen for name in report.broken] == []
    assert [each.seen for each in report.of(Verdict.WARNED)] == []
    assert same(before, state(adapter))


@pytest.mark.slow
def test_the_shipped_model_is_sound_and_it_does_not_take_long() -> None:
    model = Translator.load("demo-en-fr").model
    began = time.thread_time()
    report = diagnose(from_transformer(model))
    assert report.broken == []
    assert time.thread_time() - began < 20
