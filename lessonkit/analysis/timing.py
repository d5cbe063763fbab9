"""Seconds of the processor, and the kinds of operations that a training step spends them on.

Not in the paper. The clock is that of the process: what else runs on the machine does not count,
but for what it does to the caches.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from transformer.support.checks import check_sizes
from transformer.support.errors import require
from transformer.support.signatures import check_argument_types

MAX_TIMED_CALLS = 10_000  # of what is timed


@contextmanager
def computing_on_single_thread() -> Iterator[None]:
    """Compute on one thread, so that the processor's seconds are those of the computation."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def process_seconds_of_call(function: Callable[[], object]) -> float:
    """Return the seconds in which the processor worked for one call."""
    started = time.process_time()
    function()
    return time.process_time() - started


@check_argument_types
def min_process_seconds(function: Callable[[], object], rounds: int = 5) -> float:
    """Return the fewest seconds that the processor worked for one call, of some rounds."""
    check_sizes(MAX_TIMED_CALLS, rounds=rounds)
    function()  # what is slow the first time
    return min(process_seconds_of_call(function) for _ in range(rounds))


# How the names of PyTorch's operations begin, by what they do in a training step. What is
# named nowhere (sums, copies, masks, the ReLU) is in `OTHER_OPERATION_KIND`.
OPERATION_PREFIXES_BY_KIND: dict[str, tuple[str, ...]] = {
    "products": ("mm", "addmm", "bmm"),
    "attention": ("_scaled_dot_product", "_softmax", "_safe_softmax"),
    "loss": ("_log_softmax", "amax", "sub_", "exp_", "div_", "gather", "scatter_add"),
    "dropout": ("native_dropout", "bernoulli", "random"),
    "norm": ("native_layer_norm",),
    "Adam": ("_fused_adam", "_foreach_norm", "linalg_vector_norm"),
    "casts": ("_to_copy",),
}
OTHER_OPERATION_KIND = "all else"


def operation_kind(operation: str) -> str:
    """Return an operation's kind ("aten::mm" is one of "products"), or `OTHER_OPERATION_KIND`."""
    name = operation.partition("::")[2]
    for kind, prefixes in OPERATION_PREFIXES_BY_KIND.items():
        if name.startswith(prefixes):
            return kind
    return OTHER_OPERATION_KIND


class OperationKindTimer(TorchDispatchMode):
    """Adds up the seconds of PyTorch's operations by their kind while it is entered."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: dict[str, float] = defaultdict(float)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        started = time.process_time()
        result = func(*args, **(kwargs or {}))
        self.seconds[operation_kind(func._schema.name)] += time.process_time() - started
        return result


@check_argument_types
def operation_time_shares(step: Callable[[], object], steps: int = 3) -> dict[str, float]:
    """Return each kind's share of the processor's seconds in PyTorch's operations, from 0 to 1.

    What Python does between the operations is not in it, nor what else runs on the machine. A first
    training step, on the CPU, is not timed.
    """
    check_sizes(MAX_TIMED_CALLS, steps=steps)
    step()
    with OperationKindTimer() as times:
        for _ in range(steps):
            step()
    total = sum(times.seconds.values())
    require(total > 0, "step does nothing in PyTorch: give a function that makes a training step")
    return {
        kind: times.seconds[kind] / total
        for kind in (*OPERATION_PREFIXES_BY_KIND, OTHER_OPERATION_KIND)
    }
