"""Initial weights whose heads look at a position: a neighbour's, or the same one in the source.

Not in the paper, whose heads have to find their neighbours from nothing. The sinusoids make it easy
(§3.5): the encoding of a position, times one matrix, is the encoding of the position k further on.
So a head whose keys read the fastest sinusoids, and whose queries read them shifted by k, looks k
positions away.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from transformer.attention import MultiHeadAttention
from transformer.config import PositionKind
from transformer.layers import DecoderLayer, EncoderLayer
from transformer.model import Transformer
from transformer.support.errors import require

NUM_SINUSOID_PAIRS = 10  # pairs of sine and cosine that self-attention begins with
INITIAL_SINUSOID_QUERY_KEY_WEIGHT = 1.3  # the weight of each in queries and keys
DRAWN_CROSS_ATTENTION_SCALE = 0.35  # what remains of drawn queries and keys beside the sinusoids
INITIAL_ENCODER_HEAD_OFFSETS = (-1, 1, -2, 2, -3, 3, -4, 4)  # positions, by head
INITIAL_DECODER_HEAD_OFFSETS = range(-1, -9, -1)


@torch.no_grad()
def initialize_heads_to_positions(model: Transformer) -> None:
    """Make every head look at one position; of the sub-layers only cross-attention adds anything.

    Self-attention looks at one neighbour a head: in the encoder the token before, the token after,
    the second before, and so on; in the decoder only at earlier tokens. Cross-attention looks at
    its own position in the source, beside what its drawn weights look for.

    Raises:
        UserError: The positions are not sinusoidal.
    """
    sinusoids = model.config.positions == PositionKind.SINUSOIDAL
    require(sinusoids, "neighbour_start turns sinusoids: set positions=sinusoidal")
    for layer in model.modules():
        if isinstance(layer, EncoderLayer | DecoderLayer):
            layer.self_attention.output_projection.weight.zero_()
            layer.feed_forward.outer.weight.zero_()
        if isinstance(layer, EncoderLayer):
            initialize_heads_at_offsets(layer.self_attention, INITIAL_ENCODER_HEAD_OFFSETS)
        elif isinstance(layer, DecoderLayer):
            initialize_heads_at_offsets(layer.self_attention, INITIAL_DECODER_HEAD_OFFSETS)
            initialize_heads_at_own_position(layer.cross_attention)


def initialize_heads_at_offsets(attention: MultiHeadAttention, offsets: Sequence[int]) -> None:
    """Make each head look `offset` positions further on; heads without an offset stay drawn."""
    queries, keys = _query_and_key_weights_by_head(attention)
    rows = 2 * min(NUM_SINUSOID_PAIRS, keys.shape[1] // 2)
    fastest = torch.eye(attention.d_model)[:rows]
    for query, key, offset in zip(queries, keys, offsets, strict=False):
        shifted = fastest @ sinusoid_shift_matrix(offset, attention.d_model)
        for weight, matrix in ((query, shifted), (key, fastest)):
            weight.zero_()
            weight[:rows] = INITIAL_SINUSOID_QUERY_KEY_WEIGHT * matrix


def initialize_heads_at_own_position(attention: MultiHeadAttention) -> None:
    """Make each head look at its own position in the other sentence, and a little as before."""
    for weights in _query_and_key_weights_by_head(attention):
        weights.mul_(DRAWN_CROSS_ATTENTION_SCALE).add_(torch.eye(*weights.shape[1:]))


def sinusoid_shift_matrix(offset: int, d_model: int) -> Tensor:
    """Return the matrix that shifts a sinusoidal encoding, (d_model, d_model) (§3.5).

    PE(pos) @ matrix.T is PE(pos + offset): each pair of sine and cosine turns by its own angle.
    """
    rotations = []
    for i in range(d_model // 2):
        angle = offset / 10_000 ** (2 * i / d_model)
        cos, sin = math.cos(angle), math.sin(angle)
        rotations.append(torch.tensor([[cos, sin], [-sin, cos]]))
    return torch.block_diag(*rotations)


def _query_and_key_weights_by_head(attention: MultiHeadAttention) -> list[Tensor]:
    """Return views of the weights of queries and of keys, (num_heads, d_k, d_model)."""
    projections = attention.query_projection, attention.key_projection
    return [part.weight.unflatten(0, (attention.num_heads, -1)) for part in projections]
