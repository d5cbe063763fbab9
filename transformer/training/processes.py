"""Data-parallel training in the processes that torchrun began (as on the paper's 8 GPUs, §5.2).

Every process takes a share of each step's sentences, and DistributedDataParallel averages their
gradients, so that all make the same update. Without torchrun there is one process, of rank 0 in a
world of size 1, and every function here does what is right for it.
"""

import os
import random
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, TypeVar, cast

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from transformer.support.errors import EXIT_USER_ERROR, UserError, require
from transformer.support.files import folder_lock
from transformer.support.provenance import is_launched_by_torchrun

ResultT = TypeVar("ResultT")
# Words in the errors of gloo and NCCL when a process at the other end of a connection is gone.
CONNECTION_ERROR_WORDS = (
    "gloo",
    "NCCL",
    "Connection closed",
    "Connection reset",
    "Broken pipe",
    "Socket",
)


def world_size() -> int:
    """Return how many processes share the training."""
    has_process_group = dist.is_available() and dist.is_initialized()
    return dist.get_world_size() if has_process_group else 1


def rank() -> int:
    """Return the number of this process, from 0."""
    return dist.get_rank() if world_size() > 1 else 0


def wrap_in_data_parallel(model: nn.Module) -> nn.Module:
    """Return the model wrapped in DistributedDataParallel, if there are several processes.

    It begins with the weights of rank 0, and averages gradients over all processes.
    """
    if world_size() == 1:
        return model
    device = next(model.parameters()).device
    device_ids = [device] if device.type == "cuda" else None
    network = DistributedDataParallel(model, device_ids=device_ids)
    # The buffers are tables of positions, the same in every process.
    network.broadcast_buffers = False
    return network


def no_sync(network: nn.Module) -> AbstractContextManager[None]:
    """Return a context in which gradients add up in each process, without an exchange."""
    return network.no_sync() if isinstance(network, DistributedDataParallel) else nullcontext()


def seed_dropout(seed: int, step: int) -> None:
    """Seed a step's dropout, so that each process drops other units.

    The random numbers of rank 0 go on as they are: its checkpoint is enough to resume all.
    """
    if rank() > 0:
        torch.manual_seed(random.Random(f"{seed} {rank()} {step}").getrandbits(63))


def lock_folder(folder: Path) -> AbstractContextManager[None]:
    """Return `folder_lock` in the process of rank 0, which alone writes; nothing in the others."""
    return folder_lock(folder) if rank() == 0 else nullcontext()


def all_reduce_sum(numbers: Sequence[float]) -> list[float]:
    """Return the sum of each number over all processes, in 64 bits, in every process."""
    if world_size() == 1:
        return list(numbers)
    sums = torch.tensor(numbers, dtype=torch.float64)
    dist.all_reduce(sums)
    return [float(total) for total in sums]


def run_on_rank_zero(action: Callable[[], ResultT]) -> ResultT:
    """Run an action in the process of rank 0; all return its result, or raise its `UserError`."""
    if world_size() == 1:
        return action()
    message: list[Any] = [None]
    if rank() == 0:
        try:
            message = [action()]
        except UserError as error:
            message = [error]
    dist.broadcast_object_list(message, device=torch.device("cpu"))
    if isinstance(message[0], UserError):
        raise message[0]
    return cast(ResultT, message[0])


@contextmanager
def joined_process_group() -> Iterator[torch.device | None]:
    """Join the processes that torchrun began, and yield this one's device; None without torchrun.

    What ends one process ends all, and one of them says why: in the others the error becomes a
    silent end of the program.

    Raises:
        UserError: another process was lost, or there are more processes than GPUs.
    """
    if not is_launched_by_torchrun():
        yield None
        return
    store, own_rank, count = next(dist.rendezvous("env://"))
    try:
        device = _own_device(int(os.environ["LOCAL_RANK"]), int(os.environ["LOCAL_WORLD_SIZE"]))
        backend = "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"
        dist.init_process_group(backend, store=store, rank=own_rank, world_size=count)
        yield device
        all_reduce_sum([0])  # no process leaves before the last is done
    except BaseException as error:
        # torchrun sends SIGTERM to the processes that are left, and they are ending already.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        # A RuntimeError if torchrun, which keeps the store, has ended before.
        with suppress(RuntimeError):
            if store.add("processes that failed", 1) > 1:
                raise SystemExit(EXIT_USER_ERROR) from error
        is_lost = any(word in str(error) for word in CONNECTION_ERROR_WORDS)
        if isinstance(error, RuntimeError) and is_lost:
            raise UserError(
                "another process of this run was killed or failed, so all end; what was saved "
                "before is kept: give the same command with --resume to go on from it"
            ) from error
        raise
    dist.destroy_process_group()


def _own_device(local_rank: int, local_world_size: int) -> torch.device:
    """Return a GPU of its own for a process of this machine, or the CPU if there is no GPU."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    gpus = torch.cuda.device_count()
    require(
        local_world_size <= gpus,
        f"{local_world_size} processes on a machine with {gpus} GPUs: give --nproc-per-node {gpus}",
    )
    torch.cuda.set_device(local_rank)
    return torch.device("cuda", local_rank)
