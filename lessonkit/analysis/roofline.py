"""What machines can do at most: operations, bytes, and the exchange of gradients.

The paper's GPUs (footnote 5), one of today, and the one this runs on. A matrix product needs
operations and bytes. Which of the two keeps a machine busy longer is told by its roofline (Williams
et al. 2009, not in the paper). Several machines that share a step must also add up their gradients.
"""

from typing import NamedTuple

import torch

from lessonkit.analysis.timing import computing_on_single_thread, min_process_seconds
from transformer.support.errors import UserError

# Footnote 5: operations per second that the paper reckons a GPU sustains in single precision.
SUSTAINED_FLOPS_BY_GPU = {"K80": 2.8e12, "K40": 3.7e12, "M40": 6.0e12, "P100": 9.5e12}
FLOAT32_BYTES, BFLOAT16_BYTES = 4, 2  # bytes of a number
PEAK_PRODUCT_WIDTH = 1024  # rows and columns of the product that shows what this machine can do
NUM_COPIED_BYTES = 2**27  # bytes, more than a processor's caches hold


class Machine(NamedTuple):
    """What a machine can do at most."""

    name: str
    flops: float  # floating-point operations per second, in products
    bandwidth: float  # bytes per second, from and to its memory
    link: float = 0.0  # bytes per second to another such machine; 0 where it is alone
    number_bytes: int = FLOAT32_BYTES  # of the numbers that it multiplies


# The makers' figures: memory, link in one direction. The P100's operations are footnote 5's;
# the H200's are of bfloat16 products without zeros left out.
MACHINES = (
    Machine("P100 on PCIe", SUSTAINED_FLOPS_BY_GPU["P100"], 732e9, 16e9),
    Machine("P100 on NVLink", SUSTAINED_FLOPS_BY_GPU["P100"], 732e9, 80e9),
    Machine("H200", 989e12, 4.8e12, 450e9, BFLOAT16_BYTES),
)


def training_flops(hours: float, machines: int, flops: float) -> float:
    """Return a training's operations as Table 2 reckons them: time x GPUs x FLOPs of each."""
    return hours * 3600 * machines * flops


def matmul_flops(tokens: int, width: int) -> int:
    """Count the operations of `tokens` vectors times a square matrix."""
    return 2 * tokens * width * width


def arithmetic_intensity(tokens: int, width: int, number_bytes: int = FLOAT32_BYTES) -> float:
    """Return the operations of `matmul_flops` for each byte that it must read or write."""
    moved = number_bytes * (2 * tokens * width + width * width)
    return matmul_flops(tokens, width) / moved


def attainable_flops(machine: Machine, operations_per_byte: float) -> float:
    """Return what a machine can do at most at this intensity, in operations per second."""
    return min(machine.flops, machine.bandwidth * operations_per_byte)


def all_reduce_seconds(parameters: int, machines: int, link: float) -> float:
    """Return the time in which machines in a ring add up their gradients, each in float32.

    Each sends every part of the sum around but once, and every finished part around once more:
    2 (n - 1) / n of all bytes, over a link of so many bytes per second.
    """
    if machines < 2:
        return 0.0
    if link <= 0:
        raise UserError(f"{machines} machines and a link of {link} bytes/s: give a faster link")
    return 2 * (machines - 1) / machines * FLOAT32_BYTES * parameters / link


def measure_matmul_seconds(tokens: int, width: int) -> float:
    """Measure `tokens` vectors times a square matrix, on one thread of the CPU.

    Returns:
        Seconds of the processor for one product, the fewest of several rounds of many.
    """
    vectors, matrix = torch.randn(tokens, width), torch.randn(width, width)
    calls = max(1, 2**26 // (matmul_flops(tokens, width) + width * width))

    def multiply() -> None:
        for _ in range(calls):
            vectors @ matrix

    with computing_on_single_thread(), torch.no_grad():
        return min_process_seconds(multiply) / calls


def measure_this_machine() -> Machine:
    """Measure one thread of this CPU: a large product, and a large copy."""
    flops = matmul_flops(PEAK_PRODUCT_WIDTH, PEAK_PRODUCT_WIDTH) / measure_matmul_seconds(
        PEAK_PRODUCT_WIDTH, PEAK_PRODUCT_WIDTH
    )
    source = torch.zeros(NUM_COPIED_BYTES // FLOAT32_BYTES)
    target = torch.zeros_like(source)
    with computing_on_single_thread():
        seconds = min_process_seconds(lambda: target.copy_(source), rounds=3)
    return Machine(
        "one thread here", flops, 2 * NUM_COPIED_BYTES / seconds
    )  # it is read and written
