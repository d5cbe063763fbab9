"""The device that a run trains on, and the precision of its matrix products.

Not in the paper, which trained in 32 bits on eight GPUs (§5.2).
"""

import os
import time
import timeit
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from transformer.support.errors import require
from transformer.support.provenance import hardware

# Of attention in 16 bits. On a CPU the backward pass of the fused one is ten times slower than in
# float32; on an H200 cuDNN's is slow wherever a shape is new (docs/benchmarks.md).
KERNELS = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]  # on CUDA


class Precision(StrEnum):
    """In what numbers matrices are multiplied; the weights are held in float32 in each."""

    FLOAT32 = "float32"
    TF32 = "tf32"  # 10 bits of fraction, float32's range; NVIDIA GPUs from the A100 on
    BF16 = "bf16"  # 7 bits of fraction, float32's range
    FP16 = "fp16"  # 10 bits of fraction, up to 65,504: small gradients need a `GradScaler`

    @contextmanager
    def autocast(self, device: torch.device) -> Iterator[None]:
        """Multiply a forward pass's matrices in these numbers, by PyTorch's autocast."""
        half = {Precision.BF16: torch.bfloat16, Precision.FP16: torch.float16}.get(self)
        with self.float32_matmul_precision(device), ExitStack() as held:
            if half is not None:
                held.enter_context(torch.autocast(device.type, dtype=half))
                kernels = KERNELS if device.type == "cuda" else SDPBackend.MATH
                held.enter_context(sdpa_kernel(kernels))
            yield

    @contextmanager
    def float32_matmul_precision(self, device: torch.device) -> Iterator[None]:
        """Multiply what is in float32, as TF32 where that is meant: backward passes need it too."""
        set_precision = torch.set_float32_matmul_precision
        with ExitStack() as held:
            held.callback(set_precision, torch.get_float32_matmul_precision())
            if device.type == "cuda":
                set_precision("highest" if self == Precision.FLOAT32 else "high")
            yield


@dataclass(frozen=True)
class DeviceAndPrecision:
    """What each process of a run computes on; `str` says it in a line."""

    device: torch.device
    precision: Precision
    why: str  # this precision

    def __str__(self) -> str:
        gigabytes = f", {memory(self.device) / 1e9:,.0f} GB" if memory(self.device) < 2**60 else ""
        return f"{hardware(self.device)}{gigabytes}, {self.precision} ({self.why})"


def pick_device_and_precision(
    device: torch.device | None = None, precision: Precision | None = None
) -> DeviceAndPrecision:
    """Choose what to train on, and in what numbers, by what the hardware says it can.

    None takes the GPU if there is one, and the fastest numbers that learn as float32 does. A
    `UserError` tells of a device that has not the precision asked for.
    """
    device = device or pick_device()
    capability = torch.cuda.get_device_capability(device) if device.type == "cuda" else (0, 0)
    tensor_cores = capability >= (8, 0)  # of the A100 and later; others only imitate bf16 and tf32
    have_it = "NVIDIA GPUs of compute capability 8.0 and more have it; leave --precision out, or"
    has_it = tensor_cores or precision != Precision.TF32
    require(has_it, f"{hardware(device)} has no tf32: {have_it} give float32")
    if precision is not None:
        return DeviceAndPrecision(device, precision, "as asked for")
    if device.type == "cuda":
        fastest = Precision.BF16 if tensor_cores else Precision.FP16
        return DeviceAndPrecision(device, fastest, "compute capability {}.{}".format(*capability))
    return DeviceAndPrecision(device, *_fastest(device))


def pick_device() -> torch.device:
    """Give the GPU if there is one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def _fastest(device: torch.device) -> tuple[Precision, str]:
    """Give the precision for what is no NVIDIA GPU, and why."""
    if device.type != "cpu":
        return Precision.FLOAT32, f"nothing else was tried on {device.type}"
    if not (torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()):
        return Precision.FLOAT32, "the processor has no instructions for bfloat16"
    if _seconds(torch.bfloat16) >= _seconds(torch.float32):
        return Precision.FLOAT32, "the processor is slower with its instructions for bfloat16"
    return Precision.BF16, "the processor has instructions for it"


@cache
def _seconds(numbers: torch.dtype) -> float:
    """Give the fewest seconds that one thread worked for a product, of some rounds."""
    matrix, threads = torch.rand(256, 256).to(numbers), torch.get_num_threads()
    torch.set_num_threads(1)  # more would wait for each other on a busy processor, at full speed
    rounds = timeit.repeat(lambda: matrix @ matrix, timer=time.process_time, number=1, repeat=4)
    torch.set_num_threads(threads)
    return min(rounds)


def memory(device: torch.device) -> int:
    """Give a device's memory in bytes, in use or not."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[1]
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not on Windows: let the run find out
        return 2**63


def check_memory(model: nn.Module, device: torch.device) -> None:
    """Refuse a model (on "meta", say) that the memory cannot hold with gradient and two moments."""
    needed, there = 4 * sum(each.nbytes for each in model.parameters()), memory(device)
    require(
        needed <= there,
        f"this model needs {needed / 1e9:,.1f} GB of memory at the least, and {device} has "
        f"{there / 1e9:,.1f} GB: give a smaller d_model, d_ff, num_layers or vocab_size",
    )
