"""What an answer does with one case: its value or its error, what it prints, a rule that it breaks.

Not in the paper. Nothing that an answer raises gets past `run_case`, except Ctrl-C.
"""

import contextlib
import copy
import inspect
import io
import linecache
import random
import re
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lessonkit.exercises.array_libraries import Tensor, torch
from lessonkit.exercises.compare import are_identical, describe_difference, format_value
from lessonkit.exercises.deadline import (
    DEFAULT_SECONDS_PER_CASE,
    DeadlineError,
    limiting_seconds,
)
from lessonkit.exercises.rules import AnswerRuleFactory, BrokenRuleError
from lessonkit.exercises.toys import restrict_to_methods

AnswerFunction = Callable[..., Any]
CaseArguments = tuple[Any, ...]

MAX_SHOWN_CHARACTERS = 300  # of a value, an error or a line that is shown
MAX_PRINTED_LINES = 10  # lines
# What tensors that do not fit together raise: PyTorch's functions, and the course's.
SHAPE_ERRORS = {"RuntimeError", "UserError"}
LABELLED_ROW_FORMAT = "    {:9} {}"


@dataclass(frozen=True)
class Outcome:
    """What an answer did with one case."""

    value: Any = None  # what it returned
    error: str = ""  # what it raised, in one line
    line: str = ""  # where in its own cell or file that was, with the line's text
    broken_rule: str = ""  # a clause
    printed: str = ""  # the text that it printed
    changed: bool = False  # whether it changed an argument
    timed_out: bool = False  # whether it was still running when its time was up

    @property
    def stop_cause(self) -> str:
        """What stopped the answer, without its details; "" if nothing did."""
        return re.sub(r"\d+", "", self.broken_rule) or self.error.split(":")[0]

    def stop_line_rows(self) -> list[str]:
        """Return the line at which it stopped, and what its names stood for; [] if nowhere."""
        if not self.line:
            return []
        line, *values = self.line.splitlines()
        heads = ["at", *["there"] * len(values)]
        texts = [line, *values]
        return [LABELLED_ROW_FORMAT.format(*row) for row in zip(heads, texts, strict=True)]

    def learner_value_rows(self) -> list[str]:
        """Return what the answer returned, or raised, under "yours", and what it printed."""
        yours = self.error or ("stopped" if self.broken_rule else format_short(self.value))
        return [LABELLED_ROW_FORMAT.format("yours", yours), *self.answer_stdout_rows()]

    def answer_stdout_rows(self) -> list[str]:
        """Return the first lines that were printed."""
        lines = [truncate_text(line) for line in self.printed.splitlines()]
        if len(lines) > MAX_PRINTED_LINES:
            lines[MAX_PRINTED_LINES:] = [f"... and {len(lines) - MAX_PRINTED_LINES} lines more"]
        heads = ["printed", *[""] * len(lines)]
        return [
            LABELLED_ROW_FORMAT.format(head, line) for head, line in zip(heads, lines, strict=False)
        ]


def run_case(
    answer: AnswerFunction,
    args: CaseArguments,
    rules: Sequence[AnswerRuleFactory] = (),
    seconds: float = DEFAULT_SECONDS_PER_CASE,
) -> Outcome:
    """Call an answer with a copy of the arguments, for some seconds, while the rules watch it."""
    copied = copy.deepcopy(args)
    printed = io.StringIO()
    try:
        with (
            contextlib.redirect_stdout(printed),
            limiting_seconds(seconds),
            contextlib.ExitStack() as watched,
        ):
            for rule in rules:
                watched.enter_context(rule())
            value = answer(*map(restrict_to_methods, copied))
    except (Exception, SystemExit) as error:
        is_broken_rule = isinstance(error, BrokenRuleError)
        return Outcome(
            error="" if is_broken_rule else _format_error(error),
            line=_describe_failing_line(answer, error),
            broken_rule=str(error) if is_broken_rule else "",
            printed=printed.getvalue(),
            timed_out=isinstance(error, DeadlineError),
        )
    return Outcome(value, printed=printed.getvalue(), changed=not are_identical(copied, args))


