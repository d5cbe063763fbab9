"""Seconds and what they are spent on: the clock, a step's kinds of work, what machines can do.

The paper's GPUs (footnote 5), one of today, and the one this runs on. A product needs operations
and bytes. Which of the two keeps a machine busy longer is told by its roofline (Williams et al.
2009, not in the paper). Several machines that share a step must also exchange gradients. The clock
is that of the processor: what else runs does not count, but for what it does to the caches.
"""

import inspect
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks
from torch.utils._python_dispatch import TorchDispatchMode

from transformer.support.errors import UserError


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
    """Adds up the seconds of PyTorch's operations while it is entered, by `kind` of work."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: dict[str, float] = defaultdict(float)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        started = time.process_time()
        result = func(*args, **(kwargs or {}))
        self.seconds[kind(func._schema.name)] += time.process_time() - started
        return result


# How the names of PyTorch's operations begin, by what they do in a training step. What is
# named nowhere (sums, copies, masks, the ReLU) is `REST`.
KINDS: dict[str, tuple[str, ...]] = {
    "products": ("mm", "addmm", "bmm"),
    "attention": ("_scaled_dot_product", "_softmax", "_safe_softmax"),
    "loss": ("_log_softmax", "exp_", "gather", "scatter_add"),
    "dropout": ("native_dropout", "bernoulli", "random"),
    "norm": ("native_layer_norm",),
    "Adam": ("_fused_adam", "_foreach_norm", "linalg_vector_norm"),
    "casts": ("_to_copy",),
}
REST = "all else"


def kind(operation: str) -> str:
    """Give the kind of work, one of `KINDS` or `REST`, that an operation ("aten::mm") is."""
    name = operation.partition("::")[2]
    return next((each for each, starts in KINDS.items() if name.startswith(starts)), REST)


def shares(step: Callable[[], object], steps: int = 3) -> dict[str, float]:
    """Give each kind's share of the processor's seconds in PyTorch's operations, from 0 to 1.

    What Python does between the operations is not in it, nor what else runs on the machine. A first
    training step, on the CPU, is not timed.
    """
    step()
    with Timed() as timed:
        for _ in range(steps):
            step()
    total = sum(timed.seconds.values())
    return {name: timed.seconds[name] / total for name in (*KINDS, REST)}


# Footnote 5: operations per second that the paper reckons a GPU sustains in single precision.
SUSTAINED = {"K80": 2.8e12, "K40": 3.7e12, "M40": 6.0e12, "P100": 9.5e12}
FLOAT32, BFLOAT16 = 4, 2  # bytes of a number
PEAK_SIZE = 1024  # rows and columns of the product that shows what this machine can do
COPIED = 2**27  # bytes, more than a processor's caches hold


class Machine(NamedTuple):
    """What a machine does at most."""

    name: str
    flops: float  # floating-point operations per second, in products
    bandwidth: float  # bytes per second, from and to its memory
    link: float = 0.0  # bytes per second to another such machine; 0 where it is alone
    number_bytes: int = FLOAT32  # of the numbers that it multiplies


# The makers' figures: memory, link in one direction. The P100's operations are footnote 5's;
# the H200's are of bfloat16 products without zeros left out.
MACHINES = (
    Machine("P100 on PCIe", SUSTAINED["P100"], 732e9, 16e9),
    Machine("P100 on NVLink", SUSTAINED["P100"], 732e9, 80e9),
    Machine("H200", 989e12, 4.8e12, 450e9, BFLOAT16),
)


def training_cost(hours: float, machines: int, flops: float) -> float:
    """Reckon a training's operations as Table 2 does: time x GPUs x what each sustains a second."""
    return hours * 3600 * machines * flops


def product_flops(tokens: int, width: int) -> int:
    """Count the operations of `tokens` vectors times a square matrix."""
    return 2 * tokens * width * width


def intensity(tokens: int, width: int, number_bytes: int = FLOAT32) -> float:
    """Give the operations of `product_flops` for each byte that it must read or write."""
    moved = number_bytes * (2 * tokens * width + width * width)
    return product_flops(tokens, width) / moved


def attainable(machine: Machine, operations_per_byte: float) -> float:
    """Give what a machine can do at most at this intensity, in operations per second."""
    return min(machine.flops, machine.bandwidth * operations_per_byte)


def exchange_seconds(parameters: int, machines: int, link: float) -> float:
    """Give the time in which machines in a ring add up their gradients, each in float32.

    Each sends every part of the sum around but once, and every finished part around once more:
    2 (n - 1) / n of all bytes, over a link of so many bytes per second.
    """
    if machines < 2:
        return 0.0
    if link <= 0:
        raise UserError(f"{machines} machines and a link of {link} bytes/s: give a faster link")
    return 2 * (machines - 1) / machines * FLOAT32 * parameters / link


def product_seconds(tokens: int, width: int) -> float:
    """Measure `tokens` vectors times a square matrix, on one thread of the CPU.

    Returns:
        Seconds of the processor for one product, the fewest of several rounds of many.
    """
    vectors, matrix = torch.randn(tokens, width), torch.randn(width, width)
    calls = max(1, 2**26 // (product_flops(tokens, width) + width * width))

    def work() -> None:
        for _ in range(calls):
            vectors @ matrix

    with one_thread(), torch.no_grad():
        return cpu_seconds(work) / calls


def this_machine() -> Machine:
    """Measure one thread of this CPU: a large product, and a large copy."""
    flops = product_flops(PEAK_SIZE, PEAK_SIZE) / product_seconds(PEAK_SIZE, PEAK_SIZE)
    source = torch.zeros(COPIED // FLOAT32)
    target = torch.zeros_like(source)
    with one_thread():
        seconds = cpu_seconds(lambda: target.copy_(source), rounds=3)
    return Machine("one thread here", flops, 2 * COPIED / seconds)  # it is read and written


def megabytes_kept(model: nn.Module, forward: Callable[[], object]) -> float:
    """Measure what a forward pass keeps for the backward pass, without the model's own weights."""
    own = {each.data_ptr() for each in model.parameters()}
    found: dict[int, Tensor] = {}

    def note(tensor: Tensor) -> Tensor:
        if (place := tensor.untyped_storage().data_ptr()) not in own:
            found[place] = tensor  # held, so that its place is not used again
        return tensor

    with saved_tensors_hooks(note, lambda tensor: tensor):
        forward()
    return sum(each.untyped_storage().nbytes() for each in found.values()) / 1e6


def in_two_processes(script: str, **functions: Callable[..., Any]) -> str:
    """Run a script twice at once by torchrun, on one thread each; give what it prints.

    Functions of a notebook are written before it, under the names that they are given by.
    """
    own = [
        f"{inspect.getsource(each)}\n{name} = {each.__name__}" for name, each in functions.items()
    ]
    command = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    paths = os.pathsep.join(filter(None, sys.path))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "worker.py"
        text = "\n\n".join(["from __future__ import annotations", *own, script])
        file.write_text(text, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, *command, str(file)],
            env=os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
        )
    if done.returncode:
        raise UserError(f"the two processes failed:\n{done.stderr[:1500]}")
    return done.stdout
