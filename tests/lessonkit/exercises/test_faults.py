"""Lesson 12: its cases without a label, and wrong answers that have passed."""

import itertools
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from attention_laws import diagnose
from attention_laws.adapter import Adapter
from lessonkit.exercises import faults as ex
from lessonkit.exercises.check import MAX_COLUMNS
from lessonkit.exercises.faults.cases import CELL, NUMBERS, SEED, Case, Cases
from lessonkit.exercises.faults.causes import CAUSES, NOTHING
from lessonkit.museum import SPECIMENS
from tests.helpers.exercise_walk import status
from tests.lessonkit.exercises.test_asking import BLANK, NONSENSE
from transformer.support.errors import UserError

SRC = torch.tensor([[7, 8, 16, 3]])
TGT_IN = torch.tensor([[2, 5, 28, 22, 21, 9, 11]])
RIGHT = {number: case.cause for number, case in zip(NUMBERS, ex.cases.cases, strict=True)}

# The museum has more specimens of a cause than the cases do: each cause is shown by one.
SHOWN_BY = {
    "b": "no_causal_mask",
    "c": "one_ahead",
    "d": "padding_attended",
    "e": "padding_attended_by_the_decoder",
    "f": "own_value",
    "g": "positions_over_the_batch",
    "h": "optimizer_of_another_model",
    "i": "gradient_kept",
    "j": "loss_over_padding",
    "k": "cache_not_reordered",
    "l": "cache_of_the_newest",
    "m": "cache_of_the_sentence_before",
}


def near(one: Any, other: Any) -> bool:
    return torch.allclose(one, other, atol=1e-4)


@torch.no_grad()
def moves(model: Adapter, place: int, position: int) -> bool:
    changed = TGT_IN.clone()
    changed[0, place] = 4
    one, other = model.forward(SRC, TGT_IN), model.forward(SRC, changed)
    return not near(one[0, position], other[0, position])


@torch.no_grad()
def memory_hears_padding(model: Adapter) -> bool:
    return not near(model.encode(SRC), model.encode(F.pad(SRC, (0, 2)))[:, :4])


@torch.no_grad()
def logits_hear_padding(model: Adapter) -> bool:
    return not near(model.forward(SRC, TGT_IN), model.forward(F.pad(SRC, (0, 2)), TGT_IN))


@torch.no_grad()
def places_are_deaf(model: Adapter) -> bool:
    other = SRC.clone()
    other[0, 1] = 12
    return near(model.encode(SRC)[0, [0, 2, 3]], model.encode(other)[0, [0, 2, 3]])


@torch.no_grad()
def rows_differ(model: Adapter) -> bool:
    one, other = model.forward(SRC.expand(2, -1), TGT_IN.expand(2, -1))
    return not near(one, other)


def a_step(model: Adapter) -> None:
    torch.manual_seed(0)
    model.train_step(*model.make_batch([[7, 8, 16], [9, 4]], [[5, 28, 22], [21, 6]]))


def nothing_moves(model: Adapter) -> bool:
    before = [each.detach().clone() for each in model.module.parameters()]
    a_step(model)
    pairs = zip(before, model.module.parameters(), strict=True)
    return all(torch.equal(one, other) for one, other in pairs)


def gradient_doubles(model: Adapter) -> bool:
    weights = model.module.state_dict()
    kept = {name: each.clone() for name, each in weights.items()}
    norms = []
    for _ in range(2):
        model.module.load_state_dict(kept)
        a_step(model)
        parameters = model.module.parameters()
        grads = [each.grad.flatten() for each in parameters if each.grad is not None]
        norms.append(float(torch.cat(grads).norm()))
    return norms[1] > 1.8 * norms[0]


def padding_counts(model: Adapter) -> bool:
    logits = torch.randn(2, 3, model.tgt_vocab_size, generator=torch.Generator().manual_seed(0))
    tgt_out = torch.tensor([[5, 6, 3], [7, 3, 0]])
    changed = logits.clone()
    changed[1, 2] *= -1
    return not near(model.loss(logits, tgt_out), model.loss(changed, tgt_out))


