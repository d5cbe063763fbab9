"""Embeddings: from token ids to scaled vectors with positions (§3.4, §3.5)."""

import math
from typing import Any

from torch import Tensor, nn

from transformer.config import ModelConfig
from transformer.parts import PAPER_PARTS, Parts
from transformer.support.checks import (
    MAX_VOCAB_SIZE,
    check_id_tensor,
    check_num_elements,
    check_number,
    check_sizes,
)
from transformer.support.errors import UserError
from transformer.support.signatures import check_argument_types


class Embedding(nn.Module):
    """Token vectors, scaled by sqrt(width), with their positions and dropout (§3.4, §3.5, §5.4)."""

    @check_argument_types
    def __init__(self, config: ModelConfig, vocab_size: int, parts: Parts = PAPER_PARTS) -> None:
        super().__init__()
        check_sizes(MAX_VOCAB_SIZE, vocab_size=vocab_size)
        check_num_elements(vocab_size=vocab_size, width=config.word_dim)
        self.max_len = config.max_len
        self.scale = math.sqrt(config.word_dim)
        self.token = nn.Embedding(vocab_size, config.word_dim)
        # Models are saved with learned positions under this name; others have nothing to save.
        self.add_module("learned_position", parts.positions(config))
        self.dropout = nn.Dropout(config.dropout)

    @property
    def positions(self) -> Any:
        """The module that adds positions to words (see `transformer.positions`)."""
        return self.learned_position

    def forward(self, ids: Tensor, start: int = 0) -> Tensor:
        """Embed ids (batch, length) that stand at positions start, start + 1, ...

        Returns (batch, length, d_model). `start` is above 0 when decoding with a cache. Raises a
        UserError if positions go past max_len, or an id is not in the vocabulary (on a CPU).
        """
        check_id_tensor("ids", ids)
        check_number("start", start, 0, integer=True)
        end = start + ids.shape[1]
        if end > self.max_len:
            raise UserError(
                f"{end} tokens are more than max_len {self.max_len}: shorten the sentence, "
                "or train with a larger max_len"
            )
        words = look_up(self.token, ids) * self.scale  # (batch, length, word_dim)
        return self.dropout(self.positions(words, start))  # (batch, length, d_model)


def look_up(table: nn.Embedding, ids: Tensor) -> Tensor:
    """Return each id's vector, (batch, length, width); the error names an id that is unknown."""
    try:
        return table(ids)
    except IndexError as error:
        raise UserError(
            f"ids go from {ids.min()} to {ids.max()}, and the vocabulary from 0 to "
            f"{table.num_embeddings - 1}: encode with the tokenizer that the model was made for"
        ) from error
