"""A user's mistake: its error of one line, and with which status a program ends (no torch here)."""

import signal
from collections.abc import Iterable
from difflib import get_close_matches
from reprlib import repr as short_repr  # any value in a few dozen characters at most
from typing import Any

EXIT_USER_ERROR = 2  # the user gave something wrong
EXIT_INTERRUPTED = 130  # what a shell expects of a program stopped by Ctrl-C
# `kill` sends the first; a terminal that closes (a dropped ssh) the second. Windows lacks it.
TERMINATION_SIGNALS = [
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)
]

MAX_LISTED_CHARACTERS = 550  # of all known names in an error: those of the recipes fit


class UserError(ValueError):
    """A mistake in what the user gave; its message names the value, the limit and the remedy."""


def describe_value(value: Any) -> str:
    """Return the type and shape of a tensor or an array, the beginning of any other value."""
    if getattr(value, "shape", ()):
        return f"{str(value.dtype).removeprefix('torch.')} of shape {tuple(value.shape)}"
    return short_repr(value)


def unknown_name_error(kind: str, name: Any, known: Iterable[str]) -> UserError:
    """Build the error for an unknown name of a kind ("recipe", "split"), with the nearest one."""
    options = sorted(known)
    nearest = get_close_matches(str(name), options, n=1, cutoff=0.5)
    hint = f"did you mean {nearest[0]!r}? " if nearest else ""
    listed = ", ".join(options)
    if len(listed) > MAX_LISTED_CHARACTERS:
        num_shown = listed[:MAX_LISTED_CHARACTERS].count(", ")
        listed = ", ".join(options[:num_shown]) + f" and {len(options) - num_shown} more"
    return UserError(f"unknown {kind} {short_repr(name)}: {hint}(known: {listed})")


def require(condition: bool, message: str) -> None:
    """Raise a UserError with this message unless the condition holds."""
    if not condition:
        raise UserError(message)


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether memory ran out: Python's own, a GPU's, or PyTorch's on a CPU."""
    of_gpu = type(error).__name__ == "OutOfMemoryError"
    of_torch_on_cpu = "DefaultCPUAllocator" in str(error)
    return isinstance(error, MemoryError) or of_gpu or of_torch_on_cpu
