"""Every exercise accepts its reference, knows its blank, and refuses every wrong answer."""

import contextlib
import copy
import itertools
import re
from typing import Any

import pytest
import torch

from lessonkit.exercises.advice import on_top
from lessonkit.exercises.check import MAX_COLUMNS, Exercise, Wrong
from lessonkit.exercises.compare import difference, show
from tests.helpers.exercise_walk import ALL, exercises, modules
from tests.helpers.odd import Odd

WRONG = {(e.name, w.answer.__name__): (e, w) for e in ALL.values() for w in e.wrong}


@pytest.fixture(params=ALL)
def exercise(request: pytest.FixtureRequest) -> Exercise:
    return ALL[request.param]


def one_paragraph(text: str) -> str:
    return " ".join(text.split())


def run_cell(source: str, **names: Any) -> Any:
    """Run a cell as a notebook would, in an empty namespace; the value of its last line."""
    *lines, last = source.splitlines()
    namespace: dict[str, Any] = dict(names)
    exec("\n".join(lines), namespace)
    return eval(last, namespace)


def without_line(text: str) -> str:
    """Leave out where the error was raised: here and in the package that is not one place."""
    return re.sub(r"^    at .*\n", "", text, flags=re.MULTILINE)


def as_module(exercise: Exercise) -> Any:
    return type("ex", (), {exercise.name: exercise})


def test_exercises_are_found() -> None:
    assert {"perplexity", "greedy", "average", "clipped_precision"} <= set(ALL)


def test_every_exercise_has_its_own_name_and_is_reached_under_it() -> None:
    found = [(name, each) for module in modules() for name, each in exercises(module).items()]
    for name, each in found:
        assert name == each.name
        assert ALL[name] is each, f"two exercises are called {name}"


def test_reference_passes(exercise: Exercise) -> None:
    verdict = exercise.check(exercise.reference)
    assert verdict.status == "passed"
    assert repr(verdict) == f"{exercise.name}: passed, {len(exercise.judged_cases)} cases."


def test_blank_is_not_attempted(exercise: Exercise) -> None:
    verdict = run_cell(exercise.blank, ex=as_module(exercise))
    assert verdict.status == "not attempted"
    assert f"{exercise.name}: not attempted" in repr(verdict)


def test_solution_passes_in_an_empty_namespace(exercise: Exercise) -> None:
    cell = f"{exercise.solution()}\n{exercise.call}"
    assert run_cell(cell, ex=as_module(exercise)).status == "passed"


def test_three_wrong_answers_or_more(exercise: Exercise) -> None:
    assert len({each.answer.__name__ for each in exercise.wrong}) == len(exercise.wrong) >= 3
    assert len({each.hint for each in exercise.wrong}) == len(exercise.wrong)
    assert not {each.hint for each in exercise.wrong} & set(exercise.hints)


@pytest.mark.parametrize("key", WRONG, ids="-".join)
def test_wrong_answer_is_refused_with_its_own_hint(key: tuple[str, str]) -> None:
    exercise, wrong = WRONG[key]

    def rewritten(*args: Any) -> Any:  # recognised by what it does, not by who it is
        return wrong.answer(*args)

    verdict = exercise.check(rewritten)
    text = repr(verdict)
    assert verdict.status == "wrong"
    assert one_paragraph(wrong.hint) in one_paragraph(text)
    others = [each.hint for each in exercise.wrong if each is not wrong]
    assert not any(one_paragraph(hint) in one_paragraph(text) for hint in others)
    again = repr(exercise.check(wrong.answer))
    assert without_line(text) == without_line(again), "the same each time"


def test_two_of_its_mistakes_at_once_get_advice(exercise: Exercise) -> None:
    """Wherever one of them is written around the reference; two may cancel each other."""
    for inner, outer in itertools.permutations(exercise.wrong, 2):
        answer = on_top(outer.answer, inner.answer, exercise.reference)
        verdict = exercise.check(answer) if answer else None
        if verdict and verdict.status == "wrong":
            text = one_paragraph(repr(verdict))
            hints = [each.hint for each in exercise.wrong if one_paragraph(each.hint) in text]
            names = f"{inner.answer.__name__}, then {outer.answer.__name__}"
            assert len(hints) in {1, 2}, names