@contextlib.contextmanager
def fixed_torch_state_context() -> Iterator[None]:
    """Check in a state of PyTorch that is always the same, and leave the learner's as it was."""
    random_state = random.getstate()
    try:
        with _default_torch_settings() if torch else contextlib.nullcontext():
            random.seed(0)
            yield
    finally:
        random.setstate(random_state)


@contextlib.contextmanager
def _default_torch_settings() -> Iterator[None]:
    dtype = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    # Inside `torch.device`, each call of a PyTorch function takes twice as long. Before torch 2.8
    # `get_default_device` knew nothing of such a context: a tensor tells.
    is_on_cpu = torch.empty(0).device.type == "cpu"
    try:
        with (
            torch.inference_mode(False),
            torch.enable_grad(),
            contextlib.nullcontext() if is_on_cpu else torch.device("cpu"),
            torch.autocast("cpu", enabled=False),
            torch.random.fork_rng(devices=[]),
        ):
            torch.manual_seed(0)
            yield
    finally:
        torch.set_default_dtype(dtype)


def outcomes_look_alike(one: Outcome, other: Outcome) -> bool:
    """Return whether two answers did the same with a case, as far as a learner could see it."""
    if one.stop_cause or other.stop_cause:
        causes = {one.stop_cause, other.stop_cause}
        return len(causes) == 1 or causes == SHAPE_ERRORS
    return one.changed == other.changed and not describe_difference_safely(one.value, other.value)


def describe_difference_safely(yours: Any, expected: Any) -> str:
    """Describe what differs, whatever `yours` is: it may be a value that fails when looked at."""
    try:
        return describe_difference(yours, expected)
    except Exception:
        return f"it gives {describe_type(yours)} that cannot be compared"


def format_short(value: Any) -> str:
    """Write a value in one line, shortened if it is long."""
    try:
        return truncate_text(format_value(value))
    except Exception:  # a list that holds itself, say
        return f"<{type(value).__name__}>"


def describe_type(value: Any) -> str:
    """Name a value's type in a clause."""
    return f"a value of type {type(value).__name__}"


def truncate_text(text: str) -> str:
    """Shorten a text to what a screen can hold."""
    return text if len(text) <= MAX_SHOWN_CHARACTERS else text[: MAX_SHOWN_CHARACTERS - 4] + " ..."


def describe_value(value: Any) -> str:
    """Describe a value in a few words: a number by itself, a tensor by its shape."""
    if isinstance(value, Tensor):
        return f"a tensor {tuple(value.shape)}, {str(value.dtype).removeprefix('torch.')}"
    if isinstance(value, list | tuple | dict | set | str) and len(value) > 3:
        return f"a {type(value).__name__} of {len(value)}"
    return format_short(value)


def _format_error(error: BaseException) -> str:
    try:
        words = " ".join(str(error).split())
    except Exception:  # its __str__ is the learner's too
        words = ""
    return truncate_text(f"{type(error).__name__}: {words}" if words else type(error).__name__)


def _describe_failing_line(answer: AnswerFunction, error: BaseException) -> str:
    """Find the last line of the answer's own cell that ran, and what its names stand for there.

    "line 3: best = scores[9]", and in the next row "scores is a list of 4".
    """
    own_file = getattr(getattr(inspect.unwrap(answer), "__code__", None), "co_filename", None)
    steps = traceback.walk_tb(error.__traceback__)
    own_steps = [(frame, number) for frame, number in steps if frame.f_code.co_filename == own_file]
    if not own_steps:
        return ""
    frame, number = own_steps[-1]
    text = linecache.getline(str(own_file), number).strip()
    names = dict.fromkeys(re.findall(r"[A-Za-z_]\w*", text.partition("#")[0]))
    values = {name: frame.f_locals[name] for name in names if name in frame.f_locals}
    described = "; ".join(f"{name} is {describe_value(value)}" for name, value in values.items())
    line = truncate_text(f"line {number}: {text}" if text else f"line {number}")
    return f"{line}\n{truncate_text(described)}" if described else line
