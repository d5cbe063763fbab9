"""One step further than the paper: positions that turn queries and keys.

Not in the paper. Rotary positions (RoPE, Su et al. 2021, arXiv 2104.09864) add nothing to the
word. They turn each query and key by its position, so that their product depends on how far apart
the two stand and on nothing else.
"""

import torch
from torch import Tensor

from transformer.support.errors import UserError

BASE = 10_000  # as in the paper's waves


def rotate(vectors: Tensor, start: int = 0, base: float = BASE) -> Tensor:
    """Turn the vector at each position, pair by pair, by the angle of the paper's wave.

    The pair of components 2i and 2i+1 at position pos is turned by pos / base^(2i/d_k).

    Args:
        vectors: Queries or keys, (..., length, d_k), d_k even.
        start: Position of the first one.
        base: Of the angles.

    Returns:
        (..., length, d_k), each vector as long as it was.

    Raises:
        UserError: d_k is odd.
    """
    length, d_k = vectors.shape[-2:]
    if d_k % 2:
        raise UserError(f"d_k is {d_k}: components are turned in pairs, give an even number")
    positions = torch.arange(start, start + length, dtype=torch.float64, device=vectors.device)
    even = torch.arange(0, d_k, 2, dtype=torch.float64, device=vectors.device)
    angle = positions[:, None] / base ** (even / d_k)  # (length, d_k / 2)
    cos, sin = angle.cos().to(vectors.dtype), angle.sin().to(vectors.dtype)
    first, second = vectors[..., 0::2], vectors[..., 1::2]
    turned = torch.stack((first * cos - second * sin, first * sin + second * cos), dim=-1)
    return turned.flatten(start_dim=-2)
