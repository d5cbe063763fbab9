"""Every exercise accepts its reference, knows its blank, and refuses every wrong answer."""

import copy
import inspect
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
import torch

from tests.helpers.exercise_walk import ALL, exercises, lesson_module, lessons, modules
from transformer.config import BOS_ID, EOS_ID
from transformer.exercises.check import MAX_COLUMNS, Exercise, Property, Text, Wrong
from transformer.exercises.compare import difference, show
from transformer.exercises.toys import MAX_CALLS, Script, Table

LESSONS = lessons()
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


def as_module(exercise: Exercise) -> Any:
    return type("ex", (), {exercise.name: exercise})


# --- what holds of every exercise ---


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
    assert text == repr(exercise.check(wrong.answer)), "the same each time"


@pytest.mark.parametrize("key", WRONG, ids="-".join)
def test_the_case_shown_is_the_smallest_that_fails(key: tuple[str, str]) -> None:
    exercise, wrong = WRONG[key]
    text = repr(exercise.check(wrong.answer))
    call, yours, expected = re.findall(r"^    (?:call|yours|expected) +(.*)$", text, re.M)
    failing = [args for args, right in exercise.judged_cases if _fails(wrong.answer, args, right)]
    smallest = min((", ".join(map(show, args)) for args in failing), key=len)
    assert len(call) == len(f"my_{exercise.name}({smallest})")
    assert yours != expected or "it changes what it was given" in text
    assert call in {f"my_{exercise.name}({', '.join(map(show, args))})" for args in failing}


def _fails(answer: Callable[..., Any], args: Any, right: Any) -> bool:
    given = copy.deepcopy(args)
    try:
        value = answer(*given)
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


class Odd:
    """A value that refuses everything one may ask of it."""

    def __repr__(self) -> str:
        raise RuntimeError

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    __hash__ = None  # type: ignore[assignment]


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
    "no tensor": (lambda *args: "no", "type str"),
    "self": (holds_itself, ""),
    "meta": (lambda *args: torch.empty(7, 5, device="meta"), ""),
    "wrong shape": (lambda *args: torch.zeros(7, 5, 3), ""),
}


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


# --- the machinery, on an exercise of its own ---


def my_double(values):
    """Give a list with every number doubled."""
    return [2 * value for value in values]


def squares(values: list[int]) -> list[int]:
    return [value**2 for value in values]


def in_place(values: list[int]) -> list[int]:
    for place in range(len(values)):
        values[place] *= 2
    return values


def make(**changes: Any) -> Exercise:
    given: dict[str, Any] = {
        "minutes": 2,
        "difficulty": "easy",
        "hints": ["Gentle.", "Plain."],
        "worked": [(([7, 3],), [14, 6])],
        "cases": [([2],), ([3],), ([2, 3, 5],)],
        "expected": lambda values: [value + value for value in values],
        "wrong": [Wrong(squares, "You squared."), Wrong(in_place, "You wrote into the list.")],
    }
    return Exercise(my_double, **(given | changes))


def test_a_wrong_answer_is_shown_in_full() -> None:
    assert repr(make().check(lambda values: [value**2 for value in values])) == (
        "double: wrong; the values differ.\n"
        "The smallest case that shows it:\n"
        "    call      my_double([3])\n"
        "    yours     [9]\n"
        "    expected  [6]\n"
        "You squared."
    )


def test_a_mistake_of_no_name_points_to_the_hints() -> None:
    text = repr(make().check(lambda values: [0 for _ in values]))
    assert text.endswith("ex.double.hint() gives a hint.")


def test_changed_arguments_are_noticed_and_later_cases_are_unharmed() -> None:
    exercise = make()
    assert "it changes what it was given" in repr(exercise.check(in_place))
    assert exercise.check(my_double).status == "passed"


@pytest.mark.parametrize("given", [None, ...])
def test_no_answer_at_all_is_not_attempted(given: Any) -> None:
    assert make().check(given).status == "not attempted"


def test_blanks_of_other_forms_and_answers_that_are_none() -> None:
    def with_docstring(values):
        """Mine."""

    def with_pass(values):
        pass

    def forgot_return(values):
        doubled = [2 * value for value in values]  # noqa: F841

    def constant(values):
        return 5

    exercise = make()
    assert exercise.check(with_docstring).status == "not attempted"
    assert exercise.check(with_pass).status == "not attempted"
    assert exercise.check(lambda values: ...).status == "not attempted"
    assert "is there a `return`?" in repr(exercise.check(forgot_return))
    assert exercise.check(constant).status == "wrong"


def test_properties_alone_may_decide() -> None:
    longer = Property("it must be longer", lambda value, values: len(value) > len(values))
    exercise = make(expected=None, worked=[], properties=[longer])
    assert exercise.check(lambda values: [*values, 0]).status == "passed"
    text = repr(exercise.check(lambda values: values))
    assert text.startswith("double: wrong; it must be longer.")
    assert "expected" not in text
    assert exercise.check(lambda values: 3).status == "wrong"


