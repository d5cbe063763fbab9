"""Any value in any place of any public function, derived from its signature.

A value of the annotation's kind is answered, or refused with a UserError; one of another kind is
refused. Nothing else comes out: no error from inside, no number that is none, no memory that is
used up, no waiting. A new function is tried without being named here; where no sound argument is
known for one of its parameters, the test says so (`tests.helpers.sound_arguments`).
"""

import resource
import signal
import types
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable

from tests.helpers.odd_values import edges, holds_infinity, is_finite, other_kinds
from tests.helpers.signatures import PublicFunction, call, public_functions
from transformer.support.errors import UserError

MAX_SECONDS = 10  # of the processor, for one call
MAX_BYTES = 3 * 2**30  # that a call may use
MAX_MESSAGE_LENGTH = 700  # the names of all recipes are 500

# A network's step passes these on from part to part, and no person writes them: a look at each
# would cost every step something.
PASSED_ON = {"return_weights", "cache", "sublayer"}
# How long a training lasts, or is prepared by a compiler, is said here: any time was asked for.
LAST_AS_ASKED = {"recipe", "config", "compiled"}
# By their nature these take seconds, so that only the weekly test gives them what they take.
TAKE_SECONDS = {
    "ablation_explorer",
    "attention_widget",
    "evaluate_translator",
    "measure_this_machine",
    "run_script_in_two_processes",
    "to_mime_bundle",
    "trace_explorer",
    "train_recipe",
}


@contextmanager
def limited() -> Iterator[None]:
    """Limit the memory and the processor's time of what runs inside."""

    def stop(*_: Any) -> None:
        raise TimeoutError(f"more than {MAX_SECONDS} seconds")

    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + MAX_BYTES, hard))
    before = signal.signal(signal.SIGPROF, stop)
    # Again each second, since Python ignores what some of its callbacks raise.
    signal.setitimer(signal.ITIMER_PROF, MAX_SECONDS, 1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def outcome(function: PublicFunction, arguments: dict[str, Any]) -> Any:
    """Return what a call returns, read to its end or entered."""
    with limited(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = call(function, arguments)
        if isinstance(result, types.GeneratorType):
            result = list(islice(result, 3))
        elif hasattr(result, "__enter__"):
            with result:
                pass
    return result


def shortcoming(
    function: PublicFunction, arguments: dict[str, Any], of_other_kind: bool
) -> str | None:
    """Return what is wrong with the outcome of a call; None if nothing is."""
    try:
        result = outcome(function, arguments)
    except UserError as error:
        is_one_line = len(str(error)) < MAX_MESSAGE_LENGTH and "\n" not in str(error)
        return None if is_one_line else f"a message of many lines: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if of_other_kind:
        return "answered"
    if not is_finite(result) and not any(map(holds_infinity, arguments.values())):
        return f"no finite number: {result}"
    return None


def shortcomings(package: str, of_other_kind: bool, examples: int, weekly: bool) -> Iterator[str]:
    """Yield what is wrong with a package's functions, each argument replaced in turn."""
    for function in public_functions(package):
        name = function.name.split(".")[-1]
        if name in TAKE_SECONDS and not (of_other_kind or weekly):
            continue
        for parameter, hint in function.hints.items():
            if parameter not in PASSED_ON and (of_other_kind or parameter not in LAST_AS_ASKED):
                yield from shortcomings_of(function, parameter, hint, of_other_kind, examples)


def shortcomings_of(
    function: PublicFunction, parameter: str, hint: Any, of_other_kind: bool, examples: int
) -> list[str]:
    """Return what is wrong with the outcomes of a function for odd values of a parameter."""
    sound = function.sound_value(parameter)
    values = other_kinds(hint) if of_other_kind else edges(hint, sound)
    found: list[str] = []

    @settings(
        max_examples=examples,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(values)
    def try_value(value: Any) -> None:
        wrong = shortcoming(function, {**function.sound(), parameter: value}, of_other_kind)
        if wrong:
            found.append(f"{function.name}({parameter}={value!r:.200}): {wrong:.300}")

    # There may be no such value: anything is of the kind of `Any`.
    with suppress(Unsatisfiable):
        try_value()
    return found


CASES = pytest.mark.parametrize(
    ("package", "of_other_kind"),
    [("transformer", of_other_kind) for of_other_kind in (False, True)],
)


@pytest.fixture(autouse=True)
def folder_with_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder with what the sound arguments and the odd ones name."""
    (tmp_path / "log.jsonl").write_text("{}\n")
    (tmp_path / "garbage.json").write_text("{")
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
@CASES
def test_odd_arguments_are_answered_or_refused(package: str, of_other_kind: bool) -> None:
    found = list(shortcomings(package, of_other_kind, examples=4, weekly=False))
    assert not found, "\n".join(found)


@pytest.mark.weekly
@CASES
def test_many_more_odd_arguments(package: str, of_other_kind: bool) -> None:
    found = list(shortcomings(package, of_other_kind, examples=100, weekly=True))
    assert not found, "\n".join(found)
