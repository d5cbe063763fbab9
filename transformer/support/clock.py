"""The seconds that the processor works, on one thread where that is asked for.

What else runs on the machine does not count, but for what it does to the caches.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute on one thread, so that the processor's seconds are those of the work."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def seconds_of(work: Callable[[], object]) -> float:
    """Give the seconds in which the processor worked for one call."""
    started = time.process_time()
    work()
    return time.process_time() - started


def cpu_seconds(work: Callable[[], object], rounds: int = 5) -> float:
    """Give the fewest seconds that the processor worked for one call, of some rounds."""
    work()  # what is slow the first time
    return min(seconds_of(work) for _ in range(rounds))


class Timed(TorchDispatchMode):
    """Adds up the seconds of PyTorch's operations while it is entered, by kind of work.

    Args:
        kind_of: Gives the kind of work, from the operation's name ("aten::mm") and what it was
            given and gave.

    Attributes:
        seconds: By kind of work.
    """

    def __init__(self, kind_of: Callable[[str, Any], str]) -> None:
        super().__init__()
        self.kind_of = kind_of
        self.seconds: dict[str, float] = defaultdict(float)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        started = time.process_time()
        result = func(*args, **(kwargs or {}))
        took = time.process_time() - started
        self.seconds[self.kind_of(func._schema.name, (args, result))] += took
        return result