def test_a_broken_property_says_more_than_differing_values() -> None:
    even = Property("every number must be even", lambda value, _: all(v % 2 == 0 for v in value))
    text = repr(make(properties=[even]).check(lambda values: [3 for _ in values]))
    assert "every number must be even" in text
    assert "expected  [4]" in text


def test_interrupting_the_kernel_still_works() -> None:
    def impatient(values):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make().check(impatient)


def test_an_exercise_says_what_it_offers() -> None:
    expected = "double (2 minutes, easy): .check(my_double), .hint(), .solution()"
    assert repr(make()) == expected
    assert repr(Text("as it is")) == "as it is"
    assert repr(make().solution()) == inspect.getsource(my_double).rstrip()


@pytest.mark.parametrize(
    ("yours", "expected", "says"),
    [
        (2, 2.0, ""),
        (torch.tensor(2.0), 2.0, ""),
        (2.00001, 2.0, ""),
        (2.001, 2.0, "the values differ"),
        (float("nan"), 2.0, "the values differ"),
        (True, 1.0, "it gives a value of type bool, not a number"),
        (2.0, 2, "it gives a value of type float, not a whole number"),
        ((2, 3), [2, 3], ""),
        ([2, 3], [2, 3, 5], "the length is 2, not 3"),
        ([3, "5"], [2, 5], "it gives a value of type str, not a whole number"),
        (torch.zeros(2, 3), torch.zeros(3, 2), "its shape is (2, 3), not (3, 2)"),
        (torch.zeros(2, 3), torch.ones(2, 3), "the values differ"),
        (torch.ones(3, dtype=torch.long), torch.ones(3), ""),
        (torch.tensor([2.0, math.nan]), torch.tensor([2.0, math.nan]), ""),
        (torch.tensor([2.0, math.nan]), torch.tensor([2.0, 3.0]), "the values differ"),
        ([1.0], torch.ones(1), "it gives a value of type list, not a tensor"),
        (None, torch.ones(1), "it gives None, not a tensor: is there a `return`?"),
        ({"a": 1}, {"a": 1, "b": 2}, "the name 'b' is missing"),
        ({"a": 1, "b": 2}, {"a": 1}, "the name 'b' should not be there"),
        ({"b": 2, "a": 1}, {"a": 1, "b": 2}, ""),
        ([1], {"a": 1}, "it gives a value of type list, not a dict"),
    ],
)
def test_difference(yours: Any, expected: Any, says: str) -> None:
    assert difference(yours, expected) == says


def test_show_is_short_and_the_same_everywhere() -> None:
    value = {"a": [torch.tensor([1 / 3]), (2,), Odd()], "b": (1.0, None, True, "x")}
    assert (
        show(value) == "{'a': [torch.tensor([0.333333]), (2,), <Odd>], 'b': (1.0, None, True, 'x')}"
    )


# --- the toys ---


def test_a_toy_ends_a_loop_that_has_no_end() -> None:
    def endless(next_scores, limit):
        while True:
            next_scores([BOS_ID])

    assert f"asked {MAX_CALLS} times" in repr(ALL["greedy"].check(endless))
    assert f"asked {MAX_CALLS} times" in repr(ALL["most_probable"].check(endless))


def test_a_script_refuses_a_prefix_that_it_did_not_write() -> None:
    script = Script([4, EOS_ID])
    assert script([BOS_ID, 4])[EOS_ID] == max(script([BOS_ID, 4]))
    for prefix in ([4], [], [BOS_ID, 5]):
        with pytest.raises(ValueError, match="give all tokens so far, bos first"):
            script(prefix)
    with pytest.raises(ValueError, match="bos first"):
        Table({BOS_ID: {EOS_ID: 1.0}})([4])


# --- the lessons ---


def test_lessons_with_exercises_are_found() -> None:
    assert {"00", "07"} <= {path.name[:2] for path in LESSONS}


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_lesson_gives_every_blank_with_its_minutes(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    module = lesson_module(notebook)
    assert module is not None
    own = exercises(module)
    assert 3 <= len(own) <= 5
    assert sum(each.difficulty == "hard" for each in own.values()) == 1
    sources = [cell.source for cell in notebook.cells]
    for each in own.values():
        assert sources.count(each.blank) == 1, f"{path.name} must hold this cell:\n{each.blank}"
        above = sources[sources.index(each.blank) - 1]
        assert f"({each.minutes} minutes, {each.difficulty})" in above.splitlines()[0]


def test_texts_fit_a_small_screen(exercise: Exercise) -> None:
    solution = repr(exercise.solution()).splitlines()
    assert max(map(len, solution)) <= 80
    assert sum(bool(line.strip()) for line in solution) <= 20
    for wrong in exercise.wrong:
        lines = repr(exercise.check(wrong.answer)).splitlines()
        assert all(len(line) <= MAX_COLUMNS for line in lines if not line.startswith("    "))
