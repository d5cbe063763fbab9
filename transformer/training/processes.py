"""Several processes that train one model, begun by torchrun, or one by itself; and Ctrl-C.

Every process takes a share of each step's sentences, and DistributedDataParallel averages their
gradients, so all make the same update (the paper's 8 GPUs, §5.2, in some such way). Where torchrun
began none, each function gives what is true of one process.
"""

import os
import random
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from types import FrameType
from typing import Any, TypeVar, cast

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from transformer.support.errors import EXIT_USER_ERROR, TERMINATION_SIGNALS, UserError, require
from transformer.support.provenance import begun_by_torchrun

Answer = TypeVar("Answer")
# What gloo and NCCL say of a connection whose other end is gone.
LOST = ("gloo", "NCCL", "Connection closed", "Connection reset", "Broken pipe", "Socket")
NOTED = "stopping after this step; Ctrl-C again stops at once and loses what is not saved"


def world_size() -> int:
    """Give how many processes share the work."""
    joined = dist.is_available() and dist.is_initialized()
    return dist.get_world_size() if joined else 1


def rank() -> int:
    """Give the number of this process, from 0."""
    return dist.get_rank() if world_size() > 1 else 0


def data_parallel(model: nn.Module) -> nn.Module:
    """Give a model that begins with the first's weights, and averages gradients over all."""
    if world_size() == 1:
        return model
    device = next(model.parameters()).device
    ids = [device] if device.type == "cuda" else None
    network = DistributedDataParallel(model, device_ids=ids)
    network.broadcast_buffers = False  # tables of positions, the same in every process
    return network


def no_sync(network: nn.Module) -> AbstractContextManager[None]:
    """Let gradients add up in each process for itself: more are to come before the step."""
    return network.no_sync() if isinstance(network, DistributedDataParallel) else nullcontext()


def seed_dropout(number: int, step: int) -> None:
    """Begin the random numbers of a step anew, so that each process drops out other units.

    The first one's go on: a checkpoint of those resumes all.
    """
    if rank() > 0:
        torch.manual_seed(random.Random(f"{number} {rank()} {step}").getrandbits(63))


def all_reduce_sum(numbers: Sequence[float]) -> list[float]:
    """Add each number up over all processes, in 64 bits; every one gets the same sums."""
    if world_size() == 1:
        return list(numbers)
    sums = torch.tensor(numbers, dtype=torch.float64)
    dist.all_reduce(sums)
    return [float(each) for each in sums]


def on_rank_zero(action: Callable[[], Answer]) -> Answer:
    """Carry something out in the first process; all get its answer, or its `UserError`."""
    if world_size() == 1:
        return action()
    try:
        found: list[Any] = [action() if rank() == 0 else None]
    except UserError as error:
        found = [error]
    dist.broadcast_object_list(found, device=torch.device("cpu"))
    if isinstance(found[0], UserError):
        raise found[0]
    return cast(Answer, found[0])


@contextmanager
def process_group() -> Iterator[torch.device | None]:
    """Join the processes that torchrun began, and give this one's device; None if it began none.

    What ends one process ends all, and one of them says why: in the others the error becomes a
    silent end of the program. A `UserError` tells of a lost process, or of too few GPUs.
    """
    if not begun_by_torchrun():
        yield None
        return
    store, number, count = next(dist.rendezvous("env://"))
    try:
        device = _device(int(os.environ["LOCAL_RANK"]), int(os.environ["LOCAL_WORLD_SIZE"]))
        backend = "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"
        dist.init_process_group(backend, store=store, rank=number, world_size=count)
        yield device
        all_reduce_sum([0])  # no process leaves before the last has done its work
    except BaseException as error:
        # torchrun sends SIGTERM to those that are left: they are ending already.
        for each in (signal.SIGTERM, signal.SIGINT):
            signal.signal(each, signal.SIG_IGN)
        with suppress(RuntimeError):  # torchrun, which keeps the store, has ended before
            if store.add("said", 1) > 1:
                raise SystemExit(EXIT_USER_ERROR) from error
        if isinstance(error, RuntimeError) and any(word in str(error) for word in LOST):
            raise UserError(
                "another process of this run was killed or failed, so all end; what was saved "
                "before is kept: give the same command with --resume to go on from it"
            ) from error
        raise
    dist.destroy_process_group()


def _device(number: int, count: int) -> torch.device:
    """Give a process of this machine its own GPU, or the CPU where there is none."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    gpus = torch.cuda.device_count()
    many = f"{count} processes on a machine with {gpus} GPUs: give --nproc-per-node {gpus}"
    require(count <= gpus, many)
    torch.cuda.set_device(number)
    return torch.device("cuda", number)


@contextmanager
def deferred_interrupt() -> Iterator[list[int]]:
    """Note the first Ctrl-C in a list, so that no update is left half done; the next interrupts.

    `TERMINATION_SIGNALS` count as Ctrl-C where they are set to interrupt; other handlers are left
    alone, as are all in another thread than the main one.
    """
    pressed: list[int] = []
    interrupt = signal.default_int_handler
    main = threading.current_thread() is threading.main_thread()
    signals = [
        s
        for s in (signal.SIGINT, *TERMINATION_SIGNALS)
        if main and signal.getsignal(s) is interrupt
    ]

    def note(number: int, frame: FrameType | None) -> None:
        pressed.append(number)
        for each in signals:
            signal.signal(each, interrupt)
        # To sys.stderr, since a notebook shows that and not descriptor 2. Where the signal came
        # in the middle of another line, Python refuses this one (RuntimeError): it is left out.
        with suppress(RuntimeError, OSError):
            if world_size() == 1:  # several would all say it
                print(NOTED, file=sys.stderr, flush=True)

    for each in signals:
        signal.signal(each, note)
    try:
        yield pressed
    finally:
        for each in signals:
            signal.signal(each, interrupt)
