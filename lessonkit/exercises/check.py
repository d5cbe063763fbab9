"""An exercise: it judges an answer, gives hints, and shows a solution.

Not in the paper. `check` never raises, whatever the answer does; it only cannot end a loop
that runs for ever without asking anything of the exercise (interrupt the kernel).
"""

import ast
import copy
import dis
import inspect
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any, Literal

from lessonkit.exercises.advice import Deed, find_mistakes, on_top
from lessonkit.exercises.compare import VALUES_DIFFER, show
from lessonkit.exercises.outcome import (
    Answer,
    Args,
    Outcome,
    Rule,
    article,
    run,
    shown,
    try_difference,
)

PREFIX = "my_"  # of the function that a learner fills in
MAX_COLUMNS = 76  # of a text, so that it needs no scrolling


@dataclass(frozen=True)
class Text:
    """What an exercise says; a notebook shows it as plain text.

    Attributes:
        text: The words, lines broken.
        status: "passed", "not attempted" or "wrong" of an answer; "" of a hint or solution.
    """

    text: str
    status: Literal["passed", "not attempted", "wrong", ""] = ""

    def __repr__(self) -> str:
        """Give the text itself: this is what a notebook prints."""
        return self.text


@dataclass(frozen=True)
class Wrong:
    """A plausible mistake, recognised by what it does, however it was written.

    Attributes:
        answer: A function that makes it; its name names the mistake.
        hint: What has gone wrong, and where to look; it does not give the answer away.
    """

    answer: Answer
    hint: str


@dataclass(frozen=True)
class Property:
    """What every right answer has.

    Attributes:
        says: A sentence, without its full stop.
        holds: Takes the answer's value, then the arguments of the case.
    """

    says: str
    holds: Callable[..., bool]


