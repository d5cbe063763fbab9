"""Weights to begin with that look at places: a neighbour's, or the same one in the other sentence.

Not in the paper, whose heads have to find their neighbours from nothing. The sinusoids make it easy
(§3.5): what a place adds, times lesson 03's matrix, is what the place k further on adds. So a head
whose keys read the quickest waves, and whose queries read them turned, looks k places away.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from lessonkit.exercises.positions import my_shift
from transformer.attention import MultiHeadAttention
from transformer.config import Positions
from transformer.layers import DecoderLayer, EncoderLayer
from transformer.model import Transformer
from transformer.support.errors import require

WAVES, NEAR = 10, 1.3  # that self-attention begins with, and how much of each
LIKE = 0.35  # what is left of cross-attention's queries and keys beside the waves


@torch.no_grad()
def begin_with_neighbours(model: Transformer) -> None:
    """Let every head begin by looking at a place; only cross-attention adds anything yet.

    Self-attention looks at one neighbour a head: in the encoder the word before, the word after,
    the second before, and so on; in the decoder only at what is before. Cross-attention goes by
    places beside what it went by. A UserError where the positions are no sinusoids.
    """
    sinusoids = model.config.positions == Positions.SINUSOIDAL
    require(sinusoids, "neighbour_start turns sinusoids: set positions=sinusoidal")
    for layer in model.modules():
        if isinstance(layer, EncoderLayer | DecoderLayer):
            layer.self_attention.output_projection.weight.zero_()
            layer.feed_forward.outer.weight.zero_()
        if isinstance(layer, EncoderLayer):
            look_away(layer.self_attention, (-1, 1, -2, 2, -3, 3, -4, 4))
        elif isinstance(layer, DecoderLayer):
            look_away(layer.self_attention, range(-1, -9, -1))
            look_beside(layer.cross_attention)


def look_away(attention: MultiHeadAttention, places: Sequence[int]) -> None:
    """Let each head look as many places further on as is said; heads beyond these stay drawn."""
    queries, keys = _heads(attention)
    waves = min(WAVES, keys.shape[1] // 2)
    quickest = torch.eye(attention.d_model)[: 2 * waves]
    for query, key, away in zip(queries, keys, places, strict=False):
        turned = quickest @ my_shift(away, attention.d_model)
        for weight, matrix in ((query, turned), (key, quickest)):
            weight.zero_()
            weight[: 2 * waves] = NEAR * matrix


def look_beside(attention: MultiHeadAttention) -> None:
    """Let each head look where its own place is in the other sentence, and a little as before."""
    for weights in _heads(attention):
        weights.mul_(LIKE).add_(torch.eye(*weights.shape[1:]))


def _heads(attention: MultiHeadAttention) -> list[Tensor]:
    """Give views of the weights of queries and of keys, (num_heads, d_k, d_model)."""
    parts = attention.query_projection, attention.key_projection
    return [part.weight.unflatten(0, (attention.num_heads, -1)) for part in parts]
