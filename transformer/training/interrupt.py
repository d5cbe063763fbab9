"""Ctrl-C in the middle of a run: the step in hand is ended first."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

NOTED = "stopping after this step; Ctrl-C again stops at once and loses what is not saved"


@contextmanager
def noted_interrupt(say: bool = True) -> Iterator[list[int]]:
    """Note the first Ctrl-C, with a line that says so if `say`; the second one interrupts.

    So no update of the weights is left half done. SIGTERM counts as Ctrl-C where it is set to
    interrupt. Other handlers are left alone, as are all in another thread than the main one. The
    list that it gives is empty until Ctrl-C is pressed.
    """
    pressed: list[int] = []
    interrupt, main = signal.default_int_handler, threading.main_thread()
    signals = [
        each
        for each in (signal.SIGINT, signal.SIGTERM)
        if signal.getsignal(each) is interrupt and threading.current_thread() is main
    ]

    def note(number: int, frame: FrameType | None) -> None:
        pressed.append(number)
        for each in signals:
            signal.signal(each, interrupt)
        # To sys.stderr, since a notebook shows that and not descriptor 2. Where the signal came
        # in the middle of another line, Python refuses this one (RuntimeError): it is left out.
        with suppress(RuntimeError, OSError):
            if say:
                print(NOTED, file=sys.stderr, flush=True)

    for each in signals:
        signal.signal(each, note)
    try:
        yield pressed
    finally:
        for each in signals:
            signal.signal(each, interrupt)
