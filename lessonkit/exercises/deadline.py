"""A limit on the time of one case, which ends a loop that would run for ever (not in the paper)."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

from lessonkit.exercises.rules import BrokenRuleError

DEFAULT_SECONDS_PER_CASE = 20.0  # a right answer takes thousandths


class DeadlineError(BrokenRuleError):
    """An answer was still running when its time was up."""


@contextlib.contextmanager
def limiting_seconds(seconds: float) -> Iterator[None]:
    """Stop what runs inside after some seconds.

    There is no limit on Windows, nor outside the main thread, and a single call of a library is
    not cut short: there the kernel has to be interrupted.

    Raises:
        DeadlineError: the time was up. It comes again as long as an answer catches it.
    """
    if (
        not hasattr(signal, "setitimer")
        or threading.current_thread() is not threading.main_thread()
    ):
        yield
        return
    is_over = False

    def raise_if_running(number: int, frame: FrameType | None) -> None:
        if not is_over:
            raise DeadlineError(f"it still runs after {seconds:g} seconds: does your loop end?")

    handler = signal.signal(signal.SIGALRM, raise_if_running)
    timer = signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
    try:
        yield
    finally:
        is_over = True
        signal.setitimer(signal.ITIMER_REAL, *timer)
        signal.signal(signal.SIGALRM, handler)
