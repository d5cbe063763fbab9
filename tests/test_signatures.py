"""Any value in any place of any public function, derived from its signature.

A value of the annotation's kind is answered, or refused with a UserError; one of another kind is
refused. Nothing else comes out: no error from inside, no number that is none, no memory that is
used up, no waiting. A chart is drawn. A new function is tried without being named here; where no
sound argument is known for one of its parameters, the test says so
(`tests.helpers.sound_arguments`).
"""

import importlib
import os
import resource
import signal
import types
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import altair as alt
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from matplotlib.axes import Axes

import attention_laws
from lessonkit.charts.renderer import to_mime_bundle
from lessonkit.charts.schedule import schedule_explorer
from tests.helpers.odd_values import edges, holds_infinity, is_finite, other_kinds
from tests.helpers.signatures import PACKAGES, PublicFunction, call, public_functions
from transformer.support.errors import UserError

MAX_BYTES = 3 * 2**30  # that a call may use
MAX_MESSAGE_LENGTH = 700  # the names of all recipes are 500


class Effort(NamedTuple):
    """How much is tried, in values and in seconds of the processor."""

    examples: int  # that each parameter is given
    call_seconds: float  # after which a call is stopped
    function_seconds: float  # after which a function is given no more


@dataclass
class Budget:
    """The processor's time that is left to a function."""

    seconds: float


# What is slow by its nature is tried less often on each change: no list names it.
PLAIN = Effort(examples=2, call_seconds=1, function_seconds=0.2)
WEEKLY = Effort(examples=100, call_seconds=10, function_seconds=120)
# What waits for other processes is stopped by the clock, in the plain run alone.
MAX_PLAIN_WAIT = 10  # seconds

# A network's step passes these on from part to part, and no person writes them: a look at each
# would cost every step something.
PASSED_ON = {"return_weights", "return_hidden", "cache", "sublayer"}
# How long a training lasts, or is prepared by a compiler, is said here: any time was asked for.
LAST_AS_ASKED = {"recipe", "config", "compiled"}


@contextmanager
def limited(effort: Effort) -> Iterator[None]:
    """Limit the memory and the processor's time of what runs inside."""

    def stop(*_: Any) -> None:
        raise TimeoutError(f"more than {effort.call_seconds} seconds")

    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + MAX_BYTES, hard))
    before = {number: signal.signal(number, stop) for number in (signal.SIGPROF, signal.SIGALRM)}
    # Again each second, since Python ignores what some of its callbacks raise.
    signal.setitimer(signal.ITIMER_PROF, effort.call_seconds, 1)
    signal.setitimer(signal.ITIMER_REAL, MAX_PLAIN_WAIT if effort is PLAIN else 0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def processor_seconds() -> float:
    """Return the processor time of this process and of its children so far."""
    return sum(os.times()[:4])


def outcome(function: PublicFunction, arguments: dict[str, Any], effort: Effort) -> Any:
    """Return what a call returns, read to its end, entered or drawn."""
    with limited(effort), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = call(function, arguments)
        if isinstance(result, types.GeneratorType):
            result = list(islice(result, 3))
        elif hasattr(result, "__enter__"):
            with result:
                pass
        elif isinstance(result, Axes):
            result.figure.canvas.draw()
        elif isinstance(result, alt.TopLevelMixin):
            result.to_dict()
    return result


def shortcoming(
    function: PublicFunction, arguments: dict[str, Any], of_other_kind: bool, effort: Effort
) -> str | None:
    """Return what is wrong with the outcome of a call; None if nothing is."""
    try:
        result = outcome(function, arguments, effort)
        # Whatever a model raises is reported by the laws, and so is what is no model.
        if isinstance(result, attention_laws.Report) and result.mistake:
            raise UserError(result.stopped)
    except (UserError, attention_laws.errors.UserError) as error:
        is_one_line = len(str(error)) < MAX_MESSAGE_LENGTH and "\n" not in str(error)
        return None if is_one_line else f"a message of many lines: {error}"
    except TimeoutError as error:
        return str(error) if effort is WEEKLY else None
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if of_other_kind:
        return "answered"
    if not is_finite(result) and not any(map(holds_infinity, arguments.values())):
        return f"no finite number: {result}"
    return None


def shortcomings(package: str, of_other_kind: bool, effort: Effort) -> Iterator[str]:
    """Yield what is wrong with a package's functions, each argument replaced in turn."""
    for function in public_functions(package):
        budget = Budget(effort.function_seconds)
        for parameter, hint in function.hints.items():
            if parameter not in PASSED_ON and (of_other_kind or parameter not in LAST_AS_ASKED):
                yield from shortcomings_of(function, parameter, hint, of_other_kind, effort, budget)


def shortcomings_of(
    function: PublicFunction,
    parameter: str,
    hint: Any,
    of_other_kind: bool,
    effort: Effort,
    budget: Budget,
) -> list[str]:
    """Return what is wrong with the outcomes of a function for odd values of a parameter.

    Once the budget is spent no more is tried.
    """
    sound = function.sound_value(parameter)
    values = other_kinds(hint) if of_other_kind else edges(hint, sound)
    found: list[str] = []

    @settings(
        max_examples=effort.examples,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(values)
    def try_value(value: Any) -> None:
        if budget.seconds < 0:
            return
        arguments = {**function.sound(), parameter: value}
        begun = processor_seconds()
        wrong = shortcoming(function, arguments, of_other_kind, effort)
        budget.seconds -= processor_seconds() - begun
        if wrong:
            found.append(f"{function.name}({parameter}={value!r:.200}): {wrong:.300}")

    # There may be no such value: anything is of the kind of `Any`.
    with suppress(Unsatisfiable):
        try_value()
    return found


CASES = pytest.mark.parametrize(
    ("package", "of_other_kind"),
    [(package, of_other_kind) for package in PACKAGES for of_other_kind in (False, True)],
)


# A call whose time is up may be stopped inside a callback, such as the one with which Hypothesis
# counts garbage collections; what it raises there is ignored, and the call stopped a second later.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture(autouse=True, scope="module")
def slow_libraries() -> None:
    """Begin what takes seconds, or much address space, before calls are limited in both."""
    importlib.import_module("spacy")
    importlib.import_module("torch.utils.benchmark")
    # The first optimizer imports this; cut short, it would stay half imported.
    importlib.import_module("torch._dynamo")
    to_mime_bundle(schedule_explorer().to_dict())


@pytest.fixture(autouse=True)
def folder_with_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder with what the sound arguments and the odd ones name."""
    (tmp_path / "log.jsonl").write_text("{}\n")
    (tmp_path / "garbage.json").write_text("{")
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
@CASES
def test_odd_arguments_are_answered_or_refused(package: str, of_other_kind: bool) -> None:
    found = list(shortcomings(package, of_other_kind, PLAIN))
    assert not found, "\n".join(found)


@pytest.mark.weekly
@CASES
def test_many_more_odd_arguments(package: str, of_other_kind: bool) -> None:
    found = list(shortcomings(package, of_other_kind, WEEKLY))
    assert not found, "\n".join(found)
