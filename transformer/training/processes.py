"""Several processes that train one model, begun by torchrun; or one by itself.

Not in the paper, whose 8 GPUs (§5.2) shared the work in some such way. Every process holds the
whole model and takes a share of each step's sentences. Their gradients are averaged before
Adam's update, so all make the same update and stay equal (PyTorch's DistributedDataParallel).
The first alone touches files.
"""

import contextlib
import os
import random
import shlex
import signal
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import torch
import torch.distributed as dist
from torch import nn

from transformer.config import PAD_ID
from transformer.data.batches import Batch
from transformer.support.errors import MISTAKE, UserError

Answer = TypeVar("Answer")
# What gloo and NCCL say of a connection whose other end is gone.
LOST = ("gloo", "NCCL", "Connection closed", "Connection reset", "Broken pipe", "Socket")


class Processes:
    """One process by itself, which has nobody to share with; `ProcessGroup` is several."""

    rank = 0  # number of this process, from 0
    size = 1  # how many there are
    size_here = 1  # how many of them are on this machine
    device: torch.device | None = None  # where this one computes; None leaves it to who asks

    @property
    def is_first(self) -> bool:
        """Whether this process is the one that touches files."""
        return self.rank == 0

    def share(self, group: Sequence[Batch]) -> Sequence[Batch]:
        """Give this process's part of a step's batches."""
        return group

    def seed(self, seed: int, step: int) -> None:
        """Draw other random numbers than the other processes do, from this step on."""

    def wrap(self, model: nn.Module) -> nn.Module:
        """Give a model whose backward passes leave the mean of all processes' gradients."""
        return model

    def sum(self, numbers: Sequence[float]) -> Sequence[float]:
        """Add each number up over all processes."""
        return numbers

    def any(self, flag: bool) -> bool:
        """Tell whether it holds in one process or more."""
        return flag

    def from_first(self, action: Callable[[], Answer]) -> Answer:
        """Carry something out in the first process; all get its answer, or its `UserError`."""
        return action()


ALONE = Processes()


class ProcessGroup(Processes):
    """One of several processes, each of which calls every method, in the same order.

    They meet at `store`; the other arguments are as `Processes` has them.
    """

    def __init__(
        self, store: "dist.Store", rank: int, size: int, size_here: int, device: torch.device
    ) -> None:
        self.rank, self.size, self.size_here, self.device = rank, size, size_here, device
        backend = "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"
        dist.init_process_group(backend, store=store, rank=rank, world_size=size)

    def share(self, group: Sequence[Batch]) -> Sequence[Batch]:
        """Give as many batches as every other process gets: whole ones, or parts of each."""
        return share_out(group, self.rank, self.size)

    def seed(self, seed: int, step: int) -> None:
        """Begin the random numbers anew from seed, rank and step; the first's go on as they are.

        So the first's, which a checkpoint holds, are enough to resume all.
        """
        if not self.is_first:
            torch.manual_seed(random.Random(f"{seed} {self.rank} {step}").getrandbits(63))

    def wrap(self, model: nn.Module) -> nn.Module:
        """Give the model in DistributedDataParallel, which begins with the first's weights."""
        where = [self.device] if self.device and self.device.type == "cuda" else None
        wrapped = nn.parallel.DistributedDataParallel(model, device_ids=where)
        wrapped.broadcast_buffers = False  # tables of positions, the same in every process
        return wrapped

    def sum(self, numbers: Sequence[float]) -> Sequence[float]:
        """Add up in 64 bits; every process gets the same sums."""
        sums = torch.tensor(numbers, dtype=torch.float64)
        dist.all_reduce(sums)
        return [float(each) for each in sums]

    def any(self, flag: bool) -> bool:
        """Ask all; each waits for the others here."""
        return self.sum([flag])[0] > 0

    def from_first(self, action: Callable[[], Answer]) -> Answer:
        """Let the others wait for the first's answer, which reaches them pickled."""
        answer: list[Answer | UserError | None] = [None]
        if self.is_first:
            try:
                answer = [action()]
            except UserError as error:
                answer = [error]
        dist.broadcast_object_list(answer, device=torch.device("cpu"))
        if isinstance(answer[0], UserError):
            raise answer[0]
        return answer[0]  # type: ignore[return-value]


