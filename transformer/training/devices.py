"""The device that a run trains on, and the precision of its matrix products.

Not in the paper, which trained in 32 bits on eight GPUs (§5.2).
"""

import os
import time
import timeit
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from transformer.support.errors import require
from transformer.support.provenance import hardware_name
from transformer.support.signatures import check_argument_types

# The kernels for attention in 16 bits. On a CPU the backward pass of the fused one is ten times
# slower than in float32; on an H200 cuDNN's is slow for each new shape (docs/benchmarks.md).
CUDA_ATTENTION_KERNELS = [
    SDPBackend.FLASH_ATTENTION,
    SDPBackend.EFFICIENT_ATTENTION,
    SDPBackend.MATH,
]
CPU_ATTENTION_KERNELS = [SDPBackend.MATH]
UNKNOWN_MEMORY_BYTES = 2**63  # in bytes: more than any device has


class Precision(StrEnum):
    """The number format of matrix products; the weights are in float32 whichever it is."""

    FLOAT32 = "float32"
    TF32 = "tf32"  # 10 bits of fraction, float32's range; NVIDIA GPUs from the A100 on
    BF16 = "bf16"  # 7 bits of fraction, float32's range
    FP16 = "fp16"  # 10 bits of fraction, up to 65,504: small gradients need a `GradScaler`

    @contextmanager
    def autocast(self, device: torch.device) -> Iterator[None]:
        """Compute a forward pass's matrix products in this precision, by PyTorch's autocast."""
        is_cuda = device.type == "cuda"
        kernels = CUDA_ATTENTION_KERNELS if is_cuda else CPU_ATTENTION_KERNELS
        with self.float32_matmul_context(device):
            if self in (Precision.BF16, Precision.FP16):
                dtype = torch.bfloat16 if self == Precision.BF16 else torch.float16
                with torch.autocast(device.type, dtype=dtype), sdpa_kernel(kernels):
                    yield
            else:
                yield

    @contextmanager
    def float32_matmul_context(self, device: torch.device) -> Iterator[None]:
        """Compute float32 products as TF32 on a GPU, unless this is FLOAT32.

        Backward passes run inside this alone, since autocast is for forward passes.
        """
        before = torch.get_float32_matmul_precision()
        if device.type == "cuda":
            torch.set_float32_matmul_precision("highest" if self == Precision.FLOAT32 else "high")
        try:
            yield
        finally:
            torch.set_float32_matmul_precision(before)


@dataclass(frozen=True)
class DeviceAndPrecision:
    """What each process of a run computes on; `str` says it in a line."""

    device: torch.device
    precision: Precision
    why: str  # why this precision was picked

    def __str__(self) -> str:
        known = memory_bytes(self.device) < UNKNOWN_MEMORY_BYTES
        gigabytes = f", {memory_bytes(self.device) / 1e9:,.0f} GB" if known else ""
        return f"{hardware_name(self.device)}{gigabytes}, {self.precision} ({self.why})"


@check_argument_types
def pick_device_and_precision(
    device: torch.device | None = None, precision: Precision | None = None
) -> DeviceAndPrecision:
    """Pick the device to train on and its precision, by what the hardware says of itself.

    None picks the GPU if there is one, and the fastest precision that learns as float32 does.

    Raises:
        UserError: the device does not have the precision asked for.
    """
    device = device or pick_device()
    capability = torch.cuda.get_device_capability(device) if device.type == "cuda" else (0, 0)
    # The tensor cores of the A100 and later; earlier GPUs only emulate bf16 and tf32.
    tensor_cores = capability >= (8, 0)
    require(
        tensor_cores or precision != Precision.TF32,
        f"{hardware_name(device)} has no tf32: NVIDIA GPUs of compute capability 8.0 and more have "
        "it; leave --precision out, or give float32",
    )
    if precision is not None:
        return DeviceAndPrecision(device, precision, "as asked for")
    if device.type == "cuda":
        fastest = Precision.BF16 if tensor_cores else Precision.FP16
        major, minor = capability
        return DeviceAndPrecision(device, fastest, f"compute capability {major}.{minor}")
    fastest, why = _fastest_precision(device)
    return DeviceAndPrecision(device, fastest, why)


def pick_device() -> torch.device:
    """Return the GPU if there is one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def _fastest_precision(device: torch.device) -> tuple[Precision, str]:
    """Return the precision for a device that is no NVIDIA GPU, and why."""
    if device.type != "cpu":
        return Precision.FLOAT32, f"nothing else was tried on {device.type}"
    if not (torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()):
        return Precision.FLOAT32, "the processor has no instructions for bfloat16"
    if _matrix_product_seconds(torch.bfloat16) >= _matrix_product_seconds(torch.float32):
        return Precision.FLOAT32, "the processor is slower with its instructions for bfloat16"
    return Precision.BF16, "the processor has instructions for it"


@cache
def _matrix_product_seconds(dtype: torch.dtype) -> float:
    """Return the least processor time that one thread needs for a matrix product, in seconds."""
    matrix = torch.rand(256, 256).to(dtype)
    threads = torch.get_num_threads()
    # More threads would wait for each other on a busy processor, at full speed.
    torch.set_num_threads(1)
    rounds = timeit.repeat(lambda: matrix @ matrix, timer=time.process_time, number=1, repeat=4)
    torch.set_num_threads(threads)
    return min(rounds)


def memory_bytes(device: torch.device) -> int:
    """Return the size of a device's memory in bytes, in use or not."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[1]
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # on Windows: the run will find out
        return UNKNOWN_MEMORY_BYTES


def check_memory(model: nn.Module, device: torch.device) -> None:
    """Raise a UserError if the memory cannot hold a model, its gradient and Adam's two moments.

    The model may be on PyTorch's "meta" device.
    """
    needed = 4 * sum(parameter.nbytes for parameter in model.parameters())
    available = memory_bytes(device)
    require(
        needed <= available,
        f"this model needs {needed / 1e9:,.1f} GB of memory at the least, and {device} has "
        f"{available / 1e9:,.1f} GB: give a smaller d_model, d_ff, num_layers or vocab_size",
    )
