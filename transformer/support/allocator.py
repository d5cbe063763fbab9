"""Memory that a program gives back and takes again at once (not in the paper)."""

import ctypes
import sys

# From glibc's malloc.h.
_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4
_NEVER = 2**31 - 1


def keep_freed_memory() -> bool:
    """Ask the C library to keep what is freed, for the rest of this process.

    A training step takes and frees the same large tensors again and again. By default glibc gives
    each back to the system, which must fill its pages with zeros when it is asked for them anew.
    Kept, they cost nothing; the process stays as large as it once was.

    Returns:
        Whether it was done: only glibc, which most Linux systems have, can be asked.
    """
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:  # another C library
        return False
    return bool(mallopt(_M_MMAP_MAX, 0) and mallopt(_M_TRIM_THRESHOLD, _NEVER))
