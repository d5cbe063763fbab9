"""An exercise judges, hints and shows: the machinery, on an exercise of its own."""

import contextlib
import functools
import inspect
import json
import math
import signal
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from lessonkit.exercises.compare import are_identical, count_numbers, describe_difference
from lessonkit.exercises.diagnosis import JudgedCase, describe_pattern_of_error
from lessonkit.exercises.edit_source import redefine_with_edits
from lessonkit.exercises.exercise import Exercise
from lessonkit.exercises.outcome import Outcome, run_case
from lessonkit.exercises.rules import BrokenRuleError, forbidding_calls_of_module
from lessonkit.exercises.wording import LessonWording
from tests.helpers.exercise_walk import ALL
from transformer import masks


def my_double(values):
    """Return a list with every number doubled."""
    return [2 * value for value in values]


IN_PLACE = "values[:] = [2 * value for value in values]\n    return values"
WRONG = {
    "squares": ["You squared.", "2 * value", "value**2"],
    "in_place": ["You wrote into the list.", "return [2 * value for value in values]", IN_PLACE],
}


def make(wrong: Any = WRONG, **changes: Any) -> Exercise:
    words: dict[str, Any] = {"minutes": 2, "difficulty": "easy", "hints": ["Gentle.", "Plain."]}
    words["mistakes"] = wrong
    given: dict[str, Any] = {
        "worked": [(([7, 3],), [14, 6])],
        "cases": [([2],), ([3],), ([2, 3, 5],)],
        "expected": lambda values: [value + value for value in values],
    }
    lesson_wording = LessonWording("00", {"exercises": {"double": words}})
    return Exercise(my_double, lesson_wording, **(given | changes))


def said(answer: Any, **changes: Any) -> str:
    return repr(make(**changes).judge(answer))


def test_a_wrong_answer_is_shown_in_full() -> None:
    assert said(lambda values: [value**2 for value in values]) == (
        "double: wrong; the values differ.\n"
        "The smallest case that shows it:\n"
        "    call      my_double([3])\n"
        "    yours     [9]\n"
        "    expected  [6]\n"
        "You squared."
    )
    assert "    yours     np.array([0.666667])\n" in said(lambda values: np.array(values) / 3)


def test_an_error_is_shown_with_its_line() -> None:
    def helper(values):
        return values[9]  # this line

    def in_a_library(values):
        return json.loads("{")

    text = said(lambda values: helper(values))
    assert "    yours     IndexError: list index out of range\n" in text
    for answer, shown, line in (
        (helper, text, "return values[9]  # this line"),
        (in_a_library, said(in_a_library), 'return json.loads("{")'),
    ):
        number = inspect.getsourcelines(answer)[1] + 1
        assert f"    at        line {number}: {line}\n" in shown
    assert "    at  " not in said(int), "no line of the learner's own"


