"""An exercise: it judges an answer, gives hints, and shows a solution.

Not in the paper. `check` never raises, whatever the answer does; it only cannot end a loop
that runs for ever without asking anything of the exercise (interrupt the kernel).
"""

import ast
import contextlib
import copy
import dis
import inspect
import itertools
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any, Literal

from lessonkit.exercises.compare import VALUES_DIFFER, show
from lessonkit.exercises.diagnosis import Tried, measured
from lessonkit.exercises.keep import keep, note
from lessonkit.exercises.outcome import (
    Answer,
    Args,
    Outcome,
    Rule,
    alike,
    article,
    run,
    sealed,
    shown,
    try_difference,
)

PREFIX = "my_"  # of the function that a learner fills in
REPEATED = 3  # cases, once all have passed
CHANGES = "a case that passed is wrong when it is asked again: what is kept between calls"
MAX_COLUMNS = 76  # of a text, so that it needs no scrolling
NOTHING_DONE = {"RESUME", "NOP", "RETURN_VALUE"}  # steps of a function of dots alone

Status = Literal["passed", "not attempted", "wrong", ""]


@dataclass(frozen=True)
class Text:
    """What an exercise says; a notebook shows it as plain text."""

    text: str  # the words, lines broken
    status: Status = ""  # of an answer; "" of a hint or solution

    def __repr__(self) -> str:
        return self.text  # this is what a notebook prints


