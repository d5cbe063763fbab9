"""A trained network's weights in the form that other engines take.

Not in the paper.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import pad

from transformer.embeddings import Embedding


def array(tensor: Tensor) -> NDArray[np.float32]:
    """Give a tensor's values in 32 bits."""
    values: Any = tensor.detach().float().numpy()
    return values


def embedding_tables(embedding: Embedding) -> tuple[Tensor, Tensor]:
    """Give the words, unscaled, (vocab_size, d_model), and the positions, (max_len, d_model).

    Their rows need only be added: concatenated positions are a sum as well, of the word's vector
    with zeros behind it and the place's with zeros before it.
    """
    words, positions = embedding.token.weight, embedding.position_table()
    if embedding.concatenated:
        width, more = words.shape[1], positions.shape[1]
        return pad(words, (0, more)), pad(positions, (width, 0))
    return words, positions
