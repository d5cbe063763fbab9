"""From token ids to vectors that know their place (§3.4, §3.5)."""

import math

import torch
from torch import Tensor, nn

from transformer.config import MAX_DIMENSION, ModelConfig, Positions
from transformer.dropout import Dropout
from transformer.support.checks import check_id_tensor, check_number
from transformer.support.errors import UserError


def sinusoidal_positions(length: int, d_model: int) -> Tensor:
    """Compute the table of sinusoidal position encodings (§3.5).

    PE(pos, 2i) = sin(pos / 10000^(2i/d_model)), PE(pos, 2i+1) = cos of the same angle. The width
    is even; the table is float, (length, d_model).
    """
    check_number("length", length, 0, MAX_DIMENSION, integer=True)
    check_number("d_model", d_model, 0, MAX_DIMENSION, integer=True)
    if d_model % 2:
        raise UserError(f"d_model {d_model} is odd: sinusoids come in pairs, give an even number")
    pos = torch.arange(length, dtype=torch.float64)[:, None]  # (length, 1)
    even = torch.arange(0, d_model, 2, dtype=torch.float64)  # (d_model / 2,)
    angle = pos / 10_000 ** (even / d_model)  # (length, d_model / 2)
    pairs = torch.stack((angle.sin(), angle.cos()), dim=-1)  # (length, d_model / 2, 2)
    return pairs.flatten(start_dim=1).float()  # (length, d_model)


class Embedding(nn.Module):
    """Token vectors, scaled by sqrt(width), with their positions and dropout (§3.4, §3.5, §5.4)."""

    def __init__(self, config: ModelConfig, vocab_size: int) -> None:
        super().__init__()
        self.max_len = config.max_len
        self.concatenated = config.positions == Positions.CONCATENATED
        width = position_width = config.d_model
        if self.concatenated:
            width, position_width = config.d_model - config.position_dim, config.position_dim
        self.scale = math.sqrt(width)
        self.token = nn.Embedding(vocab_size, width)
        self.learned_position: nn.Embedding | None = None
        if config.positions != Positions.SINUSOIDAL:
            self.learned_position = nn.Embedding(config.max_len, position_width)
        else:
            table = sinusoidal_positions(config.max_len, config.d_model)
            self.register_buffer("sinusoids", table, persistent=False)
        self.dropout = Dropout(config.dropout)

    def forward(self, ids: Tensor, start: int = 0) -> Tensor:
        """Embed ids (batch, length) that stand at positions start, start + 1, ...

        Gives (batch, length, d_model). `start` is above 0 when decoding with a cache. A UserError
        where positions go past max_len, or an id is not in the vocabulary (on a CPU).
        """
        check_id_tensor("ids", ids)
        check_number("start", start, 0, integer=True)
        end = start + ids.shape[1]
        if end > self.max_len:
            raise UserError(
                f"{end} tokens are more than max_len {self.max_len}: shorten the sentence, "
                "or train with a larger max_len"
            )
        words = look_up(self.token, ids) * self.scale  # (batch, length, width)
        positions = self.position_table()[start:end]  # (length, d_model or position_dim)
        if self.concatenated:
            positions = positions.expand(len(ids), -1, -1)  # (batch, length, position_dim)
            return self.dropout(torch.cat((words, positions), dim=-1))
        return self.dropout(words + positions)

    def position_table(self) -> Tensor:
        """Give the vector of each position, (max_len, d_model or position_dim)."""
        if self.learned_position is not None:
            return self.learned_position.weight
        assert isinstance(self.sinusoids, Tensor)
        return self.sinusoids


def look_up(table: nn.Embedding, ids: Tensor) -> Tensor:
    """Give each id's vector, (batch, length, width), or the message that names the wrong id."""
    try:
        return table(ids)
    except IndexError as error:
        raise UserError(
            f"ids go from {ids.min()} to {ids.max()}, and the vocabulary from 0 to "
            f"{table.num_embeddings - 1}: encode with the tokenizer that the model was made for"
        ) from error
