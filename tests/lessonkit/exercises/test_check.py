"""An exercise judges, hints and shows: the machinery, on an exercise of its own."""

import contextlib
import inspect
import json
import math
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

from lessonkit.exercises.check import Exercise, Text
from lessonkit.exercises.mistakes import edited
from lessonkit.exercises.outcome import BrokenRuleError, SmallTensors, without
from transformer import masks


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
        "worked": [(([7, 3],), [14, 6])],
        "cases": [([2],), ([3],), ([2, 3, 5],)],
        "expected": lambda values: [value + value for value in values],
        "wrong": {squares: "You squared.", in_place: "You wrote into the list."},
    } | changes
    hints = {wrong.__name__: hint for wrong, hint in given["wrong"].items()}
    given["wrong"] = {wrong.__name__: wrong for wrong in given["wrong"]}
    words = {"minutes": 2, "difficulty": "easy", "hints": ["Gentle.", "Plain."], "wrong": hints}
    return Exercise(my_double, {"exercises": {"double": words}}, **given)


def test_a_wrong_answer_is_shown_in_full() -> None:
    assert repr(make().check(lambda values: [value**2 for value in values])) == (
        "double: wrong; the values differ.\n"
        "The smallest case that shows it:\n"
        "    call      my_double([3])\n"
        "    yours     [9]\n"
        "    expected  [6]\n"
        "You squared."
    )


def test_an_error_is_shown_with_its_line() -> None:
    def helper(values):
        return values[9]  # this line

    def answer(values):
        helper(values)
        return values

    text = repr(make().check(answer))
    number = inspect.getsourcelines(helper)[1] + 1
    assert "    yours     IndexError: list index out of range\n" in text
    assert f"    at        line {number}: return values[9]  # this line\n" in text


def test_an_error_in_a_library_is_shown_with_the_line_that_called_it() -> None:
    def answer(values):
        return json.loads("{")

    number = inspect.getsourcelines(answer)[1] + 1
    assert f'at        line {number}: return json.loads("{{")\n' in repr(make().check(answer))


def test_an_error_of_code_that_has_no_text_is_shown_with_its_number() -> None:
    names: dict[str, Any] = {}
    exec("def answer(values):\n    total = 0\n    return total / 0", names)
    assert "    at        line 3\n" in repr(make().check(names["answer"]))
    assert "    at  " not in repr(make().check(int)), "no line of the learner's own"


def test_what_an_answer_prints_is_seen(capsys: pytest.CaptureFixture[str]) -> None:
    def answer(values):
        print("values", values)
        print("done")
        return [0 for _ in values]

    text = repr(make().check(answer))
    assert "    yours     [0]\n    printed   values [2]\n              done\n" in text
    assert "values [3]" not in text, "of the case that is shown, no other"

    def passes(values):
        print("doubling", values)
        return my_double(values)

    assert repr(make().check(passes)) == "double: passed, 4 cases.\n    printed   doubling [2]"
    assert capsys.readouterr() == ("", "")


def test_what_is_printed_before_an_error_is_seen_and_much_of_it_is_cut() -> None:
    def answer(values):
        for number in range(99):
            print(number, "x" * 999)
        raise KeyError("stop")

    rows = repr(make().check(answer)).splitlines()
    printed = rows[rows.index("    yours     KeyError: 'stop'") + 2 :]
    assert printed[0].startswith("    printed   0 xxx")
    assert printed[10] == "              ... and 89 lines more"
    assert printed[11].startswith("    expected")
    assert max(map(len, rows)) < 400


def test_the_numbers_of_an_array_are_shown() -> None:
    text = repr(make().check(lambda values: np.array(values) / 3))
    assert "    yours     np.array([0.666667])\n" in text


def test_a_change_too_small_to_be_shown_is_a_change() -> None:
    def answer(values):
        values[0] += 1e-12
        return my_double(values)

    exercise = make(worked=[(([1.0],), [2.0])], cases=[])
    assert "it changes what it was given" in repr(exercise.check(answer))


def test_a_rule_is_watched_while_an_answer_runs() -> None:
    @contextlib.contextmanager
    def no_sums() -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(math, "fsum", forbidden)
            yield

    def forbidden(values):
        raise BrokenRuleError("it adds up: do it without")

    def adds(values):
        return [math.fsum([value, value]) for value in values]

    exercise = make(rules=[no_sums])
    assert exercise.check(my_double).status == "passed"
    text = repr(exercise.check(adds))
    assert text.startswith("double: wrong; it adds up: do it without.")
    assert "    yours     stopped\n    at        line " in text
    assert "raises" not in text


