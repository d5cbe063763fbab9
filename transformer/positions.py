"""Positions: added to words, put beside them, or turned into queries and keys (§3.5).

A positions module is called with the scaled words, (batch, length, word_dim), and the position of
the first one; it returns (batch, length, d_model).
"""

import torch
from torch import Tensor, nn

from transformer.config import MAX_DIMENSION, ModelConfig, PositionKind
from transformer.support.checks import (
    MAX_COUNT,
    check_float_tensor,
    check_num_elements,
    check_number,
)
from transformer.support.errors import UserError
from transformer.support.signatures import check_argument_types


def sinusoidal_positions(length: int, d_model: int) -> Tensor:
    """Compute the table of sinusoidal position encodings (§3.5).

    PE(pos, 2i) = sin(pos / 10000^(2i/d_model)), PE(pos, 2i+1) = cos of the same angle. The width
    is even; the table is float, (length, d_model).
    """
    check_number("length", length, 0, MAX_DIMENSION, integer=True)
    check_number("d_model", d_model, 0, MAX_DIMENSION, integer=True)
    check_num_elements(length=length, d_model=d_model)
    if d_model % 2:
        raise UserError(f"d_model {d_model} is odd: sinusoids come in pairs, give an even number")
    pos = torch.arange(length, dtype=torch.float64)[:, None]  # (length, 1)
    even = torch.arange(0, d_model, 2, dtype=torch.float64)  # (d_model / 2,)
    angle = pos / 10_000 ** (even / d_model)  # (length, d_model / 2)
    pairs = torch.stack((angle.sin(), angle.cos()), dim=-1)  # (length, d_model / 2, 2)
    return pairs.flatten(start_dim=1).float()  # (length, d_model)


class SinusoidalPositions(nn.Module):
    """Add sinusoids, which are computed and not learned (§3.5)."""

    table: Tensor  # (max_len, d_model)

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        table = sinusoidal_positions(config.max_len, config.d_model)
        self.register_buffer("table", table, persistent=False)

    def forward(self, words: Tensor, start: int = 0) -> Tensor:
        """Add the vector of its position to each word, (batch, length, d_model)."""
        return words + self.table[start : start + words.shape[1]]


class LearnedPositions(nn.Embedding):
    """Add a learned vector for each position (Table 3, row E)."""

    def __init__(self, config: ModelConfig) -> None:
        check_num_elements(max_len=config.max_len, d_model=config.d_model)
        super().__init__(config.max_len, config.d_model)

    @property
    def table(self) -> Tensor:
        """The vector of each position, (max_len, d_model)."""
        return self.weight

    def forward(self, words: Tensor, start: int = 0) -> Tensor:
        """Add the vector of its position to each word, (batch, length, d_model)."""
        return words + self.weight[start : start + words.shape[1]]


class ConcatenatedPositions(nn.Embedding):
    """Put a learned vector for each position beside the word; not in the paper."""

    def __init__(self, config: ModelConfig) -> None:
        check_num_elements(max_len=config.max_len, position_dim=config.position_dim)
        super().__init__(config.max_len, config.position_dim)

    @property
    def table(self) -> Tensor:
        """The vector of each position, (max_len, position_dim)."""
        return self.weight

    def forward(self, words: Tensor, start: int = 0) -> Tensor:
        """Widen (batch, length, d_model - position_dim) to (batch, length, d_model)."""
        positions = self.weight[start : start + words.shape[1]]  # (length, position_dim)
        positions = positions.expand(len(words), -1, -1)  # (batch, length, position_dim)
        return torch.cat((words, positions), dim=-1)


@check_argument_types
def make_positions(config: ModelConfig) -> nn.Module:
    """Make the positions module that a configuration names."""
    if config.positions == PositionKind.LEARNED:
        return LearnedPositions(config)
    if config.positions == PositionKind.CONCATENATED:
        return ConcatenatedPositions(config)
    return SinusoidalPositions(config)


def rotate(vectors: Tensor, start: int = 0) -> Tensor:
    """Rotate the vector at each position, pair by pair, by the angle of the paper's sinusoid.

    Not in the paper. Rotary positions (RoPE, Su et al. 2021, arXiv 2104.09864) add nothing to
    words. They rotate each query and key, so that the product of two depends on their distance
    alone.

    The pair of components 2i and 2i+1 at position pos is rotated by pos / 10000^(2i/d_k).

    Args:
        vectors: Queries or keys, (..., length, d_k), d_k even.
        start: Position of the first one.

    Returns:
        (..., length, d_k), each vector as long as it was.
    """
    check_float_tensor("vectors", vectors, (..., None, None))
    check_number("start", start, 0, MAX_COUNT, integer=True)
    length, d_k = vectors.shape[-2:]
    if d_k % 2:
        raise UserError(f"d_k is {d_k}: components are rotated in pairs, give an even number")
    positions = torch.arange(start, start + length, dtype=torch.float64, device=vectors.device)
    even = torch.arange(0, d_k, 2, dtype=torch.float64, device=vectors.device)
    angle = positions[:, None] / 10_000 ** (even / d_k)  # (length, d_k / 2)
    cos, sin = angle.cos().to(vectors.dtype), angle.sin().to(vectors.dtype)
    first, second = vectors[..., 0::2], vectors[..., 1::2]
    rotated = torch.stack((first * cos - second * sin, first * sin + second * cos), dim=-1)
    return rotated.flatten(start_dim=-2)
