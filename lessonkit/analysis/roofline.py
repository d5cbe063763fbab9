"""What machines can do at most: operations, bytes, and the exchange of gradients.

The paper's GPUs (footnote 5), one of today, and the one this runs on. A matrix product needs
operations and bytes. Which of the two keeps a machine busy longer is told by its roofline (Williams
et al. 2009, not in the paper). Several machines that share a step must also add up their gradients.
"""

from typing import NamedTuple

import torch

from lessonkit.analysis.timing import computing_on_single_thread, min_process_seconds
from transformer.config import MAX_DIMENSION
from transformer.support.checks import MAX_COUNT, check_num_elements, check_number, check_sizes
from transformer.support.errors import UserError
from transformer.support.signatures import check_argument_types

# Footnote 5: operations per second that the paper reckons a GPU sustains in single precision.
SUSTAINED_FLOPS_BY_GPU = {"K80": 2.8e12, "K40": 3.7e12, "M40": 6.0e12, "P100": 9.5e12}
FLOAT32_BYTES, BFLOAT16_BYTES = 4, 2  # bytes of a number
PEAK_PRODUCT_WIDTH = 1024  # rows and columns of the product that shows what this machine can do
MAX_NUM_PARAMETERS = 10**15  # of a model
MIN_LINK_BYTES_PER_SECOND = 1.0  # bytes per second
NUM_BYTES_COPIED_FOR_BANDWIDTH = 2**27  # bytes, more than a processor's caches hold


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


@check_argument_types
def training_flops(hours: float, machines: int, flops: float) -> float:
    """Return a training's operations as Table 2 reckons them: time x GPUs x FLOPs of each."""
    check_number("hours", hours, 0)
    check_number("flops", flops, 0)
    check_sizes(MAX_COUNT, machines=machines)
    return hours * 3600 * machines * flops


@check_argument_types
def matmul_flops(tokens: int, width: int) -> int:
    """Count the operations of `tokens` vectors times a square matrix."""
    check_sizes(MAX_COUNT, tokens=tokens, width=width)
    return 2 * tokens * width * width


@check_argument_types
def arithmetic_intensity(tokens: int, width: int, number_bytes: int = FLOAT32_BYTES) -> float:
    """Return the operations of `matmul_flops` for each byte that it must read or write."""
    check_sizes(MAX_COUNT, tokens=tokens, width=width, number_bytes=number_bytes)
    moved = number_bytes * (2 * tokens * width + width * width)
    return matmul_flops(tokens, width) / moved


@check_argument_types
def attainable_flops(machine: Machine, operations_per_byte: float) -> float:
    """Return what a machine can do at most at this intensity, in operations per second."""
    check_number("operations_per_byte", operations_per_byte, 0)
    return min(machine.flops, machine.bandwidth * operations_per_byte)


@check_argument_types
def all_reduce_seconds(parameters: int, machines: int, link: float) -> float:
    """Return the time in which machines in a ring add up their gradients, each in float32.

    Each sends every part of the sum around but once, and every finished part around once more:
    2 (n - 1) / n of all bytes, over a link of so many bytes per second.
    """
    check_sizes(MAX_NUM_PARAMETERS, parameters=parameters)
    check_sizes(MAX_COUNT, machines=machines)
    if machines < 2:
        return 0.0
    check_number("link", link)
    if link < MIN_LINK_BYTES_PER_SECOND:
        raise UserError(f"{machines} machines and a link of {link} bytes/s: give a faster link")
    return 2 * (machines - 1) / machines * FLOAT32_BYTES * parameters / link


@check_argument_types
def measure_matmul_seconds(tokens: int, width: int) -> float:
    """Measure `tokens` vectors times a square matrix, on one thread of the CPU.

    Returns:
        Seconds of the processor for one product, the fewest of several rounds of many.
    """
    check_sizes(MAX_DIMENSION, tokens=tokens, width=width)
    check_num_elements(width=width, tokens=max(tokens, width))
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
    source = torch.zeros(NUM_BYTES_COPIED_FOR_BANDWIDTH // FLOAT32_BYTES)
    target = torch.zeros_like(source)
    with computing_on_single_thread():
        seconds = min_process_seconds(lambda: target.copy_(source), rounds=3)
    # Each byte is read and written.
    bytes_per_second = 2 * NUM_BYTES_COPIED_FOR_BANDWIDTH / seconds
    return Machine("one thread here", flops, bytes_per_second)
