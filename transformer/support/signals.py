"""Ctrl-C and requests to end, as a command takes them: one way out (no torch in here)."""

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any, NoReturn

from transformer.support.errors import EXIT_INTERRUPTED, TERMINATION_SIGNALS

IMPORT_SYSTEM_FILE = "<frozen importlib._bootstrap>"  # whose code every import runs
INTERRUPTION_SIGNALS = (signal.SIGINT, *TERMINATION_SIGNALS)
_raised: list[int] = []  # the signals for which `raise_or_exit` has raised


def raise_or_exit(number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt at a first signal; end the process at a second.

    It also ends the process while Python imports: there is nothing to keep then, and an import that
    is interrupted leaves half a module, or hides the interrupt behind an error of its own.
    """
    if _raised or _is_importing(frame):
        _exit_at_once()
    _raised.append(number)
    raise KeyboardInterrupt


def was_interrupted() -> bool:
    """Return whether `raise_or_exit` has raised, whatever became of the exception."""
    return bool(_raised)


def handle_interrupts() -> None:
    """Let `raise_or_exit` take Ctrl-C and `TERMINATION_SIGNALS`; call it before heavy imports.

    A signal that is ignored (`nohup`, a job in the background) or has a handler stays as it is.
    """
    _raised.clear()
    for number in INTERRUPTION_SIGNALS:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, raise_or_exit)
    sys.unraisablehook = _exit_on_unraisable_interrupt


def ignore_interrupts() -> None:
    """Let no signal that `raise_or_exit` takes do anything from here on."""
    for number in INTERRUPTION_SIGNALS:
        if signal.getsignal(number) is raise_or_exit:
            signal.signal(number, signal.SIG_IGN)


def run_and_exit(run: Callable[[], int]) -> NoReturn:
    """Run a command, and end this process with the status that it returns.

    When it has returned, no signal changes the status any more.
    """
    handle_interrupts()
    try:
        try:
            status = run()
        finally:
            ignore_interrupts()
    # A signal came before the command minded it, or just as it ended.
    except KeyboardInterrupt:
        _exit_at_once()
    sys.exit(status)


def _is_importing(frame: FrameType | None) -> bool:
    """Return whether a frame, or one that called it, belongs to an import."""
    while frame is not None:
        if frame.f_code.co_filename == IMPORT_SYSTEM_FILE:
            return True
        frame = frame.f_back
    return False


def _exit_at_once() -> NoReturn:
    """Print that the command was stopped, and end the process without any more of its code."""
    with suppress(OSError):  # a closed standard error
        os.write(2, b"stopped\n")
    os._exit(EXIT_INTERRUPTED)


def _exit_on_unraisable_interrupt(unraisable: Any) -> None:
    """End the process where KeyboardInterrupt was raised in a destructor, which would drop it."""
    if isinstance(unraisable.exc_value, KeyboardInterrupt):
        _exit_at_once()
    sys.__unraisablehook__(unraisable)
