"""Faults in where a token stands (§3.5).

Each class stands in place of `transformer.embeddings.Embedding`: read it beside that.
"""

from typing import Any

import torch
from torch import Tensor

from lessonkit.museum.specimen import Specimen, turn, turned
from transformer.embeddings import Embedding
from transformer.model import Transformer


class NoPositions(Embedding):
    """Embeds words, and says nothing of their places."""

    def forward(self, ids: Tensor, start: int = 0) -> Tensor:
        """Leave the table out."""
        return self.dropout(self.token(ids) * self.scale)


class OverTheBatch(Embedding):
    """Takes the row of the batch for the place in the sentence."""

    def forward(self, ids: Tensor, start: int = 0) -> Tensor:
        """Cut the table along the batch: all tokens of a sentence get one position."""
        rows = self.position_table()[: len(ids), None]
        return self.dropout(self.token(ids) * self.scale + rows)


class AfterDropout(Embedding):
    """Drops words, never positions."""

    def forward(self, ids: Tensor, start: int = 0) -> Tensor:
        """Add the positions to what dropout left."""
        positions = self.position_table()[start : start + ids.shape[1]]
        return self.dropout(self.token(ids) * self.scale) + positions


class FromOne(Embedding):
    """Counts positions from 1 when it reads whole sentences, and from 0 step by step."""

    def forward(self, ids: Tensor, start: int = 0) -> Tensor:
        """Move what is longer than a token up by one."""
        return super().forward(ids, start + (ids.shape[1] > 1))


class Forgetful(Embedding):
    """Gives every token that is read alone position 0."""

    def forward(self, ids: Tensor, start: int = 0) -> Tensor:
        """Forget where decoding stands."""
        return super().forward(ids, 0)


class OneWave(Embedding):
    """Uses the first pair of sinusoids everywhere: far positions repeat near ones."""

    def position_table(self) -> Tensor:
        """Repeat the fastest sine and cosine over the width."""
        table = super().position_table()
        return table[:, :2].repeat(1, table.shape[1] // 2)


class Sines(Embedding):
    """Has positions whose cosines are forgotten, so that half the width is 0."""

    def position_table(self) -> Tensor:
        """Clear every other column."""
        table = super().position_table().clone()
        table[:, 1::2] = 0
        return table


def forget_positions(model: Transformer) -> None:
    """Give neither side positions."""
    turn(model, Embedding, NoPositions)


def forget_target_positions(model: Transformer) -> None:
    """Give the source positions, and the target none."""
    turn(model.tgt_embedding, Embedding, NoPositions)


def freeze_positions(model: Transformer) -> None:
    """Leave learned positions at zero, and out of training."""
    for embedding in (model.src_embedding, model.tgt_embedding):
        assert embedding.learned_position is not None
        with torch.no_grad():
            embedding.learned_position.weight.zero_()
        embedding.learned_position.weight.requires_grad_(False)


def _specimen(name: str, about: str, **rest: Any) -> Specimen:
    return Specimen(name=name, about=about, group="positions", **rest)


SPECIMENS = (
    _specimen(
        "positions_missing",
        "no positions are added, on either side",
        alter=forget_positions,
        trains=True,
    ),
    _specimen(
        "target_positions_missing",
        "the target has no positions; the causal mask alone tells it of order",
        alter=forget_target_positions,
    ),
    _specimen(
        "positions_over_the_batch",
        "the table of positions is cut along the batch: a sentence's tokens share one",
        alter=turned(Embedding, OverTheBatch),
    ),
    _specimen(
        "positions_after_dropout",
        "positions are added after dropout, which spares them",
        alter=turned(Embedding, AfterDropout),
    ),
    _specimen(
        "positions_off_by_one",
        "positions begin at 1 in training and at 0 in decoding",
        alter=turned(Embedding, FromOne),
        trains=True,
    ),
    _specimen(
        "positions_forgotten_by_the_cache",
        "with a cache every new token is put at position 0",
        alter=turned(Embedding, Forgetful),
    ),
    _specimen(
        "positions_of_one_wave",
        "all pairs of sinusoids have the same frequency",
        alter=turned(Embedding, OneWave),
    ),
    _specimen(
        "cosines_missing",
        "the cosines are left 0",
        alter=turned(Embedding, Sines),
    ),
    _specimen(
        "positions_frozen_at_zero",
        "learned positions begin at 0, and nothing trains them",
        alter=freeze_positions,
        config={"positions": "learned"},
    ),
)