class Exercise:
    """A function to fill in, with all that is needed to judge and to help.

    Args:
        reference: A right answer, called `my_` and the exercise's name. It is shown as the
            solution: it needs nothing but its arguments and imported modules.
        words: The lesson's (see `asking.read_words`), with the exercise's `minutes`,
            `difficulty` and `hints`, and in `wrong` mistakes by name: a hint, and the edit of the
            reference's text that makes the mistake: old, new, perhaps several in a row.
        worked: Cases worked by hand: (arguments, value).
        cases: Further arguments, many of them small, so that the smallest one fails.
        expected: Gives the right value by another way than `reference`.
        properties: What every right answer has: a sentence without its full stop, and a
            function of the answer's value and the arguments of the case.
        rules: Each gives a context that watches an answer, and raises `BrokenRuleError`.
        kept: Whether an answer that passes is a part of the learner's own file (see `keep`).
    """

    def __init__(
        self,
        reference: Answer,
        words: Mapping[str, Any],
        *,
        cases: Sequence[Args],
        expected: Answer,
        worked: Sequence[tuple[Args, Any]] = (),
        properties: Mapping[str, Callable[..., bool]] | None = None,
        rules: Sequence[Rule] = (),
        kept: bool = False,
    ) -> None:
        self.name = reference.__name__.removeprefix(PREFIX)
        self.handle = f"ex.{self.name}"  # as a notebook calls it
        said = words["exercises"][self.name]
        self.minutes, self.difficulty = said["minutes"], said["difficulty"]
        self.hints = said["hints"]
        self.hints_of = {name: hint for name, (hint, *_) in said["wrong"].items()}
        self.wrong = {name: edits for name, (_, *edits) in said["wrong"].items()}
        self.reference, self.worked = reference, tuple(worked)
        self.cases, self.expected, self.properties = tuple(cases), expected, properties or {}
        self.rules = rules
        self.right, self.kept = reference, kept  # what a lesson goes on with where nothing passes
        self._hints_given = 0

    def __repr__(self) -> str:
        return (
            f"{self.name} ({self.minutes} minutes, {self.difficulty}): "
            f".check({PREFIX}{self.name}), .hint(), .solution()"
        )

    @cached_property
    def judged_cases(self) -> list[tuple[Args, Any]]:
        """Every case with its right value, smallest first."""
        given = [
            *self.worked,
            *((args, self.expected(*copy.deepcopy(args))) for args in self.cases),
        ]
        return sorted(given, key=lambda case: len(show(case[0])))

    @cached_property
    def mistakes(self) -> dict[str, Answer]:
        """The wrong answers, by name."""
        return {name: edited(self.reference, *edits) for name, edits in self.wrong.items()}

    @property
    def blank(self) -> str:
        """The cell that a lesson gives to fill in."""
        return f"{self._header}\n    # your answer\n    ...\n\n\n{self.call}"

    @property
    def gap(self) -> str:
        """The same cell in the midst of a lesson, which goes on with the answer."""
        answer = f"{self.name} = ex.{self.name}.accept({PREFIX}{self.name})"
        return f"{self._header}\n    # your answer\n    ...\n\n\n{answer}"

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

        What it prints in that case is shown with the verdict.
        """
        with sealed():
            said = self._judge(answer)
        if said.status == "passed" and getattr(answer, "__module__", None) == "__main__":
            note("right", self.name)
        return said

    def _judge(self, answer: Any) -> Text:
        if self.is_open(answer):
            text = f"{self.name}: not attempted. Put your answer in place of the dots."
            return Text(text, "not attempted")
        if says := self._misfit(answer):
            return Text(f"{self.name}: wrong. {says}", "wrong")
        fault = self._first_fault(answer)
        if fault:
            return self._refuse(answer, fault)
        again = list(itertools.islice(self._tries(answer), REPEATED))
        smallest = again[0].outcome
        if fault := next((tried for tried in again if tried.complaint), None):
            return self._refuse(answer, fault._replace(complaint=f"{CHANGES}: {fault.complaint}"))
        passed = f"{self.name}: passed, {len(self.judged_cases)} cases."
        return Text("\n".join([passed, *smallest.printed_rows()]), "passed")

    def _misfit(
        self, answer: Any, is_one: Callable[[Any], bool] = callable, a: str = "a function"
    ) -> str:
        """Say why something is no answer at all; "" where it is one."""
        name = self.reference.__name__
        how = f"Write .check({name}), with no brackets after the name."
        return "" if is_one(answer) else f"It was given {article(answer)}, not {a}.\n{how}"

    def is_open(self, answer: Any) -> bool:
        """Say whether nothing was filled in."""
        return is_blank(answer)

    def runner(self, answer: Any) -> Answer:
        """Give what takes a case's arguments and has the answer's outcome: the answer itself."""
        checked: Answer = answer
        return checked

    def accept(self, answer: Any) -> Any:
        """Check an answer; return it if it passes, else the course's, and say which.

        An answer that passes is written into the learner's file, where this exercise is kept.
        """
        said = self.check(answer)
        passed = said.status == "passed"
        whose = "YOUR" if passed and answer is not self.right else "THE COURSE'S"
        in_a_cell = getattr(answer, "__module__", None) == "__main__"
        where = f", kept in {keep(answer)}" if passed and self.kept and in_a_cell else ""
        print(f"{said}\nFrom here on: {whose} {self.name}{where}.")
        return answer if passed else self.right

    def passes(self, answer: Answer) -> bool:
        """Say whether an answer passes, and look for no advice."""
        with sealed():
            return self._first_fault(answer) is None

    def hint(self) -> Text:
        """Give the next hint, a plainer one each time; the last one again at the end."""
        self._hints_given = min(self._hints_given + 1, len(self.hints))
        number = self._hints_given
        lines = [f"Hint {number} of {len(self.hints)}. {self.hints[number - 1]}"]
        if number == len(self.hints):
            lines.append(f"After this one there is {self.handle}.solution().")
        return Text("\n".join(map(fill, lines)))

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

    def outcomes(self, answer: Answer) -> Iterator[Outcome]:
        """Run an answer on every case, from the smallest on."""
        return (run(self.runner(answer), args, self.rules) for args, _ in self.judged_cases)

    def _measured(self, answer: Any, tries: Sequence[Tried]) -> str:
        """Say what can be measured of an answer; "" where nothing is clear."""

        def again(*args: Any) -> Tried:
            right = self.expected(*copy.deepcopy(args))
            known = run(self.runner(self.reference), args, self.rules)
            if known.stopped or try_difference(known.value, right):
                raise ValueError("no case: there is more than one right value")
            outcome = run(self.runner(answer), args, self.rules)
            return Tried(args, right, outcome, self._complaint(outcome, args, right))

        return measured(tries, list(inspect.signature(self.reference).parameters), again)

    def judged(self, outcomes: Iterable[Outcome]) -> Iterator[Tried]:
        """Judge what an answer did with every case."""
        for (args, right), outcome in zip(self.judged_cases, outcomes, strict=False):
            yield Tried(args, right, outcome, self._complaint(outcome, args, right))

    def _tries(self, answer: Answer) -> Iterator[Tried]:
        return self.judged(self.outcomes(answer))

    def _first_fault(self, answer: Answer) -> Tried | None:
        return next((tried for tried in self._tries(answer) if tried.complaint), None)

    def _complaint(self, outcome: Outcome, args: Args, right: Any) -> str:
        """Say in a clause what is wrong with an outcome; "" where nothing is."""
        if outcome.stopped:
            return outcome.broken or f"it raises {outcome.error}"
        if outcome.changed:
            return "it changes what it was given: work on a copy"
        differs = try_difference(outcome.value, right)
        if differs not in ("", VALUES_DIFFER):
            return differs
        for says, holds in self.properties.items():
            is_so = False
            with contextlib.suppress(Exception):  # the value is not even of the right kind
                is_so = bool(holds(outcome.value, *args))
            if not is_so:
                return says
        return differs

    def _refuse(self, answer: Answer, fault: Tried) -> Text:
        stop = "" if fault.complaint.endswith((".", "?", "!")) else "."
        lines = [fill(f"{self.name}: wrong; {fault.complaint}{stop}"), *self._shown(fault)]
        if "no gradient" not in fault.outcome.broken:  # which says all there is to say
            lines += map(fill, self._advice(answer))
        return Text("\n".join(lines), "wrong")

    def _shown(self, fault: Tried) -> list[str]:
        """Write down a case, what the answer did with it, and what is right."""
        return [
            "The smallest case that shows it:",
            f"    call      {self.reference.__name__}({', '.join(map(show, fault.args))})",
            *fault.outcome.rows(),
            f"    expected  {shown(fault.right)}",
        ]

    def _advice(self, answer: Answer) -> list[str]:
        """Say which mistake does the same in every case; where none does, what can be measured."""
        mine = list(self._tries(answer))
        for name, made in self._known.items():
            if all(map(alike, (each.outcome for each in mine), (each.outcome for each in made))):
                return [self.hints_of[name]]
        found = ""
        with contextlib.suppress(Exception):  # the values may refuse whatever is asked of them
            found = self._measured(answer, mine)
        return [*[found] * bool(found), f"{self.handle}.hint() gives a hint."]

    @cached_property
    def _known(self) -> dict[str, list[Tried]]:
        """What every named mistake does in each case."""
        return {name: list(self._tries(answer)) for name, answer in self.mistakes.items()}


def edited(thing: Any, *edits: str) -> Any:
    """Give a function or class with its text changed: old texts, each found once, and new ones."""
    source = textwrap.dedent(inspect.getsource(thing))
    for old, new in zip(edits[::2], edits[1::2], strict=True):
        if source.count(old) != 1:
            number = source.count(old)
            raise ValueError(f"{old!r} stands {number} times in {thing.__name__}, not once")
        source = source.replace(old, new)
    names = dict(vars(sys.modules[thing.__module__]))
    exec(compile(source, "<edited>", "exec"), names)
    return names[thing.__name__]


def is_blank(given: Any) -> bool:
    """Say whether nothing was filled in: nothing, an empty text, or a function of dots alone."""
    if given is None or given is ... or (isinstance(given, str) and not given.strip()):
        return True
    if not inspect.isfunction(given):
        return False
    steps = [step for step in dis.get_instructions(given) if step.opname not in NOTHING_DONE]
    constants = {"LOAD_CONST", "RETURN_CONST"}
    return all(step.opname in constants and step.argval in (None, ...) for step in steps)


def fill(text: str, head: str = "") -> str:
    """Break a text into lines that need no scrolling, the first one after `head`."""
    return textwrap.fill(
        text,
        MAX_COLUMNS,
        initial_indent=head,
        subsequent_indent=" " * len(head),
        break_long_words=False,
        break_on_hyphens=False,
    )
