"""A command as a process of the system: its exit status, its line of error, its memory."""

import ctypes
import errno
import importlib.util
import os
import sys
import traceback
from collections.abc import Callable

from transformer.support.errors import (
    EXIT_INTERRUPTED,
    EXIT_USER_ERROR,
    UserError,
    is_out_of_memory,
)
from transformer.support.signals import was_interrupted

EXIT_BUG = 70  # after a mistake of the course's own; sysexits.h calls it EX_SOFTWARE


def run_to_exit_status(command: Callable[[], int], show_traceback: bool = False) -> int:
    """Run a command, and print in one line what stopped it, after Python's traceback if asked.

    Returns:
        The command's own status, `EXIT_USER_ERROR` (also if a file, the memory or a package that is
        not installed stopped it), `EXIT_INTERRUPTED` or `EXIT_BUG`.
    """
    try:
        status = command()
        sys.stdout.flush()
        return status
    except (Exception, KeyboardInterrupt) as error:
        try:
            sys.stdout.flush()
        except OSError:
            # Drop what standard output cannot take: Python would fail on it again at its end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if show_traceback:
            traceback.print_exc()
        status, line = _exit_status_and_message(error)
        if line:
            print(" ".join(line.split()), file=sys.stderr, flush=True)
        return status


def _exit_status_and_message(error: BaseException) -> tuple[int, str]:
    """Return the exit status and the line for what stopped a command; "" for no line."""
    # A library may turn an interrupt into an error of its own.
    if isinstance(error, KeyboardInterrupt) or was_interrupted():
        return EXIT_INTERRUPTED, "stopped"
    if isinstance(error, UserError):
        return EXIT_USER_ERROR, f"error: {error}"
    # A reader has read enough, `head` for example, which is no mistake.
    if isinstance(error, BrokenPipeError):
        return EXIT_USER_ERROR, ""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return EXIT_USER_ERROR, (
            f"error: cannot go on: {error}: make room, and give the command again; what was saved "
            "before is kept"
        )
    if isinstance(error, OSError):
        return EXIT_USER_ERROR, f"error: cannot go on: {error}"
    if is_out_of_memory(error):
        return EXIT_USER_ERROR, (
            "error: out of memory; what was saved before is kept: give a smaller model or beam, "
            "train in smaller parts (--resume --micro-tokens auto), or take a larger machine"
        )
    if isinstance(error, ModuleNotFoundError) and (package := _missing_package(error)):
        return EXIT_USER_ERROR, (
            f"error: this command needs {package}, which is not installed: in the course's "
            "folder, run python -m pip install -c constraints.txt -e ./attention_laws -e ."
        )
    return EXIT_BUG, (
        f"error: {type(error).__name__}: {error}; this is a mistake of the course's own, not "
        "yours, and what was saved before is kept: please report it to its authors, with the "
        "command and what it prints with --traceback (attention-course --traceback ...)"
    )


def _missing_package(error: ModuleNotFoundError) -> str | None:
    """Return the package that could not be found; None if it is there, and lacks a module."""
    package = (error.name or "").partition(".")[0]
    return package if package and importlib.util.find_spec(package) is None else None


def keep_freed_memory() -> None:
    """Ask the C library, if it is glibc, to keep what is freed, for the rest of this process.

    If the pages of each step's tensors go back to the system, it fills them with zeros each time:
    5 to 10% of a step of the demo.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(-4, 0)  # M_MMAP_MAX
        mallopt(-1, 2**31 - 1)  # M_TRIM_THRESHOLD
