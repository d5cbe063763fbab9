"""A trained network's weights as the arrays that other engines take.

Not in the paper.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import pad

from transformer.embeddings import Embedding
from transformer.model import Transformer
from transformer.parts import non_paper_part_class_names, parts_in_words
from transformer.positions import ConcatenatedPositions
from transformer.support.errors import require


def to_float32_array(tensor: Tensor) -> NDArray[np.float32]:
    """Return a tensor's values as an array in 32 bits."""
    array: Any = tensor.detach().float().numpy()
    return array


def unscaled_word_and_position_tables(embedding: Embedding) -> tuple[Tensor, Tensor]:
    """Return the words, unscaled, (vocab_size, d_model), and positions, (max_len, d_model).

    Their rows need only be added: concatenated positions are a sum as well, of the word's vector
    with zeros behind it and the position's with zeros before it.
    """
    words, positions = embedding.token.weight, embedding.positions.table
    if not isinstance(embedding.positions, ConcatenatedPositions):
        return words, positions
    word_width, position_width = words.shape[1], positions.shape[1]
    return pad(words, (0, position_width)), pad(positions, (word_width, 0))


def check_paper_parts(model: Transformer) -> None:
    """Raise a UserError unless a network has the paper's parts: other engines know no others."""
    others = non_paper_part_class_names(model)
    require(
        not others,
        f"this model has parts of its own ({parts_in_words(others)}), and only the paper's are "
        "exported: train one with the paper's parts",
    )
