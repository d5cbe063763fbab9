"""Ctrl-C during training: the first lets the current step finish, the second stops at once."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

from transformer.support.signals import INTERRUPTION_SIGNALS, raise_or_exit
from transformer.training.processes import world_size

STOP_NOTICE = "stopping after this step; Ctrl-C again stops at once and loses what is not saved"


@contextmanager
def deferred_interrupt() -> Iterator[list[int]]:
    """Yield a list that gets the first Ctrl-C, so that no update is left half done.

    The next one interrupts. The others of `INTERRUPTION_SIGNALS` count as Ctrl-C if they are set to
    interrupt. Other handlers are left alone, and so are all outside the main thread.
    """
    received: list[int] = []
    deferred: dict[signal.Signals, Any] = {}  # with the handler of each
    if threading.current_thread() is threading.main_thread():
        for number in INTERRUPTION_SIGNALS:
            handler = signal.getsignal(number)
            if handler in (signal.default_int_handler, raise_or_exit):
                deferred[number] = handler

    def restore_handlers() -> None:
        for number, handler in deferred.items():
            signal.signal(number, handler)

    def receive(number: int, frame: FrameType | None) -> None:
        received.append(number)
        restore_handlers()
        # A notebook shows sys.stderr and not descriptor 2. If the signal came in the middle of
        # another line, Python refuses this one (RuntimeError), and it is left out.
        with suppress(RuntimeError, OSError):
            if world_size() == 1:  # several processes would all print it
                print(STOP_NOTICE, file=sys.stderr, flush=True)

    for number in deferred:
        signal.signal(number, receive)
    try:
        yield received
    finally:
        restore_handlers()