def share_out(group: Sequence[Batch], rank: int, size: int) -> Sequence[Batch]:
    """Give process `rank` of `size` its part of a step's batches.

    Every process gets equally many, for each backward pass of one waits for one of all the
    others. Where the batches do not come out even, each batch is cut: sentence `rank`, and every
    `size`-th after it. Sentences of a batch lie side by side by length, so the parts are alike.
    Where no sentence is left, one of no weight takes its place.
    """
    if len(group) % size == 0:
        return group[rank::size]
    parts = []
    for batch in group:
        rows, tgt_out = slice(rank, None, size), batch.tgt_out
        if rank >= len(tgt_out):  # padding alone: its loss and gradient are 0
            rows, tgt_out = slice(0, 1), torch.full_like(tgt_out, PAD_ID)
        parts.append(Batch(batch.src[rows], batch.tgt_in[rows], tgt_out[rows]))
    return parts


@contextlib.contextmanager
def join_processes() -> Iterator[Processes]:
    """Join the processes that torchrun began; without torchrun, or with one process, be alone.

    What ends one process ends all, and one of them says why: in the others the error becomes a
    silent end of the program.

    Raises:
        UserError: a process was lost, or there are more of them than GPUs.
    """
    if not _are_several():
        yield ALONE
        return
    number_here, size_here = (int(os.environ[n]) for n in ("LOCAL_RANK", "LOCAL_WORLD_SIZE"))
    store, rank, size = next(dist.rendezvous("env://"))
    try:
        processes = ProcessGroup(store, rank, size, size_here, _device(number_here, size_here))
        yield processes
        processes.any(False)  # no process leaves before the last has done its work
    except BaseException as error:
        # torchrun sends SIGTERM to those that are left: they are ending already.
        for each in (signal.SIGTERM, signal.SIGINT):
            signal.signal(each, signal.SIG_IGN)
        if not _speaks(store):
            raise SystemExit(MISTAKE) from error
        if isinstance(error, RuntimeError) and any(word in str(error) for word in LOST):
            raise UserError(
                "another process of this run was killed or failed, so all end; what was saved "
                "before is kept: give the same command with --resume to go on from it"
            ) from error
        raise
    dist.destroy_process_group()


def _speaks(store: "dist.Store") -> bool:
    """Tell the first process that asks, and no other, to say why all end."""
    try:
        return store.add("said", 1) == 1
    except RuntimeError:  # torchrun, which keeps the store, has ended before
        return True


def _are_several() -> bool:
    """Tell whether torchrun began this process and others beside it."""
    by_torchrun = dist.is_available() and dist.is_torchelastic_launched()
    return by_torchrun and int(os.environ["WORLD_SIZE"]) > 1


def _device(number: int, count: int) -> torch.device:
    """Give a process of this machine its own GPU, or the CPU where there is none."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    if count > torch.cuda.device_count():
        raise UserError(
            f"{count} processes on a machine with {torch.cuda.device_count()} GPUs: "
            f"give --nproc-per-node {torch.cuda.device_count()}"
        )
    torch.cuda.set_device(number)
    return torch.device("cuda", number)


def launcher() -> str:
    """Give what stands before `-m transformer` in the command that began this process."""
    if not _are_several():
        return "python"
    size, here = (int(os.environ[name]) for name in ("WORLD_SIZE", "LOCAL_WORLD_SIZE"))
    words = ["torchrun", "--nproc-per-node", str(here)]
    return shlex.join(words if size == here else [*words, "--nnodes", str(size // here), "..."])
