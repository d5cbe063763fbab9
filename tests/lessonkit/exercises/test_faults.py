"""Lesson 14: its cases without a label, and right answers that must pass."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from attention_laws import diagnose
from attention_laws.adapter import Adapter
from lessonkit.exercises import faults as ex
from lessonkit.exercises.check import MAX_COLUMNS
from lessonkit.exercises.unlabelled import CELL, NUMBERS, Case, Cases
from tests.helpers.exercise_walk import status
from transformer.support.errors import UserError

SRC, PADDED = torch.tensor([[7, 8, 16, 3]]), torch.tensor([[7, 8, 16, 3, 0, 0]])
TGT_IN = torch.tensor([[2, 5, 28, 22, 21, 9, 11]])
CAUSES = ex.cases.causes
RIGHT = {number: case.cause for number, case in zip(NUMBERS, ex.cases.cases, strict=True)}


def near(one: Tensor, other: Tensor) -> bool:
    return torch.allclose(one, other, atol=1e-4)


def exchanged(ids: Tensor, place: int, token: int) -> Tensor:
    changed = ids.clone()
    changed[0, place] = token
    return changed


def moves(model: Adapter, place: int) -> bool:
    one, other = (model.forward(SRC, ids) for ids in (TGT_IN, exchanged(TGT_IN, place, 4)))
    return not near(one[0, 0], other[0, 0])


def memory_hears_padding(model: Adapter) -> bool:
    return not near(model.encode(SRC), model.encode(PADDED)[:, :4])


def logits_alone_hear_padding(model: Adapter) -> bool:
    logits_move = not near(model.forward(SRC, TGT_IN), model.forward(PADDED, TGT_IN))
    return logits_move and not memory_hears_padding(model)


def places_are_deaf(model: Adapter) -> bool:
    others = [0, 2, 3]
    return near(model.encode(SRC)[0, others], model.encode(exchanged(SRC, 1, 12))[0, others])


def rows_differ(model: Adapter) -> bool:
    return not near(*model.forward(SRC.expand(2, -1), TGT_IN.expand(2, -1)))


def a_step(model: Adapter) -> None:
    torch.manual_seed(0)
    model.train_step(*model.make_batch([[7, 8, 16], [9, 4]], [[5, 28, 22], [21, 6]]))


def nothing_moves(model: Adapter) -> bool:
    before = [each.detach().clone() for each in model.module.parameters()]
    a_step(model)
    return all(map(torch.equal, before, model.module.parameters()))


def gradient_doubles(model: Adapter) -> bool:
    kept = {name: each.clone() for name, each in model.module.state_dict().items()}
    norms = []
    for _ in range(2):
        model.module.load_state_dict(kept)
        a_step(model)
        grads = [each.grad for each in model.module.parameters() if each.grad is not None]
        norms.append(torch.nn.utils.get_total_norm(grads))
    return bool(norms[1] > 1.8 * norms[0])


def padding_counts(model: Adapter) -> bool:
    logits = torch.randn(2, 3, model.tgt_vocab_size, generator=torch.Generator().manual_seed(0))
    tgt_out, changed = torch.tensor([[5, 6, 3], [7, 3, 0]]), logits.clone()
    changed[1, 2] *= -1
    return not near(model.loss(logits, tgt_out), model.loss(changed, tgt_out))


def step_by_step(model: Adapter, src: Tensor = SRC) -> Tensor:
    cache, logits = model.cached.start(src), []
    for place in range(TGT_IN.shape[1]):
        found, cache = model.cached.step(TGT_IN[:, place : place + 1], cache)
        logits.append(found)
    return torch.stack(logits, dim=1)


def rows_part(model: Adapter) -> bool:
    """Two targets of one source change places after three steps."""
    if not near(step_by_step(model), model.forward(SRC, TGT_IN)):
        return False
    src, swap = SRC.expand(2, -1), torch.tensor([1, 0])
    tgt_in = torch.cat((TGT_IN, torch.tensor([[2, 8, 17, 5, 26, 13, 4]])))
    cache = model.cached.start(src)
    for place in range(3):
        _, cache = model.cached.step(tgt_in[:, place : place + 1], cache)
    cache, tgt_in = model.cached.reorder(cache, swap), tgt_in[swap]
    logits, _ = model.cached.step(tgt_in[:, 3:4], cache)
    return not near(logits, model.forward(src, tgt_in)[:, 3])


def newest_alone(model: Adapter) -> bool:
    whole = model.forward(SRC, TGT_IN)[:, :3]
    prefix_is_kept = near(whole, model.forward(SRC, TGT_IN[:, :3]))
    return prefix_is_kept and not near(step_by_step(model)[:, :3], whole)


def second_is_wrong(model: Adapter) -> bool:
    sources = SRC, torch.tensor([[12, 9, 4, 3]])
    wholes = [model.forward(src, TGT_IN) for src in sources]
    first, second = map(near, [step_by_step(model, src) for src in sources], wholes)
    return first and not second


# What a cause would show, done; and a specimen that has it: the museum has more than the cases.
FOLLOWS: dict[str, tuple[Callable[[Adapter], bool], str]] = {
    "b": (lambda model: moves(model, 6), "no_causal_mask"),
    "c": (lambda model: moves(model, 1), "one_ahead"),
    "d": (memory_hears_padding, "padding_attended"),
    "e": (logits_alone_hear_padding, "padding_attended_by_the_decoder"),
    "f": (places_are_deaf, "own_value"),
    "g": (rows_differ, "positions_over_the_batch"),
    "h": (nothing_moves, "optimizer_of_another_model"),
    "i": (gradient_doubles, "gradient_kept"),
    "j": (padding_counts, "loss_over_padding"),
    "k": (rows_part, "cache_not_reordered"),
    "l": (newest_alone, "cache_of_the_newest"),
    "m": (second_is_wrong, "cache_of_the_sentence_before"),
}


@pytest.mark.parametrize("letter", FOLLOWS)
def test_the_experiment_separates_a_cause_from_the_true_ones(letter: str) -> None:
    shows, specimen = FOLLOWS[letter]
    found = [Case(specimen, letter, "", ()), *ex.cases.cases]
    for case in found:
        model = case.make()
        model.module.eval()
        assert shows(model) == (case.cause == letter), case.specimen


@pytest.mark.slow
def test_each_case_has_a_cause_of_its_own_and_diagnose_finds_a_fault_where_there_is_one() -> None:
    assert "".join(CAUSES) == "a" + "".join(FOLLOWS) == "abcdefghijklm"
    assert len(set(RIGHT.values())) == len(NUMBERS)
    for case in ex.cases.cases:
        assert (case.cause == "a") == (not case.specimen)
        report = diagnose(case.make())
        assert not report.stopped
        assert bool(report.broken) == bool(case.specimen)


def said(text: Any) -> str:
    assert all(len(line) <= MAX_COLUMNS for line in repr(text).splitlines())
    return " ".join(repr(text).split())


def test_a_blank_cell_lists_the_causes_and_nonsense_raises_nothing() -> None:
    blank = eval(CELL, {"ex": ex})
    assert blank.status == "not attempted"
    assert all(f"{letter} {name}" in said(blank) for letter, (name, _) in CAUSES.items())
    assert said(blank).endswith("0 of 6 right, 6 not attempted. Put a letter in place of None.")
    for value in ("z", "ab", 3, [1], torch.zeros(2), object()):
        verdict = ex.cases.answer(*[value] * 6)
        assert verdict.status == "wrong"
        assert 'Answer with a letter, "a" to "m".' in said(verdict)
    for ask in (ex.cases.model, ex.cases.hint, ex.cases.solution):
        for number in (0, 7, -1, "1", None, 1.5):
            with pytest.raises(UserError, match="the cases are 1 to 6"):
                ask(number)


def test_right_answers_pass_and_say_why_and_hints_go_from_first_to_last() -> None:
    verdict = ex.cases.answer(**RIGHT)
    assert verdict.status == "passed"
    assert said(verdict).endswith("6 of 6 right.")
    assert ex.cases.answer(one=f" {RIGHT['one'].upper()} ").status == "not attempted"
    own = Cases({"models": [vars(case) for case in ex.cases.cases], "causes": CAUSES})
    for number, case in enumerate(own.cases, start=1):
        assert case.says in said(verdict)
        text = f"{case.cause}: {CAUSES[case.cause][0]}. {case.says}"
        assert said(own.solution(number)) == text
        for place, hint in enumerate([*case.hints, case.hints[-1]], start=1):
            count = len(case.hints)
            assert said(own.hint(number)) == f"Hint {min(place, count)} of {count}. {hint}"


def test_a_wrong_answer_gets_the_experiment_and_no_answer() -> None:
    for letter, (_, follows) in CAUSES.items():
        verdict = ex.cases.answer(*[letter] * 6)
        assert verdict.status == "wrong"
        for number, case in enumerate(ex.cases.cases, start=1):
            is_right = letter == case.cause
            says = f"right. {case.says}" if is_right else f"no. {follows}"
            assert f"{number}. {letter}: {says}" in said(verdict)
            assert (case.says in said(verdict)) == is_right


def ahead_by_cutting(decode, tgt_in):
    """A position that sees ahead has other logits where what it sees is cut off."""
    farthest = 0
    for end in range(1, len(tgt_in)):
        part, longer = decode(tgt_in[:end]), decode(tgt_in[: end + 1])
        moved = [at for at in range(end) if not torch.allclose(longer[at], part[at])]
        farthest = max([farthest, *(end - at for at in moved)])
    return farthest


def loss_fault_at_random(loss):
    tgt_out = torch.tensor([[5, 6, 7, 8], [9, 0, 0, 0]])
    logits = torch.randn(2, 4, 11)
    changed = logits.clone()
    changed[1, 1:] = torch.randn(3, 11)
    if abs(loss(changed, tgt_out) - loss(logits, tgt_out)) > 1e-6:
        return "padding counts"
    if loss(F.one_hot(tgt_out, 11) * 50.0, tgt_out) > 0.01:
        return "softmax twice"
    parts = [float(loss(logits[i : i + 1], tgt_out[i : i + 1])) for i in (0, 1)]
    both = float(loss(logits, tgt_out))
    alike = min(abs(both - sum(parts)), abs(both - (4 * parts[0] + parts[1]) / 5))
    return "none" if alike < 1e-5 else "sentences count alike"


def test_other_ways_pass() -> None:
    assert status("ahead", ahead_by_cutting) == "passed"
    assert status("loss_fault", loss_fault_at_random) == "passed"
