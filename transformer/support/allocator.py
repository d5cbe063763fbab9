"""Memory that a program gives back and takes again at once (not in the paper)."""

import ctypes
import sys

_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4  # from glibc's malloc.h


def keep_freed_memory() -> None:
    """Ask the C library, if it is glibc, to keep what is freed, for the rest of this process.

    A training step takes and frees the same large tensors again and again. By default glibc gives
    each back to the system, which must fill its pages with zeros when it is asked for them anew:
    5 to 10% of a step of the demo. Kept, they cost nothing; the process stays as large as it was.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(_M_MMAP_MAX, 0)
        mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)
