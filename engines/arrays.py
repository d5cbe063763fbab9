"""A trained network's weights as arrays, in the form that other engines take.

Not in the paper.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from transformer.embeddings import Embedding

Array = NDArray[np.float32]


def array(tensor: Tensor) -> Array:
    """Give a tensor's values in 32 bits."""
    values: Any = tensor.detach().float().numpy()
    return values


def embedding_tables(embedding: Embedding) -> tuple[Array, Array]:
    """Give the tables of an embedding whose rows need only be added, a word's and a place's.

    Concatenated positions are a sum as well: the word's vector with zeros behind it, and the
    place's with zeros before it.

    Returns:
        The words, unscaled, (vocab_size, d_model), and the positions, (max_len, d_model).
    """
    words, positions = array(embedding.token.weight), array(embedding.position_table())
    if embedding.concatenated:
        behind, before = positions.shape[1], words.shape[1]
        words = np.pad(words, ((0, 0), (0, behind)))
        positions = np.pad(positions, ((0, 0), (before, 0)))
    return words, positions
