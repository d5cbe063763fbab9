import copy
import re
import tomllib
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch

from lessonkit.exercises.compare import describe_difference, format_value
from lessonkit.exercises.exercise import Exercise
from lessonkit.exercises.message import MAX_LINE_WIDTH
from lessonkit.exercises.wording import read_lesson_wording
from tests.helpers.exercise_walk import ALL, LESSONS, MODULES, Odd, exercises, predictions
from tests.helpers.mutants import mutants


@pytest.fixture(params=ALL)
def exercise(request: pytest.FixtureRequest) -> Exercise:
    return ALL[request.param]


def one_paragraph(text: Any) -> str:
    return " ".join(str(text).split())


def run_cell(source: str, exercise: Exercise) -> Any:
    """Run a cell as a notebook would, in an empty namespace; the value of its last line."""
    *lines, last = source.splitlines()
    namespace: dict[str, Any] = {"ex": type("ex", (), {exercise.name: exercise})}
    exec("\n".join(lines), namespace)
    return eval(last, namespace)


def test_every_exercise_has_its_own_name_and_is_reached_under_it() -> None:
    for name, each in (pair for module in MODULES for pair in exercises(module).items()):
        assert name == each.name
        assert ALL[name] is each, f"two exercises are called {name}"


@pytest.mark.parametrize("lesson", LESSONS)
def test_what_the_words_of_a_lesson_have_can_be_reached_in_its_module(lesson: str) -> None:
    words = read_lesson_wording(lesson)
    assert set(words.exercises) == set(exercises(LESSONS[lesson]))
    assert set(words.predictions) == set(predictions(LESSONS[lesson]))


def test_reference_blank_and_solution(exercise: Exercise) -> None:
    passed = f"{exercise.name}: passed, {len(exercise.cases_with_right_values)} cases."
    chance = torch.random.get_rng_state()
    assert repr(exercise.check(exercise.reference)) == passed
    assert torch.equal(torch.random.get_rng_state(), chance), "a lesson's numbers stay as they are"
    blank = run_cell(exercise.blank_cell, exercise)
    assert blank.status == "not attempted"
    assert f"{exercise.name}: not attempted" in repr(blank)
    cell = f"{exercise.solution()}\n{exercise.check_call_code}"
    assert run_cell(cell, exercise).status == "passed"
    solution = repr(exercise.solution()).splitlines()
    assert max(map(len, solution)) <= 80
    assert sum(bool(line.strip()) for line in solution) <= 20


@pytest.mark.slow
def test_wrong_answers_are_refused_with_their_own_hints(exercise: Exercise) -> None:
    hints = exercise.hint_of_mistake
    assert set(hints) == set(exercise.mistake_edits), "each has its words, and each word its answer"
    assert len(set(hints.values()) - set(exercise.hints)) == len(hints) >= 3
    for name, wrong in exercise.mistaken_functions_by_name.items():

        def rewritten(*args: Any, wrong: Any = wrong) -> Any:  # known by what it does, not who
            return wrong(*args)

        verdict = exercise.check(rewritten)
        assert verdict.status == "wrong", name
        said = {
            other for other, hint in hints.items() if one_paragraph(hint) in one_paragraph(verdict)
        }
        assert said == {name}
        lines = repr(verdict).splitlines()
        assert all(len(line) <= MAX_LINE_WIDTH for line in lines if not line.startswith("    "))
        shows_the_smallest_that_fails(exercise, name, repr(verdict))


def shows_the_smallest_that_fails(exercise: Exercise, name: str, text: str) -> None:
    call, yours, expected = re.findall(r"^    (?:call|yours|expected) +(.*)$", text, re.M)
    assert yours != expected or "it changes what it was given" in text
    tried = exercise._judged_cases_by_mistake[name]
    sizes = {
        exercise.call_code(each): len(format_value(each.args)) for each in tried if each.complaint
    }
    assert sizes[call] == min(sizes.values())


def test_worked_cases_agree_with_the_oracle(exercise: Exercise) -> None:
    """Two ways that are not the reference's: by hand, and by another formula or library."""
    if exercise.expected is not None:
        assert exercise.worked, f"{exercise.name} has no case worked by hand"
        for args, by_hand in exercise.worked:
            assert not describe_difference(exercise.expected(*copy.deepcopy(args)), by_hand), (
                format_value(args)
            )


def test_hints_go_from_first_to_last_and_stay_there(exercise: Exercise) -> None:
    exercise._hints_shown = 0
    texts = [one_paragraph(exercise.hint()) for _ in range(len(exercise.hints) + 1)]
    assert len(exercise.hints) >= 2
    for number, (hint, text) in enumerate(zip(exercise.hints, texts, strict=False), start=1):
        assert text.startswith(f"Hint {number} of {len(exercise.hints)}. {one_paragraph(hint)}")
    assert texts[-1] == texts[-2]
    assert f"ex.{exercise.name}.solution()" in texts[-1]
    exercise._hints_shown = 0


def raises(*args: Any) -> Any:
    raise KeyError("weights\nover two lines")


def recurses(*args: Any) -> Any:
    return recurses(*args)


def holds_itself(*args: Any) -> Any:
    values: list[Any] = []
    values.append(values)
    return values


STRANGE: list[tuple[Any, str]] = [
    (raises, "KeyError: 'weights\\nover two lines'"),
    (recurses, "RecursionError"),
    (lambda *args: print("a trace") or None, "it gives None, not "),
    (lambda *args: Odd(), "type Odd"),
    (lambda: 1, "TypeError"),
    (lambda *args: 1j, "type complex"),
    (holds_itself, ""),
    (lambda *args: torch.empty(7, 5, device="meta"), ""),
    *((given, ".check(my_") for given in (3, torch.zeros(2, 3))),  # no function
]


@pytest.mark.slow
def test_strange_answers_are_reported_without_a_traceback(
    exercise: Exercise, capsys: pytest.CaptureFixture[str]
) -> None:
    for answer, says in STRANGE:
        verdict = exercise.judge(answer)
        assert verdict.status == "wrong"
        assert says in repr(verdict)
        assert "Traceback" not in repr(verdict)
        assert all(len(line) < 400 for line in repr(verdict).splitlines())
    assert capsys.readouterr() == ("", "")


EQUIVALENT = tomllib.loads((Path(__file__).parent / "equivalents.toml").read_text(encoding="utf-8"))


@pytest.mark.weekly  # all of them together: 4,800 changes in 20 seconds
@pytest.mark.parametrize("name", ALL)
def test_a_change_of_the_reference_is_refused_or_known_to_be_right(name: str) -> None:
    known = [change for changes in EQUIVALENT.get(name, {}).values() for change in changes]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about shapes and kinds, from nonsense
        changed = dict(mutants(ALL[name].reference))
        passing = [change for change, answer in changed.items() if ALL[name].passes(answer)]
    assert len(changed) > 5  # of a reference of one line too
    assert sorted(passing) == sorted(known)
