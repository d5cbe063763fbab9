"""What a user can get wrong, said in one line with the remedy."""

import os
import sys
from collections.abc import Callable, Iterable
from difflib import get_close_matches

MISTAKE = 2  # exit status after what the user gave was wrong
INTERRUPTED = 130  # exit status that a shell expects of a program stopped by Ctrl-C


class UserError(ValueError):
    """A mistake in what the user gave: input, name, file or setting.

    The command line prints its message as one line and exits with status 2.
    The message names the value, the limit and the remedy.
    """


def exit_status(command: Callable[[], int]) -> int:
    """Carry out a command, and say in one line what stopped it.

    Args:
        command: Gives its exit status, or raises.

    Returns:
        That status; `MISTAKE` after a `UserError`, or where a file or standard output cannot
        be read or written; `INTERRUPTED` after Ctrl-C.
    """
    try:
        status = _status(command)
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return INTERRUPTED
    except OSError as error:
        _give_up_output()
        if not isinstance(error, BrokenPipeError):  # a reader that has read enough is no mistake
            print(f"error: cannot go on: {error}", file=sys.stderr)
        return MISTAKE


def _status(command: Callable[[], int]) -> int:
    """Carry out a command, and say a user's mistake in one line."""
    try:
        return command()
    except UserError as error:
        message = " ".join(str(error).split())
        print(f"error: {message}", file=sys.stderr)
        return MISTAKE


def _give_up_output() -> None:
    """Drop what standard output cannot take: Python would fail on it again at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def unknown_name(kind: str, name: str, known: Iterable[str]) -> UserError:
    """Build the error for a name that is not known, with the nearest one.

    Args:
        kind: What was named, in a word: "recipe", "corpus", "split", "key".
        name: What the user gave.
        known: Every name that would have been right.
    """
    options = sorted(known)
    near = get_close_matches(name, options, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return UserError(f"unknown {kind} {name!r}: {hint}(known: {', '.join(options)})")