def test_what_an_answer_prints_is_seen_and_much_of_it_is_cut(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def answer(values):
        print("values", values)
        print("done")
        return [0 for _ in values]

    def prints_and_stops(values):
        for number in range(99):
            print(number, "x" * 999)
        raise KeyError("stop")

    text = said(answer)
    assert "    yours     [0]\n    printed   values [2]\n              done\n" in text
    assert "values [3]" not in text, "of the case that is shown, no other"
    rows = said(prints_and_stops).splitlines()
    printed = rows[rows.index("    yours     KeyError: 'stop'") + 1 :]
    assert printed[0].startswith("    printed   0 xxx")
    assert printed[10] == "              ... and 89 lines more"
    assert printed[11].startswith("    expected")
    assert max(map(len, rows)) < 400
    assert capsys.readouterr() == ("", "")


def test_changed_arguments_are_noticed_and_later_cases_are_unharmed() -> None:
    def a_little(values):
        values[0] += 1e-12  # too small to be shown
        return my_double(values)

    exercise = make()
    assert "it changes what it was given" in repr(
        exercise.check(exercise.mistaken_functions_by_name["in_place"])
    )
    assert exercise.check(my_double).status == "passed"
    assert "it changes what it was given" in said(a_little, worked=[(([1.0],), [2.0])], cases=[])


def test_a_mistake_is_told_by_what_it_does_and_may_be_an_edit() -> None:
    more = ["One too many.", "2 * value", "2 * value + 1"]
    exercise = make({"more": more, "first": ["Only the first.", "values]", "values[:1]]"]})
    assert exercise.mistaken_functions_by_name["more"]([3, 5]) == [7, 11]
    for answer, says in (
        (one_more, "\nOne too many."),
        (lambda values: my_double(values[:1]), "\nOnly the first."),
        (lambda values: one_more(values)[::-1], "\nex.double.hint() gives a hint."),
    ):
        assert repr(exercise.check(answer)).endswith(says)
    with pytest.raises(ValueError, match=r"'value' stands 4 times in my_double, not once"):
        redefine_with_edits(my_double, "value", "number")


def one_more(values):
    return [value + 1 for value in my_double(values)]


def test_what_is_kept_between_calls_is_noticed() -> None:
    calls: list[int] = []

    def wrong_later(values):
        calls.append(1)
        return my_double(values) if len(calls) < 6 else [0]

    text = " ".join(said(wrong_later).split())
    assert "a case that passed is wrong when it is asked again: what is kept" in text


def test_blanks_of_any_form() -> None:
    def with_docstring(values):
        """Mine."""

    for blank in (None, ..., with_docstring, lambda values: ...):
        assert make().check(blank).status == "not attempted"


def test_a_blank_may_give_lines_and_is_no_attempt_until_something_is_filled_in() -> None:
    given = "# your answer\n...\nreturn [each for each in doubled]"
    words = {"minutes": 2, "difficulty": "easy", "hints": ["Gentle."], "blank": given}
    wording = LessonWording("00", {"exercises": {"double": words | {"mistakes": WRONG}}})
    exercise = Exercise(my_double, wording, worked=[(([7],), [14])], cases=[], expected=my_double)
    source = exercise.blank_cell.partition("\n\n\n")[0]
    assert source.splitlines()[1:] == [f"    {line}" for line in given.splitlines()]
    filled = source.replace("...", "doubled = [2 * value for value in values]")
    dropped = source.replace("    return [each for each in doubled]", "    return values")
    status = {}
    for name, text in {"left": "\n\n" + source, "filled": filled, "dropped": dropped}.items():
        defined: dict[str, Any] = {}
        exec(text, defined)
        status[name] = exercise.check(defined["my_double"]).status
    assert status == {"left": "not attempted", "filled": "passed", "dropped": "wrong"}


def test_an_exercise_says_what_it_offers_and_can_be_interrupted() -> None:
    expected = "double (2 minutes, easy): .check(my_double), .hint(), .solution()"
    assert repr(make()) == expected
    assert repr(make().solution()) == inspect.getsource(my_double).rstrip()

    def impatient(values):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make().check(impatient)


def test_a_rule_is_watched_while_an_answer_runs() -> None:
    def forbidden(values):
        raise BrokenRuleError("it adds up: do it without")

    @contextlib.contextmanager
    def no_sums():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(math, "fsum", forbidden)
            yield

    exercise = make(rules=[no_sums])
    assert exercise.check(my_double).status == "passed"
    text = repr(exercise.check(lambda values: [math.fsum([value, value]) for value in values]))
    assert text.startswith("double: wrong; it adds up: do it without.")
    assert "    yours     stopped\n" in text
    says = r"it calls `causal_mask` of transformer\.masks"
    with (
        pytest.raises(BrokenRuleError, match=says),
        forbidding_calls_of_module("transformer.masks"),
    ):
        masks.causal_mask(3)
    assert masks.causal_mask(3).shape == (1, 1, 3, 3)
    assert sys.getprofile() is None


HAS_TIMERS = hasattr(signal, "setitimer")


@pytest.mark.skipif(not HAS_TIMERS, reason="Windows has no such timer")
def test_a_loop_without_an_end_is_stopped_and_no_alarm_is_left() -> None:
    def endless(values):
        while len(values) < 3:
            try:
                sum(values)
            except Exception:
                continue
        return my_double(values)

    before = signal.getsignal(signal.SIGALRM)
    outcome = run_case(endless, ([2],), seconds=0.2)
    assert outcome.timed_out
    assert "does your loop end" in outcome.broken_rule
    assert "line" in outcome.line
    assert run_case(endless, ([2, 3, 5],), seconds=0.2).value == [4, 6, 10]
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


@pytest.mark.skipif(not HAS_TIMERS, reason="Windows has no such timer")
def test_a_check_of_an_endless_loop_returns(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(values):
        while len(values) == 1:
            pass
        return [0]

    shorter = functools.partial(run_case, seconds=0.2)
    monkeypatch.setattr("lessonkit.exercises.exercise.run_case", shorter)
    text = said(endless)
    assert "does your loop end?" in text
    assert text.endswith("ex.double.hint() gives a hint.")


def test_a_case_of_many_numbers_is_given_by_shape_and_can_be_pasted() -> None:
    def attention_of_one_matrix(query, key, value, mask):
        return ALL["attention"].reference(query, key.transpose(0, 1).mT, value, mask)

    exercise = ALL["attention"]
    large = next(
        case
        for case in exercise._judged_cases_of_answer(attention_of_one_matrix)
        if case.complaint and count_numbers(case.args) > 30
    )
    rows = exercise._case_text_rows(large)
    assert max(map(len, rows)) < 400
    assert rows[0].startswith("    at  "), "first where it stopped"
    assert "key: a tensor (2, 3, 7, 4), float32" in "\n".join(rows)
    code = next(row for row in rows if row.startswith("    call "))[14:]
    names = {"ex": SimpleNamespace(attention=exercise), "my_attention": lambda *args: args}
    again = eval(code, names)
    assert are_identical(again, large.args)
    again[0].zero_()
    assert are_identical(eval(code, names), large.args), "each time a copy"


PAIRS = [torch.arange(2.0, 14).reshape(3, 4), torch.arange(-5.0, 19, 2).reshape(3, 4)]
ROWS = [[3, 5, 8], [2, 9, 4], [7, 6, 1, 5]]


def said_of(make: Any, rights: list[Any]) -> str:
    """What is measured of an answer that makes this of each right value."""
    made = [make(right) for right in rights]
    return describe_pattern_of_error(
        [
            JudgedCase((), x, Outcome(y), describe_difference(y, x))
            for x, y in zip(rights, made, strict=True)
        ],
        *([], None),
    )


def test_what_is_measured_is_said_and_nothing_else() -> None:
    for make, says in (
        (lambda x: x / 8**0.5, "every number is 0.353553 = 1/sqrt(8) times the right one"),
        (lambda x: -x, "every number is the negative of the right one"),
        (lambda x: x + 3, "every number is 3 too large"),
        (lambda x: x.mT.contiguous(), "it is transposed: rows and columns are exchanged"),
        (
            lambda x: x.roll(1, -1),
            "shifted by one: the first number of each row is where the second",
        ),
        (lambda x: torch.cat((x[:1], 3 * x[1:])), "the first row is always right, but not all"),
        (lambda x: torch.cat((x[:-1], x[-1:] ** 3)), "only the last row is ever wrong"),
        (lambda x: x.log(), "in 1 of 2 cases it has a NaN where there should be a number"),
        (lambda x: x, ""),
        (lambda x: x.sin(), ""),
    ):
        found = said_of(make, PAIRS)
        assert says.casefold() in found.casefold()
        assert bool(says) == bool(found), says
    part = "only number 2 is ever wrong; every number is the negative of the right one"
    assert part in said_of(lambda both: (both[0], -both[1]), [(x, x) for x in PAIRS])
    words = [list(map(str, row)) for row in ROWS]
    for make_list, says in (
        (lambda x: x[::-1], "the order is reversed"),
        (lambda x: x[:-1], "it starts right, but stops too early"),
        (lambda x: [*x, "3"], "it starts right, but goes on too long"),
        (lambda x: x[1:] + x[:1], "the entries are right, but in another order"),
        (list, ""),
    ):
        found = said_of(make_list, words)
        assert says.casefold() in found.casefold()
        assert bool(says) == bool(found)
    raised = Outcome(None, "ValueError: no")
    assert not describe_pattern_of_error([JudgedCase((), 2.0, raised, "it raises")], [], None)


MEASURED = {  # of an edit of a reference, which no named mistake is
    "right in all 12 cases where `smoothing` is 0.0, and wrong in all 26 others": (
        *("smoothed_loss", "smoothing / vocab_size", "smoothing / (vocab_size - 1)"),
    ),
    "every number is sqrt(`d_model`) times the right one": ("warmup_rate", "d_model**-0.5 * ", ""),
    "when `smoothing` changes, your answer stays the same; it should change (in": (
        "smoothed_loss",
        "wanted * logits",
        "wanted + logits",
    ),
    "when `tokens` changes, your answer changes as it should; when `single` or": (
        *("gradient_noise_scale", "number * joint - single", "joint - single"),
    ),
}


def test_what_is_measured_of_the_cases_and_of_altered_ones() -> None:
    for says, (name, *edits) in MEASURED.items():
        verdict = ALL[name].check(redefine_with_edits(ALL[name].reference, *edits))
        assert says.casefold() in " ".join(repr(verdict).split()).casefold()


ONES = torch.ones(3)
NAN = math.nan


def test_difference() -> None:
    for yours, expected, says in (
        (2.00001, 2.0, ""),
        (2.001, 2.0, "the values differ"),
        (NAN, 2.0, "the values differ"),
        (True, 1.0, "it gives a value of type bool, not a number"),
        ((2, 3), [2, 3], ""),
        ([2, 3], [2, 3, 5], "the length is 2, not 3"),
        ([3, "5"], [2, 5], "it gives a value of type str, not a whole number"),
        ([3.0, np.float64(5)], [3, 5], ""),
        (3.5, 3, "it gives a value of type float, not a whole number"),
        (np.ones(3), ONES, "it gives a NumPy array: give a tensor"),
        (torch.zeros(2, 3), torch.zeros(3, 2), "its shape is (2, 3), not (3, 2)"),
        (ONES.long(), ONES, ""),
        (torch.tensor([2.0, NAN]), torch.tensor([2.0, NAN]), ""),
        (torch.tensor([2.0, NAN]), torch.tensor([2.0, 3.0]), "the values differ"),
        (torch.tensor([37_001]), torch.tensor([37_000]), "the values differ"),
        (None, ONES, "it gives None, not a tensor: is there a `return`?"),
        ({"a": 1}, {"a": 1, "b": 2}, "the name 'b' is missing"),
        ({"a": 1, "b": 2}, {"a": 1}, "the name 'b' should not be there"),
    ):
        assert describe_difference(yours, expected) == says, (yours, expected)
    for yours, expected in ((ONES, ONES.long()), (ONES.int(), ONES.long()), (ONES.bool(), ONES)):
        says = f"its numbers are {yours.dtype}, not {expected.dtype}"
        assert (
            describe_difference(yours, expected) == describe_difference([yours], [expected]) == says
        )


def test_identical_is_exact() -> None:
    for one, other, is_identical in (
        (torch.tensor([1.0]), torch.tensor([1.0 + 1e-7]), False),  # the next float32
        (torch.tensor([1]), torch.tensor([1.0]), False),
        ([1.0], [1.0 + 1e-12], False),
        ([NAN], [NAN], True),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, False),  # an answer may have moved a name
        ({"a": [1, (2,)]}, {"a": [1, (2,)]}, True),
    ):
        assert are_identical(one, other) is is_identical, (one, other)
