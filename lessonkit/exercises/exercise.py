"""An exercise: judges an answer, shows the smallest case that fails, gives hints and a solution.

Not in the paper. `check` never raises, whatever the answer does, and ends a loop that would run for
ever after `deadline.DEFAULT_SECONDS_PER_CASE` (not on Windows: interrupt the kernel there).
"""

import ast
import contextlib
import copy
import inspect
import itertools
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from types import ModuleType
from typing import Any

from lessonkit.exercises.answers import is_blank, is_same_code
from lessonkit.exercises.compare import VALUES_DIFFER_CLAUSE, count_numbers, format_value
from lessonkit.exercises.diagnosis import JudgedCase, describe_pattern_of_error
from lessonkit.exercises.edit_source import redefine_with_edits
from lessonkit.exercises.learner_file import save_definition
from lessonkit.exercises.message import Message, wrap_text
from lessonkit.exercises.outcome import (
    LABELLED_ROW_FORMAT,
    AnswerFunction,
    CaseArguments,
    Outcome,
    describe_difference_safely,
    describe_type,
    describe_value,
    fixed_torch_state_context,
    format_short,
    outcomes_look_alike,
    run_case,
    truncate_text,
)
from lessonkit.exercises.progress import record_progress
from lessonkit.exercises.rules import AnswerRuleFactory
from lessonkit.exercises.toys import restrict_to_methods
from lessonkit.exercises.wording import LessonWording

ANSWER_PREFIX = "my_"  # of the function that a learner fills in
BLANK_BODY = "# your answer\n..."
NUM_REPEATED_CASES = 3  # judged again once all have passed
MAX_NUMBERS_SHOWN = 30  # of a failing case; a larger one is given by its shapes
REMEMBERED_STATE_COMPLAINT = (
    "a case that passed is wrong when it is asked again: what is kept between calls"
)


