"""What a user can get wrong, said in one line with the remedy (no torch in here)."""

import contextlib
import os
import sys
import traceback
from collections.abc import Callable, Iterable
from difflib import get_close_matches

MISTAKE = 2  # exit status after what the user gave was wrong
FAULT = 70  # exit status after a mistake of the course's own; sysexits.h calls it EX_SOFTWARE
INTERRUPTED = 130  # exit status that a shell expects of a program stopped by Ctrl-C


class UserError(ValueError):
    """A mistake in what the user gave: input, name, file or setting.

    The command line prints its message as one line and exits with status 2.
    The message names the value, the limit and the remedy.
    """


def unknown_name(kind: str, name: str, known: Iterable[str]) -> UserError:
    """Build the error for a name that is not known, with the nearest one.

    What was named is said in a word: "recipe", "corpus", "split", "key".
    """
    options = sorted(known)
    near = get_close_matches(name, options, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return UserError(f"unknown {kind} {name!r}: {hint}(known: {', '.join(options)})")


def is_out_of_memory(error: BaseException) -> bool:
    """Tell whether something was raised because it did not fit in memory.

    The GPU has a class of error for it; PyTorch's on the CPU is known by its allocator's name.
    """
    named = type(error).__name__ == "OutOfMemoryError" or "DefaultCPUAllocator" in str(error)
    return named or isinstance(error, MemoryError)


def exit_status(command: Callable[[], int], show_traceback: bool = False) -> int:
    """Carry out a command, and say in one line what stopped it.

    Args:
        command: Gives its exit status, or raises.
        show_traceback: Print Python's traceback before that line.

    Returns:
        That status; `MISTAKE` after a `UserError`, where a file or standard output cannot
        be read or written, or where the memory does not suffice; `INTERRUPTED` after Ctrl-C;
        `FAULT` after anything else, which is the course's own mistake.
    """
    try:
        status = command()
        sys.stdout.flush()
        return status
    except (Exception, KeyboardInterrupt) as error:
        try:
            sys.stdout.flush()
        except OSError:  # drop what it cannot take: Python would fail on it again at its end
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if show_traceback:
            traceback.print_exc()
        status, line = _explain(error)
        if line:
            with contextlib.suppress(OSError):  # standard error may be full too
                print(" ".join(line.split()), file=sys.stderr, flush=True)
        return status


def _explain(error: BaseException) -> tuple[int, str]:
    """Give the exit status and the line for what stopped a command; no line where none is due."""
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED, "stopped"
    if isinstance(error, UserError):
        return MISTAKE, f"error: {error}"
    if isinstance(error, BrokenPipeError):  # a reader that has read enough is no mistake
        return MISTAKE, ""
    if isinstance(error, OSError):
        return MISTAKE, f"error: cannot go on: {error}"
    if is_out_of_memory(error):
        return MISTAKE, (
            "error: out of memory; what was saved before is kept: "
            "give a smaller model, batch or beam, or a machine with more memory"
        )
    return FAULT, (
        f"error: {type(error).__name__}: {error}; this is a mistake of the course's own, not "
        "yours, and what was saved before is kept: please report it to its authors, with the "
        "command and what it prints with --traceback (python -m transformer --traceback ...)"
    )


def warnings_in_one_line() -> Callable[..., None]:
    """Give a printer of warnings: each text once, in one line, without the place in the code."""
    shown = set()

    def show(message: Warning | str, *_: object, **__: object) -> None:
        text = " ".join(str(message).split())
        if text not in shown:
            print(f"warning: {text}", file=sys.stderr)
        shown.add(text)

    return show
