"""Rules that an exercise can set: an answer that breaks one is stopped (not in the paper).

Each is a context in which the answer runs, and raises `BrokenRuleError`.
"""

import contextlib
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from types import FrameType
from typing import Any

AnswerRuleFactory = Callable[[], AbstractContextManager[Any]]


class BrokenRuleError(Exception):
    """An answer has done what its exercise forbids; the message is a clause that begins "it"."""


@contextlib.contextmanager
def forbidding_calls_of_module(module: str) -> Iterator[None]:
    """Forbid calls of any function of a module, given by its full name."""

    def check_call(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_globals.get("__name__") == module:
            name = frame.f_code.co_name
            raise BrokenRuleError(f"it calls `{name}` of {module}")

    profiler = sys.getprofile()
    sys.setprofile(check_call)
    try:
        yield
    finally:
        sys.setprofile(profiler)