@torch.no_grad()
def step_by_step(model: Adapter, src: Any = SRC) -> Any:
    cache, logits = model.cached.start(src), []
    for place in range(TGT_IN.shape[1]):
        found, cache = model.cached.step(TGT_IN[:, place : place + 1], cache)
        logits.append(found)
    return torch.stack(logits, dim=1)


@torch.no_grad()
def prefix_is_kept(model: Adapter) -> bool:
    return near(model.forward(SRC, TGT_IN)[:, :3], model.forward(SRC, TGT_IN[:, :3]))


@torch.no_grad()
def rows_part(model: Adapter) -> bool:
    """Two targets of one source change places after three steps."""
    if not near(step_by_step(model), model.forward(SRC, TGT_IN)):
        return False
    src, tgt_in = SRC.expand(2, -1), torch.cat((TGT_IN, TGT_IN))
    tgt_in[1, 1:] = torch.tensor([8, 17, 5, 26, 13, 4])
    cache, swap = model.cached.start(src), torch.tensor([1, 0])
    for place in range(3):
        _, cache = model.cached.step(tgt_in[:, place : place + 1], cache)
    cache, tgt_in = model.cached.reorder(cache, swap), tgt_in[swap]
    logits, _ = model.cached.step(tgt_in[:, 3:4], cache)
    return not near(logits, model.forward(src, tgt_in)[:, 3])


def second_is_wrong(model: Adapter) -> bool:
    other = torch.tensor([[12, 9, 4, 3]])
    with torch.no_grad():
        wholes = model.forward(SRC, TGT_IN), model.forward(other, TGT_IN)
    first, second = step_by_step(model), step_by_step(model, other)
    return near(first, wholes[0]) and not near(second, wholes[1])


def newest_alone(model: Adapter) -> bool:
    with torch.no_grad():
        whole = model.forward(SRC, TGT_IN)
    return prefix_is_kept(model) and not near(step_by_step(model)[:, :3], whole[:, :3])


# What `CAUSES` says would follow, done.
FOLLOWS = {
    "b": lambda model: moves(model, 6, 0),
    "c": lambda model: moves(model, 1, 0),
    "d": memory_hears_padding,
    "e": lambda model: logits_hear_padding(model) and not memory_hears_padding(model),
    "f": places_are_deaf,
    "g": rows_differ,
    "h": nothing_moves,
    "i": gradient_doubles,
    "j": padding_counts,
    "k": rows_part,
    "l": newest_alone,
    "m": second_is_wrong,
}


def quiet(model: Adapter) -> Adapter:
    model.module.eval()
    return model


@pytest.mark.parametrize("letter", SHOWN_BY)
def test_what_a_cause_would_show_is_shown_by_a_model_that_has_it(letter: str) -> None:
    (specimen,) = [each for each in SPECIMENS if each.name == SHOWN_BY[letter]]
    assert FOLLOWS[letter](quiet(specimen.make(SEED)))


@pytest.mark.parametrize(
    ("letter", "number"), list(itertools.product(FOLLOWS, range(1, len(NUMBERS) + 1)))
)
def test_the_experiment_separates_every_wrong_cause_from_the_true_one(
    letter: str, number: int
) -> None:
    true = ex.cases.cases[number - 1].cause
    assert FOLLOWS[letter](quiet(ex.cases.model(number))) == (letter == true)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(1, len(NUMBERS) + 1))
def test_diagnose_finds_a_fault_where_there_is_one_alone(number: int) -> None:
    report = diagnose(ex.cases.model(number))
    assert not report.stopped
    assert bool(report.broken) == (ex.cases.cases[number - 1].cause != NOTHING)


def test_every_cause_is_a_letter_and_each_case_has_its_own() -> None:
    assert list(CAUSES) == list("abcdefghijklm")
    assert set(CAUSES) == {NOTHING, *FOLLOWS} == {NOTHING, *SHOWN_BY}
    assert len(set(RIGHT.values())) == len(NUMBERS)