class Exercise:
    """A function to fill in, with all that is needed to judge answers and to help.

    Args:
        reference: A right answer, called `my_` and the exercise's name. It is shown as the
            solution: it needs nothing but its arguments and imported modules.
        words: The lesson's, with the exercise's `minutes`, `difficulty` and `hints`, and in
            `mistakes` wrong answers by name: a hint, and the edits of the reference's text that
            make the mistake (see `redefine_with_edits`). `blank` is the body of the function to
            fill in where some of its lines are given; it holds `BLANK_BODY` once, indented at will.
        worked: Cases worked by hand: (arguments, value).
        cases: Further arguments, many of them small, so that the smallest one fails.
        expected: Returns the right value by another way than `reference`.
        properties: What every right answer has: a sentence without its full stop, and a function of
            the answer's value and the arguments of the case.
        rules: Each returns a context that watches an answer, and raises `BrokenRuleError`.
        saved: Whether an answer that passes is saved in the learner's own file.
    """

    def __init__(
        self,
        reference: AnswerFunction,
        words: LessonWording,
        *,
        cases: Sequence[CaseArguments],
        expected: AnswerFunction,
        worked: Sequence[tuple[CaseArguments, Any]] = (),
        properties: Mapping[str, Callable[..., bool]] | None = None,
        rules: Sequence[AnswerRuleFactory] = (),
        saved: bool = False,
    ) -> None:
        self.name = reference.__name__.removeprefix(ANSWER_PREFIX)
        self.handle = f"ex.{self.name}"  # as a notebook calls it
        entry = words.exercises[self.name]
        self.minutes, self.difficulty = entry["minutes"], entry["difficulty"]
        self.hints = entry["hints"]
        self.blank_body = entry.get("blank", BLANK_BODY).strip()
        self.hint_of_mistake = {name: hint for name, (hint, *_) in entry["mistakes"].items()}
        self.mistake_edits = {name: edits for name, (_, *edits) in entry["mistakes"].items()}
        self.reference = reference
        self.worked, self.cases, self.expected = tuple(worked), tuple(cases), expected
        self.properties = properties or {}
        self.rules = rules
        self.saved = saved
        self.fallback = reference  # a lesson goes on with it if nothing passes
        self._hints_shown = 0

    def __repr__(self) -> str:
        return (
            f"{self.name} ({self.minutes} minutes, {self.difficulty}): "
            f".check({ANSWER_PREFIX}{self.name}), .hint(), .solution()"
        )

    @cached_property
    def right_values(self) -> list[Any]:
        """The right value of each of `cases`. A browser, which may lack a library, is given it."""
        return [self.expected(*copy.deepcopy(args)) for args in self.cases]

    @cached_property
    def cases_with_right_values(self) -> list[tuple[CaseArguments, Any]]:
        """Every case with its right value, smallest first."""
        pairs = [*self.worked, *zip(self.cases, self.right_values, strict=True)]
        return sorted(pairs, key=lambda pair: len(format_value(pair[0])))

    @cached_property
    def mistaken_functions_by_name(self) -> dict[str, AnswerFunction]:
        """The wrong answers, by name."""
        return {
            name: redefine_with_edits(self.reference, *edits)
            for name, edits in self.mistake_edits.items()
        }

    @property
    def blank_cell(self) -> str:
        """The cell that a lesson offers to fill in."""
        return f"{self.blank_source}\n\n\n{self.check_call_code}"

    @property
    def gap_cell(self) -> str:
        """The same cell in the midst of a lesson, which goes on with the answer."""
        accept = f"{self.name} = ex.{self.name}.accept({ANSWER_PREFIX}{self.name})"
        return f"{self.blank_source}\n\n\n{accept}"

    @property
    def check_call_code(self) -> str:
        """The line of a lesson that has the answer judged."""
        return f"ex.{self.name}.check({ANSWER_PREFIX}{self.name})"

    @property
    def blank_source(self) -> str:
        """The function to fill in, as a lesson gives it."""
        body = textwrap.indent(self.blank_body, "    ")
        return f"{self._answer_def_line}\n{body}"

    @property
    def _answer_def_line(self) -> str:
        names = ", ".join(inspect.signature(self.reference).parameters)
        return f"def {ANSWER_PREFIX}{self.name}({names}):"

    def check(self, answer: Any) -> Message:
        """Print and return a verdict: passed, not attempted, or what is wrong on the smallest case.

        What the answer prints in that case is shown with the verdict.
        """
        return self.judge(answer).printed()

    def judge(self, answer: Any) -> Message:
        """Return the verdict that `check` prints."""
        with fixed_torch_state_context():
            verdict = self._judge_answer(answer)
        if verdict.status == "passed" and getattr(answer, "__module__", None) == "__main__":
            record_progress("right", self.name)
        return verdict

    def accept(self, answer: Any) -> Any:
        """Judge an answer; return it if it passes, else the course's, and say which.

        An answer that passes is written into the learner's file if this exercise is saved.
        """
        verdict = self.judge(answer)
        passed = verdict.status == "passed"
        whose = "YOUR" if passed and answer is not self.fallback else "THE COURSE'S"
        in_a_cell = getattr(answer, "__module__", None) == "__main__"
        where = (
            f", kept in {save_definition(answer)}" if passed and self.saved and in_a_cell else ""
        )
        print(f"{verdict}\nFrom here on: {whose} {self.name}{where}.")
        return answer if passed else self.fallback

    def passes(self, answer: AnswerFunction) -> bool:
        """Return whether an answer passes, and look for no advice."""
        with fixed_torch_state_context():
            return self.first_failed_case(answer) is None

    def hint(self) -> Message:
        """Print and return the next hint, a plainer one each time; at the end the last again."""
        self._hints_shown = min(self._hints_shown + 1, len(self.hints))
        return self.hint_message(self._hints_shown).printed()

    def hint_message(self, number: int) -> Message:
        """Return one of the hints, which are counted from 1."""
        lines = [f"Hint {number} of {len(self.hints)}. {self.hints[number - 1]}"]
        if number == len(self.hints):
            lines.append(f"After this one there is {self.handle}.solution().")
        return Message("\n".join(map(wrap_text, lines)))

    def solution(self) -> Message:
        """Print and return a right answer; it can be pasted into the cell as it is."""
        return Message(self.solution_source()).printed()

    def solution_source(self) -> str:
        """Return the source of a right answer."""
        source = textwrap.dedent(inspect.getsource(self.reference)).rstrip()
        first_line = ast.parse(source).body[0].body[0].lineno  # type: ignore[attr-defined]
        body = "\n".join(source.splitlines()[first_line - 1 :])
        lines = [self._answer_def_line, body]
        if imports := self._solution_import_lines(body):
            lines = [*imports, "", "", *lines]
        return "\n".join(lines)

    def _solution_import_lines(self, body: str) -> list[str]:
        """Return the lines of import that the body of a solution needs."""
        nodes = ast.walk(ast.parse(f"if 1:\n{body}"))
        names = sorted({node.id for node in nodes if isinstance(node, ast.Name)})
        lines = []
        for name in names:
            module = self.reference.__globals__.get(name)
            if isinstance(module, ModuleType):
                alias = f" as {name}" if module.__name__ != name else ""
                lines.append(f"import {module.__name__}{alias}")
        return lines

    def is_blank(self, answer: Any) -> bool:
        """Return whether nothing was filled in: dots alone, or all that the lesson gave."""
        return is_blank(answer) or is_same_code(answer, self.blank_source)

    def to_case_function(self, answer: Any) -> AnswerFunction:
        """Return a function of a case's arguments that shows what an answer does: the answer."""
        function: AnswerFunction = answer
        return function

    def run_cases(self, answer: AnswerFunction) -> Iterator[Outcome]:
        """Run an answer on every case, from the smallest on."""
        return (
            run_case(self.to_case_function(answer), args, self.rules)
            for args, _ in self.cases_with_right_values
        )

    def judge_outcomes(self, outcomes: Iterable[Outcome]) -> Iterator[JudgedCase]:
        """Judge what an answer did with every case."""
        for (args, right), outcome in zip(self.cases_with_right_values, outcomes, strict=False):
            yield JudgedCase(
                args, right, outcome, self._describe_outcome_fault(outcome, args, right)
            )

    def first_failed_case(self, answer: AnswerFunction) -> JudgedCase | None:
        """Return the smallest case that an answer gets wrong; None if there is none."""
        return next((case for case in self._judged_cases_of_answer(answer) if case.complaint), None)

    def case_arguments(self, number: int) -> CaseArguments:
        """Return a copy of a case's arguments; cases are numbered from 0, smallest first."""
        with fixed_torch_state_context():
            args, _ = self.cases_with_right_values[number]
            return tuple(map(restrict_to_methods, copy.deepcopy(args)))

    def case_number(self, case: JudgedCase) -> int:
        """Return the number with which `case_arguments` returns a case."""
        every = [args for args, _ in self.cases_with_right_values]
        return next(number for number, args in enumerate(every) if args is case.args)

    def call_code(self, case: JudgedCase) -> str:
        """Return the call of a case as code: with its numbers, unless they are many."""
        if count_numbers(case.args) > MAX_NUMBERS_SHOWN:
            arguments = f"*{self.handle}.case_arguments({self.case_number(case)})"
        else:
            arguments = ", ".join(map(format_value, case.args))
        return f"{self.reference.__name__}({arguments})"

    def wrong_answer_message(self, answer: AnswerFunction, failure: JudgedCase) -> Message:
        """Return what is wrong with an answer, on a case that shows it, with advice."""
        stop = "" if failure.complaint.endswith((".", "?", "!")) else "."
        lines = [wrap_text(f"{self.name}: wrong; {failure.complaint}{stop}")]
        lines += self._case_text_rows(failure)
        if "no gradient" not in failure.outcome.broken_rule:  # which says all there is to say
            lines += map(wrap_text, self._advice_lines(answer))
        return Message("\n".join(lines), "wrong")

    def _judge_answer(self, answer: Any) -> Message:
        if self.is_blank(answer):
            text = f"{self.name}: not attempted. Put your answer in place of the dots."
            return Message(text, "not attempted")
        if complaint := self._explain_invalid_answer(answer):
            return Message(f"{self.name}: wrong. {complaint}", "wrong")
        if failure := self.first_failed_case(answer):
            return self.wrong_answer_message(answer, failure)
        again = list(itertools.islice(self._judged_cases_of_answer(answer), NUM_REPEATED_CASES))
        if failure := next((case for case in again if case.complaint), None):
            complaint = f"{REMEMBERED_STATE_COMPLAINT}: {failure.complaint}"
            return self.wrong_answer_message(answer, failure._replace(complaint=complaint))
        passed = f"{self.name}: passed, {len(self.cases_with_right_values)} cases."
        return Message("\n".join([passed, *again[0].outcome.answer_stdout_rows()]), "passed")

    def _explain_invalid_answer(self, answer: Any) -> str:
        """Explain why something is no answer at all; "" if it is one."""
        return "" if callable(answer) else self._explain_answer_of_wrong_kind(answer, "a function")

    def _explain_answer_of_wrong_kind(self, answer: Any, wanted: str) -> str:
        how = f"Write .check({self.reference.__name__}), with no brackets after the name."
        return f"It was given {describe_type(answer)}, not {wanted}.\n{how}"

    def _judged_cases_of_answer(self, answer: AnswerFunction) -> Iterator[JudgedCase]:
        return self.judge_outcomes(self.run_cases(answer))

    def _describe_outcome_fault(self, outcome: Outcome, args: CaseArguments, right: Any) -> str:
        """Describe in a clause what is wrong with an outcome; "" if nothing is."""
        if outcome.stop_cause:
            return outcome.broken_rule or f"it raises {outcome.error}"
        if outcome.changed:
            return "it changes what it was given: work on a copy"
        difference = describe_difference_safely(outcome.value, right)
        if difference not in ("", VALUES_DIFFER_CLAUSE):
            return difference
        for sentence, holds in self.properties.items():
            is_so = False
            with contextlib.suppress(Exception):  # the value is not even of the right type
                is_so = bool(holds(outcome.value, *args))
            if not is_so:
                return sentence
        return difference

    def _case_text_rows(self, case: JudgedCase) -> list[str]:
        """Return a case, what the answer did with it, and what is right, in rows."""
        rows = [*case.outcome.stop_line_rows(), "The smallest case that shows it:"]
        rows.append(LABELLED_ROW_FORMAT.format("call", self.call_code(case)))
        if count_numbers(case.args) > MAX_NUMBERS_SHOWN:
            names = inspect.signature(self.reference).parameters
            pairs = zip(names, case.args, strict=False)
            described = "; ".join(f"{name}: {describe_value(value)}" for name, value in pairs)
            rows.append(LABELLED_ROW_FORMAT.format("with", truncate_text(described)))
        rows += case.outcome.learner_value_rows()
        return [*rows, LABELLED_ROW_FORMAT.format("expected", format_short(case.right))]

    def _advice_lines(self, answer: AnswerFunction) -> list[str]:
        """Name the mistake that does the same in every case; if none does, what can be measured."""
        hint = f"{self.handle}.hint() gives a hint."
        yours = []
        for case in self._judged_cases_of_answer(answer):
            if case.outcome.timed_out:  # as the other cases may be
                return [hint]
            yours.append(case)
        for name, theirs in self._judged_cases_by_mistake.items():
            pairs = zip(yours, theirs, strict=False)
            if all(outcomes_look_alike(one.outcome, other.outcome) for one, other in pairs):
                return [self.hint_of_mistake[name]]
        lines = [hint]
        with contextlib.suppress(Exception):  # the values may refuse whatever is asked of them
            if diagnosis := self._describe_pattern_of_error(answer, yours):
                lines.insert(0, diagnosis)
        return lines

    def _describe_pattern_of_error(self, answer: Any, cases: Sequence[JudgedCase]) -> str:
        """Describe what can be measured of an answer; "" if nothing is clear."""

        def judge_other(*args: Any) -> JudgedCase:
            right = self.expected(*copy.deepcopy(args))
            reference = run_case(self.to_case_function(self.reference), args, self.rules)
            if reference.stop_cause or describe_difference_safely(reference.value, right):
                raise ValueError("no case: there is more than one right value")
            outcome = run_case(self.to_case_function(answer), args, self.rules)
            return JudgedCase(
                args, right, outcome, self._describe_outcome_fault(outcome, args, right)
            )

        names = list(inspect.signature(self.reference).parameters)
        return describe_pattern_of_error(cases, names, judge_other)

    @cached_property
    def _judged_cases_by_mistake(self) -> dict[str, list[JudgedCase]]:
        """What every named mistake does in each case."""
        return {
            name: list(self._judged_cases_of_answer(answer))
            for name, answer in self.mistaken_functions_by_name.items()
        }