class Exercise:
    """A function to fill in, with all that is needed to judge and to help.

    Args:
        reference: A right answer, called `my_` and the exercise's name. It is shown as the
            solution: it needs nothing but its arguments and imported modules.
        minutes: How long it may take.
        difficulty: As the lesson says it.
        hints: From gentle to plain.
        worked: Cases worked by hand: (arguments, value).
        cases: Further arguments, many of them small, so that the smallest one fails.
        expected: Gives the right value by another way than `reference`; None where
            several values are right and the properties decide alone.
        wrong: The mistakes that have a hint of their own, three or more.
        properties: What every right answer has.
        rules: What the text forbids, where the value alone does not tell: each gives a context
            that watches an answer and raises `BrokenRuleError`.
        handle: How a notebook calls the exercise; None is "ex." and its name.
    """

    def __init__(
        self,
        reference: Answer,
        *,
        minutes: int,
        difficulty: Literal["easy", "medium", "hard"],
        hints: Sequence[str],
        cases: Sequence[Args],
        wrong: Sequence[Wrong],
        worked: Sequence[tuple[Args, Any]] = (),
        expected: Answer | None = None,
        properties: Sequence[Property] = (),
        rules: Sequence[Rule] = (),
        handle: str | None = None,
    ) -> None:
        self.name = reference.__name__.removeprefix(PREFIX)
        self.handle = handle or f"ex.{self.name}"
        self.reference, self.minutes, self.difficulty = reference, minutes, difficulty
        self.hints, self.wrong, self.worked = tuple(hints), tuple(wrong), tuple(worked)
        self.cases, self.expected, self.properties = tuple(cases), expected, tuple(properties)
        self.rules = tuple(rules)
        self._hints_given = 0

    def __repr__(self) -> str:
        """Name the exercise and what it offers."""
        return (
            f"{self.name} ({self.minutes} minutes, {self.difficulty}): "
            f".check({PREFIX}{self.name}), .hint(), .solution()"
        )

    @cached_property
    def judged_cases(self) -> list[tuple[Args, Any]]:
        """Every case with its right value (None where properties decide), smallest first."""
        given = [*self.worked, *((args, self._expect(args)) for args in self.cases)]
        return sorted(given, key=lambda case: len(show(case[0])))

    @property
    def blank(self) -> str:
        """The cell that a lesson gives to fill in."""
        return f"{self._header}\n    # your answer\n    ...\n\n\n{self.call}"

    @property
    def call(self) -> str:
        """The line of a lesson that has the answer judged."""
        return f"ex.{self.name}.check({PREFIX}{self.name})"

    @property
    def _header(self) -> str:
        names = ", ".join(inspect.signature(self.reference).parameters)
        return f"def {PREFIX}{self.name}({names}):"

    def check(self, answer: Any) -> Text:
        """Judge an answer: passed, not attempted, or what is wrong, on the smallest case.

        Args:
            answer: The learner's function. What it prints in the case shown is shown with it;
                where it has passed, what it prints in the smallest case.

        Returns:
            The verdict; at the end of a cell it is shown.
        """
        if is_blank(answer):
            text = f"{self.name}: not attempted. Put your answer in place of the dots."
            return Text(text, "not attempted")
        if not callable(answer):
            what = f"{self.name}: wrong. It was given {article(answer)}, not a function."
            how = f"Write .check({PREFIX}{self.name}), with no brackets after the name."
            return Text(f"{what}\n{how}", "wrong")
        fault = self._first_fault(answer)
        if fault:
            return self._refuse(answer, *fault)
        smallest = run(answer, self.judged_cases[0][0], self.rules)
        passed = f"{self.name}: passed, {len(self.judged_cases)} cases."
        return Text("\n".join([passed, *smallest.printed_rows()]), "passed")

    def accepts(self, answer: Answer) -> bool:
        """Say whether an answer passes, and no more: no advice is looked for."""
        return self._first_fault(answer) is None

    def hint(self) -> Text:
        """Give the next hint, a plainer one each time; the last one again at the end."""
        self._hints_given = min(self._hints_given + 1, len(self.hints))
        number = self._hints_given
        lines = [f"Hint {number} of {len(self.hints)}. {self.hints[number - 1]}"]
        if number == len(self.hints):
            lines.append(f"After this one there is {self.handle}.solution().")
        return Text("\n".join(map(_fill, lines)))

    def solution(self) -> Text:
        """Show a right answer; it can be pasted into the cell as it is."""
        source = textwrap.dedent(inspect.getsource(self.reference)).rstrip()
        first = ast.parse(source).body[0].body[0].lineno  # type: ignore[attr-defined]
        body = "\n".join(source.splitlines()[first - 1 :])
        used = {
            node.id for node in ast.walk(ast.parse(f"if 1:\n{body}")) if isinstance(node, ast.Name)
        }
        modules = {name: self.reference.__globals__.get(name) for name in sorted(used)}
        imports = [
            f"import {module.__name__}" + (f" as {name}" if module.__name__ != name else "")
            for name, module in modules.items()
            if isinstance(module, ModuleType)
        ]
        return Text("\n".join([*imports, *["", ""] * bool(imports), self._header, body]))

    def _expect(self, args: Args) -> Any:
        return None if self.expected is None else self.expected(*copy.deepcopy(args))

    def _first_fault(self, answer: Answer) -> tuple[Outcome, str, Args, Any] | None:
        """Find the smallest case that an answer fails, and say in a clause what is wrong."""
        for args, right in self.judged_cases:
            outcome = run(answer, args, self.rules)
            if complaint := self._complaint(outcome, args, right):
                return outcome, complaint, args, right
        return None

    def _complaint(self, outcome: Outcome, args: Args, right: Any) -> str:
        """Say in a clause what is wrong with an outcome; "" where nothing is."""
        if outcome.broken:
            return outcome.broken
        if outcome.error:
            return f"it raises {outcome.error}"
        if outcome.changed:
            return "it changes what it was given: work on a copy"
        if self.expected is not None:
            differs = try_difference(outcome.value, right)
            if differs != VALUES_DIFFER:
                return differs
        for each in self.properties:
            if not _holds(each, outcome.value, args):
                return each.says
        return "" if self.expected is None else VALUES_DIFFER

    def _refuse(
        self, answer: Answer, outcome: Outcome, complaint: str, args: Args, right: Any
    ) -> Text:
        stop = "" if complaint.endswith((".", "?", "!")) else "."
        lines = [
            f"{self.name}: wrong; {complaint}{stop}",
            "The smallest case that shows it:",
            f"    call      {self.reference.__name__}({', '.join(map(show, args))})",
            *outcome.rows(),
        ]
        if self.expected is not None:
            lines.append(f"    expected  {shown(right)}")
        return Text("\n".join([*lines, *map(_fill, self._advice(answer))]), "wrong")

    def _advice(self, answer: Answer) -> list[str]:
        """Say what the mistakes are, where an answer does the same as some that have a name."""
        found = find_mistakes(self._deeds(answer), self._mistakes, self._both)
        hints = [self.wrong[place].hint for place in found.places]
        if not hints:
            return [f"{self.handle}.hint() gives a hint."]
        if not found.is_all:
            return [f"One thing that is wrong: {hints[0]}"]
        if len(hints) == 1:
            return hints
        return ["These look like two mistakes at once.", *(f"- {hint}" for hint in hints)]

    @cached_property
    def _mistakes(self) -> list[list[Deed]]:
        """What every named mistake does in each case."""
        return [self._deeds(wrong.answer) for wrong in self.wrong]

    def _both(self, first: int, second: int) -> Iterator[Outcome] | None:
        """Do every case with the second mistake on top of the first."""
        inner, outer = self.wrong[first].answer, self.wrong[second].answer
        answer = on_top(outer, inner, self.reference)
        if answer is None:
            return None
        return (run(answer, args, self.rules) for args, _ in self.judged_cases)

    def _deeds(self, answer: Answer) -> list[Deed]:
        deeds = []
        for args, right in self.judged_cases:
            outcome = run(answer, args, self.rules)
            deeds.append(Deed(outcome, bool(self._complaint(outcome, args, right))))
        return deeds


def is_blank(answer: Any) -> bool:
    """Say whether nothing was filled in: no answer, or a function of dots alone."""
    if answer is None or answer is ...:
        return True
    if not inspect.isfunction(answer):
        return False
    for step in dis.get_instructions(answer):
        if step.opname not in {"RESUME", "NOP", "LOAD_CONST", "RETURN_VALUE", "RETURN_CONST"}:
            return False
        is_constant = step.opname in {"LOAD_CONST", "RETURN_CONST"}
        if is_constant and step.argval is not None and step.argval is not ...:
            return False
    return True


def _holds(each: Property, value: Any, args: Args) -> bool:
    try:
        return bool(each.holds(value, *args))
    except Exception:  # the value is not even of the right kind
        return False


def _fill(text: str) -> str:
    return textwrap.fill(text, MAX_COLUMNS, break_long_words=False)