def test_a_blank_cell_lists_the_causes_and_judges_nothing() -> None:
    blank = eval(CELL, {"ex": ex})
    assert blank.status == "not attempted"
    for letter, (name, _) in CAUSES.items():
        assert f"{letter}  {name}" in " ".join(repr(blank).split(" ")).replace("\n   ", " ")
    assert repr(blank).endswith("0 of 6 right, 6 not attempted. Put a letter in place of None.")
    for given in BLANK:
        assert repr(ex.cases.answer(*[given] * 6)) == repr(blank)


def test_right_answers_pass_and_say_why() -> None:
    verdict = ex.cases.answer(**RIGHT)
    assert verdict.status == "passed"
    assert repr(verdict).endswith("6 of 6 right.")
    for case in ex.cases.cases:
        assert case.says in " ".join(repr(verdict).split())
    assert ex.cases.answer(one=f" {RIGHT['one'].upper()} ").status == "not attempted"


@pytest.mark.parametrize(("place", "letter"), list(itertools.product(range(6), CAUSES)))
def test_a_wrong_answer_gets_the_experiment_and_no_answer(place: int, letter: str) -> None:
    case, number = ex.cases.cases[place], NUMBERS[place]
    verdict = ex.cases.answer(**{number: letter})
    text = " ".join(repr(verdict).split())
    if letter == case.cause:
        assert f"{place + 1}. {letter}: right." in text
    else:
        assert verdict.status == "wrong"
        assert f"{place + 1}. {letter}: no. {CAUSES[letter][1]}" in text
        assert case.says not in text


def test_nonsense_raises_nothing() -> None:
    for value in NONSENSE:
        verdict = ex.cases.answer(*[value] * 6)
        assert verdict.status == "wrong"
        assert "Answer with a letter" in repr(verdict)


def test_hints_go_from_first_to_last_and_stay_there() -> None:
    own = Cases(ex.cases.cases, CAUSES)
    for number, case in enumerate(own.cases, start=1):
        texts = [" ".join(repr(own.hint(number)).split()) for _ in range(len(case.hints) + 1)]
        assert len(case.hints) >= 2
        for place, (hint, text) in enumerate(zip(case.hints, texts, strict=False), start=1):
            assert text == f"Hint {place} of {len(case.hints)}. {hint}"
        assert texts[-1] == texts[-2]


@pytest.mark.parametrize("number", [0, 7, -1, "1", None, 1.5])
def test_there_are_six_cases(number: Any) -> None:
    for ask in (ex.cases.model, ex.cases.hint, ex.cases.solution):
        with pytest.raises(UserError, match="the cases are 1 to 6"):
            ask(number)


def test_texts_fit_a_small_screen() -> None:
    texts = [ex.cases.answer(*[letter] * 6) for letter in CAUSES]
    texts += [ex.cases.solution(number) for number in range(1, 7)]
    assert all(len(line) <= MAX_COLUMNS for text in texts for line in repr(text).splitlines())


def test_a_solution_names_letter_and_cause() -> None:
    for number, case in enumerate(ex.cases.cases, start=1):
        text = " ".join(repr(ex.cases.solution(number)).split())
        assert text == f"{case.cause}: {CAUSES[case.cause][0]}. {case.says}"


def test_a_case_that_is_not_in_the_museum_is_missed() -> None:
    with pytest.raises(KeyError):
        Case("no_such_specimen", "b", "", ()).make()


def test_ahead_may_be_found_by_cutting() -> None:
    def by_cutting(decode, tgt_in):
        """A position that sees ahead has other logits where what it sees is cut off."""
        whole, found = decode(tgt_in), 0
        for end in range(1, len(tgt_in)):
            part = decode(tgt_in[:end])
            moved = [at for at in range(end) if not torch.allclose(part[at], whole[at])]
            last = decode(tgt_in[: end + 1])
            new = [at for at in moved if not torch.allclose(last[at], part[at])]
            found = max([found, *(end - at for at in new)])
        return found

    assert status("ahead", by_cutting) == "passed"


def test_a_loss_may_be_examined_with_random_logits() -> None:
    def at_random(loss):
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

    assert status("loss_fault", at_random) == "passed"