@pytest.mark.parametrize("key", WRONG, ids="-".join)
def test_the_case_shown_is_the_smallest_that_fails(key: tuple[str, str]) -> None:
    exercise, wrong = WRONG[key]
    text = repr(exercise.check(wrong.answer))
    call, yours, expected = re.findall(r"^    (?:call|yours|expected) +(.*)$", text, re.M)
    failing = [
        args for args, right in exercise.judged_cases if _fails(exercise, wrong, args, right)
    ]
    smallest = min((", ".join(map(show, args)) for args in failing), key=len)
    assert len(call) == len(f"my_{exercise.name}({smallest})")
    assert yours != expected or "it changes what it was given" in text
    assert call in {f"my_{exercise.name}({', '.join(map(show, args))})" for args in failing}


def _fails(exercise: Exercise, wrong: Wrong, args: Any, right: Any) -> bool:
    given = copy.deepcopy(args)
    try:
        with contextlib.ExitStack() as watching:
            for rule in exercise.rules:
                watching.enter_context(rule())
            value = wrong.answer(*given)
    except Exception:
        return True
    return bool(difference(value, right)) or show(given) != show(args)


def test_worked_cases_agree_with_the_oracle(exercise: Exercise) -> None:
    """Two ways that are not the reference's: by hand, and by another formula or library."""
    if exercise.expected is not None:
        assert exercise.worked, f"{exercise.name} has no case worked by hand"
        for args, by_hand in exercise.worked:
            assert not difference(exercise.expected(*copy.deepcopy(args)), by_hand), show(args)


def test_hints_go_from_first_to_last_and_stay_there(exercise: Exercise) -> None:
    exercise._hints_given = 0
    texts = [one_paragraph(repr(exercise.hint())) for _ in range(len(exercise.hints) + 1)]
    assert len(exercise.hints) >= 2
    for number, (hint, text) in enumerate(zip(exercise.hints, texts, strict=False), start=1):
        assert text.startswith(f"Hint {number} of {len(exercise.hints)}. {one_paragraph(hint)}")
    assert texts[-1] == texts[-2]
    assert f"ex.{exercise.name}.solution()" in texts[-1]
    exercise._hints_given = 0


def raises(*args: Any) -> Any:
    raise KeyError("weights\nover two lines")


def exits(*args: Any) -> Any:
    raise SystemExit(3)


def recurses(*args: Any) -> Any:
    return recurses(*args)


def holds_itself(*args: Any) -> Any:
    values: list[Any] = []
    values.append(values)
    return values


STRANGE: dict[str, tuple[Any, str]] = {
    "raises": (raises, "KeyError: 'weights\\nover two lines'"),
    "exits": (exits, "SystemExit: 3"),
    "recurses": (recurses, "RecursionError"),
    "no return": (lambda *args: print("a trace") or None, "it gives None, not "),
    "odd": (lambda *args: Odd(), "type Odd"),
    "too few arguments": (lambda: 1, "TypeError"),
    "complex": (lambda *args: 1j, "type complex"),
    "no tensor": (lambda *args: b"no", "type bytes"),
    "self": (holds_itself, ""),
    "meta": (lambda *args: torch.empty(7, 5, device="meta"), ""),
    "wrong shape": (lambda *args: torch.zeros(7, 5, 3), ""),
}


@pytest.mark.slow
@pytest.mark.parametrize("strange", STRANGE)
def test_strange_answers_are_reported_without_a_traceback(
    exercise: Exercise, strange: str, capsys: pytest.CaptureFixture[str]
) -> None:
    answer, says = STRANGE[strange]
    verdict = exercise.check(answer)
    assert verdict.status == "wrong"
    assert says in repr(verdict)
    assert "Traceback" not in repr(verdict)
    assert all(len(line) < 400 for line in repr(verdict).splitlines())
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("given", [3, "text", torch.zeros(2, 3), [1]])
def test_what_is_no_function_is_refused(exercise: Exercise, given: Any) -> None:
    verdict = exercise.check(given)
    assert verdict.status == "wrong"
    assert f".check(my_{exercise.name})" in repr(verdict)


def test_texts_fit_a_small_screen(exercise: Exercise) -> None:
    solution = repr(exercise.solution()).splitlines()
    assert max(map(len, solution)) <= 80
    assert sum(bool(line.strip()) for line in solution) <= 20
    for wrong in exercise.wrong:
        lines = repr(exercise.check(wrong.answer)).splitlines()
        assert all(len(line) <= MAX_COLUMNS for line in lines if not line.startswith("    "))