def test_a_mistake_of_no_name_points_to_the_hints() -> None:
    text = repr(make().check(lambda values: [0 for _ in values]))
    assert text.endswith("ex.double.hint() gives a hint.")


def one_more(values: list[int]) -> list[int]:
    return [value + 1 for value in my_double(values)]


def backwards(values: list[int]) -> list[int]:
    return my_double(values)[::-1]


def first_alone(values: list[int]) -> list[int]:
    return my_double(values)[:1]


def tens_lost(values: list[int]) -> list[int]:
    return [double % 10 for double in my_double(values)]


def make_with_four() -> Exercise:
    wrong = {
        one_more: "One too many.",
        backwards: "The wrong way round.",
        first_alone: "Only the first.",
        tens_lost: "The tens are lost.",
    }
    return make(wrong=wrong, cases=[([2],), ([3],), ([5],), ([2, 3, 4],), ([1, 1, 1],)])


def test_two_mistakes_at_once_are_both_named() -> None:
    text = repr(make_with_four().check(lambda values: [2 * value + 1 for value in values][::-1]))
    assert text.endswith(
        "These look like two mistakes at once.\n- One too many.\n- The wrong way round."
    )


def test_two_mistakes_that_show_in_different_cases_are_both_named() -> None:
    def answer(values):
        if len(values) == 1:
            return [2 * values[0] % 10]
        return [2 * value for value in values][::-1]

    exercise = make_with_four()
    assert exercise.check(answer).status == "wrong"
    text = repr(exercise.check(answer))
    assert text.endswith("at once.\n- The wrong way round.\n- The tens are lost.")


def test_a_mistake_that_has_a_name_is_told_beside_one_that_has_none() -> None:
    def answer(values):
        if len(values) > 1:
            return my_double(values)[:1]
        return [99] if values == [5] else my_double(values)

    text = repr(make_with_four().check(answer))
    assert text.endswith("One thing that is wrong: Only the first.")


def test_a_mistake_may_be_an_edit_and_two_edits_go_together() -> None:
    exercise = make_with_four()
    plus, first = ("2 * value", "2 * value + 1"), ("values]", "values[:1]]")
    exercise.wrong = {"one_more": plus, "first_alone": first}
    assert exercise.mistakes["one_more"]([3, 5]) == [7, 11]
    both = exercise.with_both("one_more", "first_alone")
    assert both is not None
    assert both([3, 5]) == [7]
    exercise.wrong = {"one_more": plus, "same place": ("2 * value", "3 * value")}
    assert exercise.with_both("same place", "one_more") is None
    with pytest.raises(ValueError, match=r"'value' stands 4 times in my_double, not once"):
        edited(my_double, "value", "number")


def test_no_mistake_is_named_where_the_answer_does_something_else() -> None:
    text = repr(make_with_four().check(lambda values: [7 * value for value in values]))
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
    longer = {"it must be longer": lambda value, values: len(value) > len(values)}
    exercise = make(expected=None, worked=[], properties=longer)
    assert exercise.check(lambda values: [*values, 0]).status == "passed"
    text = repr(exercise.check(lambda values: values))
    assert text.startswith("double: wrong; it must be longer.")
    assert "expected" not in text
    assert exercise.check(lambda values: 3).status == "wrong"


def test_a_broken_property_says_more_than_differing_values() -> None:
    even = {"every number must be even": lambda value, _: all(v % 2 == 0 for v in value)}
    text = repr(make(properties=even).check(lambda values: [3 for _ in values]))
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


def test_a_large_tensor_is_refused_and_a_view_weighs_nothing():
    with SmallTensors(largest=7, together=100):
        made = torch.ones(7)
        made[None].expand(50, -1)
        made.view(7, 1).T.chunk(7, dim=1)
        with pytest.raises(BrokenRuleError, match="it makes a tensor of 8 numbers at once"):
            torch.cat([made, made[:1]])
    torch.ones(99)


def test_many_small_tensors_are_refused_where_they_are_held():
    with SmallTensors(largest=5, together=30):
        for _ in range(50):
            torch.ones(5)  # given up at once
        held = [torch.ones(5) for _ in range(6)]
        with pytest.raises(BrokenRuleError, match="it holds 35 numbers in tensors at once"):
            held.append(torch.ones(5))


def test_calls_into_a_module_are_refused():
    says = r"it calls `causal_mask` of transformer\.masks"
    with pytest.raises(BrokenRuleError, match=says), without("transformer.masks"):
        masks.causal_mask(3)
    assert masks.causal_mask(3).shape == (1, 1, 3, 3)
    assert sys.getprofile() is None
