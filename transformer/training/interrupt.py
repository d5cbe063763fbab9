"""Ctrl-C that waits for the step in hand."""

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType

NOTED = "stopping after this step; Ctrl-C again stops at once and loses what is not saved"


@contextlib.contextmanager
def noted_interrupt() -> Iterator[list[int]]:
    """Note the first Ctrl-C, with a line that says so; the second one interrupts.

    So that no update of the weights is left half done. Where the signal is handled by
    someone else, or in another thread than the main one, nothing changes.

    Yields:
        A list that is empty until Ctrl-C is pressed.
    """
    pressed: list[int] = []
    handler = signal.getsignal(signal.SIGINT)
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or handler is not signal.default_int_handler:
        yield pressed
        return

    def note(number: int, frame: FrameType | None) -> None:
        pressed.append(number)
        signal.signal(signal.SIGINT, handler)
        # To sys.stderr, since a notebook shows that and not descriptor 2. Where the signal came
        # in the middle of another line, Python refuses this one (RuntimeError): it is left out.
        with contextlib.suppress(RuntimeError, OSError):
            print(NOTED, file=sys.stderr, flush=True)

    signal.signal(signal.SIGINT, note)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, handler)
