"""Which way of computing attention is the faster; not in the paper."""

from torch import Tensor


def is_fused_attention_slow(queries: Tensor) -> bool:
    """Return whether PyTorch's fused attention is slower than Eq. 1 line by line.

    On a CPU its backward pass in 16 bits is ten times slower than in float32.
    """
    return queries.is_cpu and queries.dtype.itemsize == 2
