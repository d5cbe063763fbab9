"""What the command line asks of the process that runs it: its streams, its signals.

Not in the paper.
"""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator


def check_streams() -> bool:
    """Tell, in a line, where standard output is closed: what a command gives would be lost.

    A closed standard input stays None: only `translate` reads it, and says so. The numbers of
    closed streams are taken, for else the next file to be opened would get what they are sent.

    Returns:
        Whether the command can begin.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free: this one
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", encoding="utf-8")
    if sys.stdout is None:
        print("error: standard output is closed: give it a place, > out.txt", file=sys.stderr)
        return False
    return True


@contextlib.contextmanager
def request_to_end_as_interrupt() -> Iterator[None]:
    """Let SIGTERM, which `kill` and a machine that shuts down send, do what Ctrl-C does.

    Where it is ignored or handled by someone else, or in another thread than the main one,
    nothing changes.
    """
    before = signal.getsignal(signal.SIGTERM)
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or before is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
